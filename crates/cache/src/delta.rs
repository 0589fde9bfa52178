//! Spans of time in directives: delta-seconds (RFC 9111 §1.2.2).

use std::time::Duration;

use crate::directives::Argument;

/// The argument of a directive that is a number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delta {
    /// There is no such directive.
    #[default]
    Absent,
    /// So many seconds.
    Seconds(u32),
    /// It is not a number, or the directive occurs with different numbers (RFC 9111 §4.2.1: then the response is
    /// considered stale).
    Invalid,
}

impl Delta {
    /// The span; nothing if the number is invalid, which is the most restrictive reading. `None` if it is absent.
    #[must_use]
    pub fn span(self) -> Option<Duration> {
        match self {
            Self::Absent => None,
            Self::Seconds(seconds) => Some(Duration::from_secs(seconds.into())),
            Self::Invalid => Some(Duration::ZERO),
        }
    }

    /// Takes in the argument of a directive.
    pub(crate) fn add(&mut self, argument: &Argument<'_>) {
        let new = match argument {
            Argument::Text(text) => parse(text).map_or(Self::Invalid, Self::Seconds),
            Argument::None | Argument::Invalid => Self::Invalid,
        };
        *self = if *self == Self::Absent || *self == new { new } else { Self::Invalid };
    }
}

/// Reads delta-seconds. Numbers that are too large become [`GREATEST`].
pub(crate) fn parse(text: &[u8]) -> Option<u32> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0_u32, |sum, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(sum.checked_mul(10).and_then(|sum| sum.checked_add(digit)).unwrap_or(GREATEST).min(GREATEST))
    })
}

/// RFC 9111 §1.2.2: a number that cannot be represented is taken for 2^31.
const GREATEST: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_seconds() {
        for (text, expected) in [
            ("0", Some(0)),
            ("003600", Some(3600)),
            ("2147483648", Some(GREATEST)),
            ("2147483649", Some(GREATEST)),
            ("99999999999999999999", Some(GREATEST)),
            ("", None),
            ("-1", None),
            ("+1", None),
            ("1.5", None),
            ("1a", None),
            ("'1'", None),
        ] {
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }
}
