//! Moments, spans of time, and the dates of header fields.

use std::time::{Duration, UNIX_EPOCH};

/// A moment: milliseconds since the beginning of 1970. Nothing in this crate asks a clock; moments are arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(u64);

/// A span of time, in a quarter of the bytes of a `Duration`, since each stored response has several: in milliseconds below 24
/// days; beyond, in seconds, with the highest bit, as precise as `max-age` says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(u32);

impl Span {
    /// Longer ones count as 68 years, as RFC 9111 §1.2.2 allows.
    pub(crate) const fn from_millis(millis: u64) -> Self {
        let seconds = millis / 1000;
        Self(match millis {
            0..SECONDS => millis as u32,
            _ if seconds < SECONDS => (SECONDS | seconds) as u32,
            _ => u32::MAX,
        })
    }

    pub(crate) const fn as_millis(self) -> u64 {
        let number = self.0 as u64;
        if number < SECONDS { number } else { (number - SECONDS) * 1000 }
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self::from_millis(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_millis(span.as_millis())
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

/// The bit of a span that counts seconds.
const SECONDS: u64 = 1 << 31;

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

    #[test]
    fn spans_are_exact_up_to_24_days_and_keep_their_order() {
        let day = 86_400_000;
        let cases = [
            (0, 0),
            (1, 1),
            (24 * day + 7, 24 * day + 7),
            ((1 << 31) - 1, (1 << 31) - 1),
            (1 << 31, (1 << 31) - 648),
            (365 * day + 999, 365 * day),
            (((1 << 31) - 1) * 1000, ((1 << 31) - 1) * 1000),
            (1 << 42, ((1 << 31) - 1) * 1000),
            (u64::MAX, ((1 << 31) - 1) * 1000),
        ];
        for (millis, expected) in cases {
            assert_eq!(Span::from_millis(millis).as_millis(), expected, "{millis}");
        }
        assert!(cases.is_sorted_by_key(|(millis, _)| Span::from_millis(*millis)));
    }
}
