//! Settings of retries.

use serow_message::StatusCode;

/// When another attempt is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// Attempts at most, the first included; 3.
    pub tries: u32,
    /// Where no connection could be made.
    pub on_connect: bool,
    /// Where the response did not begin in time.
    pub on_timeout: bool,
    /// Where the connection was lost before the response, or the response was invalid.
    pub on_broken: bool,
    /// Where the response has one of these.
    pub on_status: Vec<StatusCode>,
    /// Whether requests are sent again whose method is not idempotent (RFC 9110 §9.2.2), too.
    pub all_methods: bool,
    /// Retries in per cent of the requests of the last seconds; 20, as in Envoy and Finagle. It keeps retries from
    /// multiplying the load of overloaded servers.
    pub budget: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            tries: 3,
            on_connect: true,
            on_timeout: true,
            on_broken: true,
            on_status: Vec::new(),
            all_methods: false,
            budget: 20,
        }
    }
}
