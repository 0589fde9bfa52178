//! Amounts with two decimals and the unit that fits, as wrk writes them.
//!
//! A larger unit is taken from 85 % of it on: `0.85ms` follows `849.99us`. There are neither hours nor petabytes: wrk's
//! tables have them, but it never takes the last one, and what reads its reports need not know them.

use std::time::Duration;

/// A time in nanoseconds: `42.00us`, `1.50ms`, `2.00s`, `1.00m`.
pub(super) fn nanoseconds(nanoseconds: f64) -> String {
    let microseconds = nanoseconds / 1e3;
    // From a second on wrk counts in seconds, so that what would be 999.999 ms is not rounded into the next unit.
    if microseconds >= 1e6 { scaled(microseconds / 1e6, &SECONDS) } else { scaled(microseconds, &MICROSECONDS) }
}

/// A time, as [`nanoseconds`] does.
pub(super) fn duration(duration: Duration) -> String {
    nanoseconds(duration.as_secs_f64() * 1e9)
}

/// A length that somebody asked for: without decimals where it is of whole seconds (`10s`, `2m`, `120m`), as wrk's
/// always are.
pub(super) fn planned(duration: Duration) -> String {
    if duration.subsec_nanos() > 0 {
        return self::duration(duration);
    }
    let (amount, unit) = SECONDS.fit(duration.as_secs_f64());
    format!("{amount:.0}{unit}")
}

/// Bytes, in steps of 1024: `512.00`, `1.50K`. The letter B is the caller's.
pub(super) fn bytes(bytes: f64) -> String {
    scaled(bytes, &BINARY)
}

/// A number, in steps of 1000: `12.00`, `1.50k`.
pub(super) fn count(count: f64) -> String {
    scaled(count, &METRIC)
}

/// Puts an amount into a column: right-aligned by its digits, with room for units of two letters behind it.
pub(super) fn column(amount: &str, width: usize) -> String {
    let letters = amount.chars().rev().take(2).filter(char::is_ascii_alphabetic).count();
    let room = 2 - letters;
    format!("{amount:>0$}{1:2$}", width.saturating_sub(room), "", room)
}

fn scaled(amount: f64, units: &Units) -> String {
    let (amount, unit) = units.fit(amount);
    format!("{amount:.2}{unit}")
}

/// Units that follow each other in equal steps.
struct Units {
    step: f64,
    smallest: &'static str,
    larger: &'static [&'static str],
}

impl Units {
    /// The amount in the unit that fits, and the unit.
    fn fit(&self, mut amount: f64) -> (f64, &'static str) {
        let mut unit = self.smallest;
        for larger in self.larger {
            if amount < self.step * 0.85 {
                break;
            }
            amount /= self.step;
            unit = larger;
        }
        (amount, unit)
    }
}

const MICROSECONDS: Units = Units { step: 1000.0, smallest: "us", larger: &["ms"] };
const SECONDS: Units = Units { step: 60.0, smallest: "s", larger: &["m"] };
const BINARY: Units = Units { step: 1024.0, smallest: "", larger: &["K", "M", "G", "T"] };
const METRIC: Units = Units { step: 1000.0, smallest: "", larger: &["k", "M", "G", "T"] };

#[cfg(test)]
mod tests {
    use super::*;

    /// Each line: what is measured, how much of it, and what wrk 4.1 writes.
    #[test]
    fn as_wrk_writes_them() {
        let mut cases = 0;
        for line in include_str!("../../tests/report/units.txt").lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            let (kind, amount, expected) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let amount: f64 = amount.parse().unwrap();
            let found = match kind {
                "time" => nanoseconds(amount * 1e3),
                "planned" => planned(Duration::from_secs_f64(amount)),
                "bytes" => bytes(amount),
                "count" => count(amount),
                other => panic!("unknown kind {other}"),
            };
            assert_eq!(found, expected, "{line}");
            cases += 1;
        }
        assert!(cases > 40);
    }

    #[test]
    fn columns_align_by_digits() {
        for (amount, width, expected) in [
            ("42.00us", 8, " 42.00us"),
            ("1.19s", 8, "  1.19s "),
            ("0.83", 8, "  0.83  "),
            ("9.61k", 8, "  9.61k "),
            ("125.00", 9, " 125.00  "),
            ("", 4, "    "),
            ("123456789.00", 8, "123456789.00  "),
        ] {
            assert_eq!(column(amount, width), expected);
        }
    }
}
