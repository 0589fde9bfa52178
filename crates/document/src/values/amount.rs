//! Amounts and times as wrk reads them: `100`, `1k`, `2M`; `10`, `90s`, `5m`, `1h`.

use std::{str::FromStr, time::Duration};

use crate::values::{ValueError, leading_number};

/// A number of things, at least one; `k`, `M` and `G` are powers of 1,000, as in wrk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub u64);

/// A time; without a unit in seconds, as in wrk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period(pub Duration);

/// How often something happens each second; may be less than once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate(pub f64);

impl Amount {
    /// As the number of something in memory.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl FromStr for Amount {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, "not a number of at least 1: write it as in 100 1k 2M");
        let (number, unit) = leading_number(text).ok_or_else(error)?;
        let unit = metric(unit).ok_or_else(error)?;
        number.checked_mul(unit).filter(|number| *number > 0).map(Self).ok_or_else(error)
    }
}

impl FromStr for Period {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error =
            || ValueError::new(text, "not a time: write seconds, or a number with unit, as in 10 500ms 90s 5m 1h");
        let (number, unit) = leading_number(text).ok_or_else(error)?;
        let milliseconds: u64 = match unit {
            "ms" => 1,
            "" | "s" | "S" => 1000,
            "m" | "M" => 60 * 1000,
            "h" | "H" => 60 * 60 * 1000,
            _ => return Err(error()),
        };
        // A hundred years: a moment so far away can still be reckoned with.
        let most = 100 * 365 * 24 * 60 * 60 * 1000;
        let milliseconds = number.checked_mul(milliseconds).filter(|time| *time <= most).ok_or_else(error)?;
        Ok(Self(Duration::from_millis(milliseconds)))
    }
}

impl FromStr for Rate {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let error = || ValueError::new(text, "not a number of requests each second: write it as in 0.5 1000 10k");
        let end = text.find(|character: char| !matches!(character, '0'..='9' | '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let number: f64 = number.parse().map_err(|_| error())?;
        let rate = number * metric(unit).ok_or_else(error)? as f64;
        // The moments are counted in nanoseconds.
        if (1e-6..=1e9).contains(&rate) { Ok(Self(rate)) } else { Err(error()) }
    }
}

/// The factor of a unit.
fn metric(unit: &str) -> Option<u64> {
    Some(match unit {
        "" => 1,
        "k" | "K" => 1000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_parsed_or_refused() {
        let cases = [
            ("1", Some(1)),
            ("100", Some(100)),
            ("1k", Some(1000)),
            ("2M", Some(2_000_000)),
            ("3g", Some(3_000_000_000)),
            ("0", None),
            ("", None),
            ("k", None),
            ("1.5k", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("18446744073709551615k", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(Amount), "{text}");
        }
    }

    #[test]
    fn periods_are_parsed_or_refused() {
        let cases = [
            ("10", Some(10_000)),
            ("0", Some(0)),
            ("500ms", Some(500)),
            ("90s", Some(90_000)),
            ("5m", Some(300_000)),
            ("1h", Some(3_600_000)),
            ("1H", Some(3_600_000)),
            ("", None),
            ("s", None),
            ("1d", None),
            ("1.5s", None),
            ("99999999999h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse().ok(), expected.map(|time| Period(Duration::from_millis(time))), "{text}");
        }
    }

    #[test]
    fn rates_are_parsed_or_refused() {
        for (text, expected) in
            [("1000", Some(1000.0)), ("10k", Some(10_000.0)), ("0.5", Some(0.5)), ("1.5k", Some(1500.0))]
                .into_iter()
                .chain(["0", "", "k", "-1", "1e3", "1..2", "2G", "nan"].map(|text| (text, None)))
        {
            assert_eq!(text.parse().ok(), expected.map(Rate), "{text}");
        }
    }
}
