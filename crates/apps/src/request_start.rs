//! `X-Request-Start`: when a request was passed to the application. Agents that measure performance (New Relic, Scout,
//! Judoscale) and rack-timeout compute from it how long the request has waited.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serow_gateway::TrustedProxies;
use serow_message::Request;

/// The name of the field.
pub(crate) const NAME: &str = "x-request-start";

/// Adds the field, unless a trusted proxy has done so.
pub(crate) fn add(request: &mut Request, trusted: &TrustedProxies, now: SystemTime) {
    if trusted.contains(request.connection().peer()) && request.headers.contains(NAME) {
        return;
    }
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Digits are a valid value.
    let _ = request.headers.replace(NAME, value(since));
}

/// Seconds since 1970 with milliseconds, as `t=$msec` of nginx, which all of them know.
fn value(since: Duration) -> String {
    format!("t={}.{:03}", since.as_secs(), since.subsec_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_with_milliseconds() {
        assert_eq!(value(Duration::from_millis(1_700_000_000_007)), "t=1700000000.007");
    }
}
