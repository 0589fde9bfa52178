//! Requests that crash local server processes: each request may do so twice, and is remembered then.
//!
//! A request whose server crashes may be the victim of whatever ended it, so it is sent to another one, once. Where
//! that one crashes as well, the request is taken for the reason: as long as it is remembered, the same request is sent
//! to one server only.

use std::{collections::VecDeque, time::Duration};

use serow_message::{Method, Target};

/// Method and target of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestLine {
    /// The method.
    pub method: Method,
    /// The target.
    pub target: Target,
}

impl RequestLine {
    /// Whether such a request may be sent to another server when one has crashed with it (RFC 9110 §9.2.2).
    #[must_use]
    pub fn is_repeatable(&self) -> bool {
        self.method.is_idempotent()
    }
}

/// Requests that crashed two servers each.
#[derive(Debug, Default)]
pub struct CrashingRequests {
    /// With the time of the last crash; the oldest is the first.
    lines: VecDeque<(RequestLine, Duration)>,
}

impl CrashingRequests {
    /// A second server has crashed with this.
    pub fn note(&mut self, line: &RequestLine, now: Duration) {
        self.lines.retain(|(known, _)| known != line);
        if self.lines.len() == MAX_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((line.clone(), now));
    }

    /// Whether servers have crashed with this a short while ago.
    #[must_use]
    pub fn has(&self, line: &RequestLine, now: Duration) -> bool {
        let is_recent = |since: Duration| now.saturating_sub(since) < MEMORY;
        self.lines.iter().any(|(known, since)| is_recent(*since) && known == line)
    }
}

/// How long a request is remembered: clients retry within a minute, and a fixed application should not be blocked for
/// longer.
const MEMORY: Duration = Duration::from_secs(60);

/// How many are remembered. A client that makes up new targets can crash two servers with each one anyway.
const MAX_LINES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(method: &str, target: &str) -> RequestLine {
        let target = Target::parse(target.to_owned().into(), false).unwrap();
        RequestLine { method: method.parse().unwrap(), target }
    }

    #[test]
    fn a_request_is_remembered_for_a_minute_by_method_and_target() {
        let mut crashing = CrashingRequests::default();
        let second = Duration::from_secs;
        crashing.note(&line("GET", "/a?b"), second(10));
        for (method, target, now, expected) in [
            ("GET", "/a?b", 10, true),
            ("GET", "/a?b", 69, true),
            ("GET", "/a?b", 70, false),
            ("GET", "/a?c", 10, false),
            ("HEAD", "/a?b", 10, false),
        ] {
            assert_eq!(crashing.has(&line(method, target), second(now)), expected, "{method} {target} {now}");
        }
        crashing.note(&line("GET", "/a?b"), second(60));
        assert!(crashing.has(&line("GET", "/a?b"), second(100)));
        assert_eq!(crashing.lines.len(), 1);
    }

    #[test]
    fn unlimited_targets_take_bounded_memory() {
        let mut crashing = CrashingRequests::default();
        for number in 0..10 * MAX_LINES {
            crashing.note(&line("GET", &format!("/{number}")), Duration::ZERO);
        }
        assert_eq!(crashing.lines.len(), MAX_LINES);
        assert!(crashing.has(&line("GET", &format!("/{}", 10 * MAX_LINES - 1)), Duration::ZERO));
        assert!(!crashing.has(&line("GET", "/0"), Duration::ZERO));
    }
}
