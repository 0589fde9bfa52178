//! Moments, spans of time, and the dates of header fields.

use std::time::{Duration, UNIX_EPOCH};

/// A moment: milliseconds since the beginning of 1970. Nothing in this crate asks a clock; moments are arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

/// A span of time in milliseconds: half as large as a `Duration`, of which each stored response has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(u64);

impl Span {
    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    pub(crate) const fn as_millis(self) -> u64 {
        self.0
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.0)
    }
}

impl Time {
    /// The moment so many milliseconds after the beginning of 1970.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The moment so many seconds after the beginning of 1970.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the beginning of 1970.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// How long ago an earlier moment was; nothing if it is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The moment so much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)))
    }

    /// The value of a field such as Date (RFC 9110 §5.6.7).
    #[must_use]
    pub fn to_date(self) -> String {
        let seconds = (self.0 / 1000).min(LAST_SECOND);
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds))
    }

    /// Reads the value of a field such as Date, in one of the three formats of RFC 9110 §5.6.7; `None` for anything
    /// else.
    #[must_use]
    pub fn parse_date(value: &[u8]) -> Option<Self> {
        let date = httpdate::parse_http_date(std::str::from_utf8(value).ok()?).ok()?;
        Some(Self::from_seconds(date.duration_since(UNIX_EPOCH).ok()?.as_secs()))
    }

    /// The last moment of the second that a date of a field stands for.
    pub(crate) const fn end_of_second(self) -> Self {
        Self(self.0.saturating_add(999))
    }
}

/// The last second of the year 9999: dates have four digits for the year.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_in_all_formats_of_rfc_9110() {
        let expected = Some(Time::from_seconds(784_111_777));
        for (text, time) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", expected),
            ("Sunday, 06-Nov-94 08:49:37 GMT", expected),
            ("Sun Nov  6 08:49:37 1994", expected),
            ("0", None),
            ("", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Thu, 01 Jan 1969 00:00:00 GMT", None),
        ] {
            assert_eq!(Time::parse_date(text.as_bytes()), time, "{text}");
        }
        assert_eq!(expected.map(Time::to_date).as_deref(), Some("Sun, 06 Nov 1994 08:49:37 GMT"));
        assert_eq!(Time::from_millis(u64::MAX).to_date(), "Fri, 31 Dec 9999 23:59:59 GMT");
    }

    #[test]
    fn durations_do_not_wrap() {
        let (early, late) = (Time::from_seconds(1), Time::from_seconds(3));
        assert_eq!((late.since(early), early.since(late)), (Duration::from_secs(2), Duration::ZERO));
        assert_eq!(late.after(Duration::MAX), Time::from_millis(u64::MAX));
    }
}
