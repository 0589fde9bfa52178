//! Times as Server::Starter has them, `5`, which are seconds, and as all other commands do: `500ms`.

use std::{str::FromStr, time::Duration};

use crate::values::{Span, ValueError, leading_number};

/// A time, written as a number of seconds or as a number and a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl FromStr for Seconds {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let time = match leading_number(text) {
            Some((seconds, "")) => Some(Duration::from_secs(seconds)),
            _ => text.parse::<Span>().ok().map(|span| span.0),
        };
        time.filter(|time| *time <= LONGEST).map(Self).ok_or_else(|| {
            ValueError::new(text, "not a time: write a number of seconds, or a number and a unit, as in 2 500ms 5m")
        })
    }
}

/// A hundred years. Beyond, sums of times could overflow.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed_or_refused() {
        let cases = [
            ("0", Some(0)),
            ("5", Some(5000)),
            ("500ms", Some(500)),
            ("5m", Some(300_000)),
            ("3153600000", Some(3_153_600_000_000)),
            ("3153600001", None),
            ("", None),
            ("-1", None),
            ("1.5", None),
            ("5 ", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(|time| Seconds(Duration::from_millis(time))), "{text}");
        }
    }
}
