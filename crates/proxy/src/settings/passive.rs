//! When requests that fail eject a server.

use std::time::Duration;

/// When failed requests eject a server.
///
/// If `failures` is not 0, a server is also ejected when half of at least 20 requests fail within 10 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassiveSettings {
    /// Requests in a row that failed (no connection, no response, or one of status 502, 503 and 504); 3, none: never.
    pub failures: u32,
    /// For how long the first time; 10 s. Each further time in a row it is twice as long, until it is ten times as long.
    pub ejection: Duration,
}

impl Default for PassiveSettings {
    fn default() -> Self {
        Self { failures: 3, ejection: Duration::from_secs(10) }
    }
}
