//! The field `Timeout` (RFC 4918 §10.7): how long a lock is to last.

/// The seconds that a lock lasts for a client with this value of `Timeout`: at most [`MAX_TIMEOUT`], at least one; of
/// several values, the first that is valid.
#[must_use]
pub fn lock_timeout(value: Option<&[u8]>) -> u64 {
    let mut values = value.unwrap_or_default().split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    values.find_map(seconds).map_or(DEFAULT_TIMEOUT, |seconds| seconds.clamp(1, MAX_TIMEOUT))
}

fn seconds(value: &[u8]) -> Option<u64> {
    if value.eq_ignore_ascii_case(b"infinite") {
        return Some(MAX_TIMEOUT);
    }
    let (name, digits) = value.split_at_checked("Second-".len())?;
    if !name.eq_ignore_ascii_case(b"Second-") || digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // More digits than a number has room for are a long time.
    Some(std::str::from_utf8(digits).ok()?.parse().unwrap_or(u64::MAX))
}

/// For clients that request none: long enough for one that refreshes its lock every few minutes.
const DEFAULT_TIMEOUT: u64 = 600;

/// An hour. A client that disappeared keeps a file locked no longer; all others refresh their locks.
pub const MAX_TIMEOUT: u64 = 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_bounded() {
        for (value, expected) in [
            (None, 600),
            (Some("Second-10"), 10),
            (Some("second-10"), 10),
            (Some("Second-0"), 1),
            (Some("Second-4100000000"), 3600),
            (Some("Second-99999999999999999999999"), 3600),
            (Some("Infinite, Second-4100000000"), 3600),
            (Some("Extended, Second-20"), 20),
            (Some("Second--1"), 600),
            (Some("Second-"), 600),
            (Some(""), 600),
        ] {
            assert_eq!(lock_timeout(value.map(str::as_bytes)), expected, "{value:?}");
        }
    }
}
