//! What requests tell of a server's health.

use std::time::Duration;

use serow_net::Moment;

/// When a server is left alone for what happened to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveSettings {
    /// Requests in a row that failed (no connection, no response, or one of status 502, 503 and 504); 3, none: never.
    pub failures: u32,
    /// For how long the first time; 10 s. Each further time in a row it is twice as long, up to ten times.
    pub ejection: Duration,
}

impl Default for PassiveSettings {
    fn default() -> Self {
        Self { failures: 3, ejection: Duration::from_secs(10) }
    }
}

/// What a request came to, for the server's health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Success,
    Failure,
}

/// What requests tell of one server; changed by all threads.
#[derive(Debug, Default)]
pub(crate) struct Outlier {}

impl Outlier {
    /// A request came to this.
    pub(crate) fn note(&self, _outcome: Outcome, _now: Moment, _settings: &PassiveSettings) {}

    /// Whether the server is to be left alone.
    pub(crate) fn is_ejected(&self, _now: Moment) -> bool {
        false
    }
}
