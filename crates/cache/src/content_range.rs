//! Where a part lies in the whole that it belongs to (RFC 9110 §14.4).

use std::ops::Range;

use serow_message::{Headers, KnownHeader};

/// Where a part lies in a whole of known length: it has at least one byte, and ends with the whole at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    start: u64,
    end: u64,
    complete: u64,
}

impl ContentRange {
    /// These bytes of a whole of so many; nothing if they do not lie in it, or are none.
    #[must_use]
    pub fn new(range: Range<u64>, complete: u64) -> Option<Self> {
        let Range { start, end } = range;
        (start < end && end <= complete).then_some(Self { start, end, complete })
    }

    /// The part that the content of a 206 with these headers is. Nothing for several parts (`multipart/byteranges`,
    /// §14.6), other units than bytes, and a whole whose length is not known.
    #[must_use]
    pub fn of(headers: &Headers) -> Option<Self> {
        let mut values = headers.get_all(KnownHeader::ContentRange);
        let value = values.next().filter(|_| values.next().is_none())?;
        let is_multipart = headers.get(KnownHeader::ContentType).is_some_and(|value| {
            value.trim_ascii_start().get(..MULTIPART.len()).is_some_and(|start| start.eq_ignore_ascii_case(MULTIPART))
        });
        if is_multipart { None } else { Self::parse(value) }
    }

    /// `bytes 0-4/10`.
    fn parse(value: &[u8]) -> Option<Self> {
        let (unit, rest) = value.trim_ascii().split_at_checked(5)?;
        let rest = rest.strip_prefix(b" ").filter(|_| unit.eq_ignore_ascii_case(b"bytes"))?;
        let (range, complete) = split(rest, b'/')?;
        let (first, last) = split(range, b'-')?;
        let end = number(last)?.checked_add(1)?;
        Self::new(number(first)?..end, number(complete)?)
    }

    /// Its bytes.
    #[must_use]
    pub fn range(&self) -> Range<u64> {
        self.start..self.end
    }

    /// How many bytes it has; never 0.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.end - self.start
    }

    /// How many bytes the whole has.
    #[must_use]
    pub fn complete_length(&self) -> u64 {
        self.complete
    }

    /// Whether it is the whole.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.length() == self.complete
    }

    /// Whether these bytes of the whole lie in it.
    #[must_use]
    pub fn covers(&self, range: &Range<u64>) -> bool {
        self.start <= range.start && range.end <= self.end
    }

    /// All bytes of two parts of a whole that adjoin or overlap; nothing if there are others between them.
    pub(crate) fn united(&self, other: &Self) -> Option<Self> {
        let is_continuous = self.start <= other.end && other.start <= self.end;
        let (start, end) = (self.start.min(other.start), self.end.max(other.end));
        (self.complete == other.complete && is_continuous).then_some(Self { start, end, ..*self })
    }
}

/// The values before and after the first of these bytes.
fn split(value: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let place = value.iter().position(|byte| *byte == separator)?;
    Some((&value[..place], &value[place + 1..]))
}

/// Digits; nothing for a number that is too large, since a length has to be exact.
fn number(digits: &[u8]) -> Option<u64> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The type of several parts.
const MULTIPART: &[u8] = b"multipart/byteranges";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_field_and_what_they_mean() {
        // RFC 9110 §14.4.
        for (value, expected) in [
            ("bytes 0-4/10", Some((0..5, 10))),
            ("bytes 9-9/10", Some((9..10, 10))),
            ("bytes 0-9/10", Some((0..10, 10))),
            ("BYTES 0-4/10", Some((0..5, 10))),
            (" bytes 0-4/10\t", Some((0..5, 10))),
            ("bytes 0-18446744073709551614/18446744073709551615", Some((0..u64::MAX, u64::MAX))),
            // Beyond the end, or none.
            ("bytes 0-10/10", None),
            ("bytes 5-4/10", None),
            ("bytes 0-0/0", None),
            ("bytes 0-18446744073709551615/18446744073709551615", None),
            ("bytes 0-4/18446744073709551616", None),
            // The whole or the part is not known.
            ("bytes 0-4/*", None),
            ("bytes */10", None),
            // Other units, and what is none.
            ("lines 0-4/10", None),
            ("bytes=0-4/10", None),
            ("bytes 0-4", None),
            ("bytes -4/10", None),
            ("bytes 0-/10", None),
            ("bytes 0-4/", None),
            ("bytes +0-4/10", None),
            ("bytes 0 - 4/10", None),
            ("bytes 0-4/10, bytes 0-4/10", None),
            ("bytes 0-4,6-7/10", None),
            ("bytes", None),
            ("", None),
        ] {
            let found = ContentRange::parse(value.as_bytes());
            assert_eq!(found.map(|part| (part.range(), part.complete_length())), expected, "{value}");
        }
    }

    #[test]
    fn parts_that_are_one_together() {
        for (first, second, expected) in [
            ((0..5, 10), (5..7, 10), Some(0..7)),
            ((0..5, 10), (3..7, 10), Some(0..7)),
            ((0..5, 10), (5..10, 10), Some(0..10)),
            ((0..5, 10), (1..3, 10), Some(0..5)),
            ((0..5, 10), (6..7, 10), None),
            ((0..5, 10), (5..7, 11), None),
        ] {
            let part = |(range, complete)| ContentRange::new(range, complete).unwrap();
            let (first, second) = (part(first), part(second));
            for (one, other) in [(first, second), (second, first)] {
                assert_eq!(one.united(&other).map(|part| part.range()), expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn parts_of_a_206() {
        let part = ("content-range", "bytes 0-4/10");
        for (fields, is_part) in [
            (&[part][..], true),
            (&[part, ("content-type", "text/plain")], true),
            (&[], false),
            (&[part, ("content-type", "multipart/byteranges; boundary=x")], false),
            (&[part, ("content-type", " Multipart/ByteRanges;boundary=x")], false),
            (&[part, part], false),
        ] {
            let mut headers = Headers::new();
            fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
            assert_eq!(ContentRange::of(&headers).is_some(), is_part, "{fields:?}");
        }
    }
}
