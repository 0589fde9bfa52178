//! Durations: `500ms`, `10s`, `5m`, `24h`, `30d`.

use std::{str::FromStr, time::Duration};

use super::{Unreadable, leading_number};

/// A duration, written as a number and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

impl FromStr for Span {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let unreadable =
            || Unreadable::new(text, "not a duration: write a number and a unit, as in 500ms 10s 5m 24h 30d");
        let (number, unit) = leading_number(text).ok_or_else(unreadable)?;
        let milliseconds = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60 * 1000,
            "h" => 60 * 60 * 1000,
            "d" => 24 * 60 * 60 * 1000,
            // Nothing is nothing in any unit.
            "" if number == 0 => 0,
            _ => return Err(unreadable()),
        };
        let milliseconds = number.checked_mul(milliseconds).ok_or_else(unreadable)?;
        Ok(Self(Duration::from_millis(milliseconds)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        let cases = [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("5m", Some(300_000)),
            ("24h", Some(86_400_000)),
            ("30d", Some(2_592_000_000)),
            ("365d", Some(31_536_000_000)),
            ("007s", Some(7_000)),
            ("18446744073709551615ms", Some(u64::MAX)),
            ("18446744073709551616ms", None),
            ("18446744073709551615s", None),
            ("", None),
            ("s", None),
            ("10", None),
            ("10 s", None),
            (" 10s", None),
            ("10s ", None),
            ("-1s", None),
            ("+1s", None),
            ("1.5s", None),
            ("1h30m", None),
            ("10S", None),
            ("10sec", None),
            ("١s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(|number| Span(Duration::from_millis(number))), "{text}");
        }
        let error = "10\nx".parse::<Span>().unwrap_err().to_string();
        assert_eq!(error, r#""10\nx" is not a duration: write a number and a unit, as in 500ms 10s 5m 24h 30d"#);
    }
}
