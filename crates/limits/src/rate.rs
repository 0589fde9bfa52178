//! A rate: how many requests in which time.

use std::{fmt, str::FromStr, time::Duration};

/// How many requests in which time, as in `10/s`, `600/m`, `1000/h`, `5000/d` or `100/10s`. nginx's `10r/s` is the same
/// as `10/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    count: u32,
    period: Duration,
}

/// Why a text is not a rate: what follows "it is", and what to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateError {
    text: &'static str,
}

impl Rate {
    /// So many requests in this time.
    ///
    /// # Errors
    ///
    /// No requests at all; no time, or more than a day; more than one request in a nanosecond.
    pub fn new(count: u32, period: Duration) -> Result<Self, RateError> {
        let nanoseconds = period.as_nanos();
        if count == 0 {
            return Err(RateError::new("no rate: it allows no request; refuse all with `deny`"));
        }
        if nanoseconds == 0 || period > MAX_PERIOD {
            return Err(RateError::new("no rate: its time is at least 1s and at most 1d"));
        }
        if nanoseconds < u128::from(count) {
            return Err(RateError::new("higher than 1000000000/s"));
        }
        Ok(Self { count, period })
    }

    /// How many requests.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// In which time.
    #[must_use]
    pub fn period(self) -> Duration {
        self.period
    }

    /// The time between two requests at this rate, in nanoseconds; at least 1.
    #[must_use]
    pub fn interval(self) -> u64 {
        // A day has 8.64e13 nanoseconds.
        u64::try_from(self.period.as_nanos()).unwrap_or(u64::MAX) / u64::from(self.count)
    }
}

impl RateError {
    fn new(text: &'static str) -> Self {
        Self { text }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let (count, period) = text.split_once('/').ok_or(RateError::new(EXPECTED))?;
        let count = count.strip_suffix('r').unwrap_or(count);
        let count = number(count).ok_or(RateError::new(EXPECTED))?;
        let (times, unit) = period.split_at(period.len() - period.ends_with(|last: char| last.is_ascii()) as usize);
        let seconds = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return Err(RateError::new(EXPECTED)),
        };
        let times = if times.is_empty() { Some(1) } else { number(times) };
        let times = times.ok_or(RateError::new(EXPECTED))?;
        Self::new(count, Duration::from_secs(u64::from(times) * seconds))
    }
}

/// Digits only: no sign, and no other way to write a number.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.period.as_secs();
        let (times, unit) = [(86_400, "d"), (3600, "h"), (60, "m"), (1, "s")]
            .into_iter()
            .find(|(length, _)| seconds.is_multiple_of(*length))
            .map_or((seconds, "s"), |(length, unit)| (seconds / length, unit));
        if times == 1 { write!(f, "{}/{unit}", self.count) } else { write!(f, "{}/{times}{unit}", self.count) }
    }
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)
    }
}

impl std::error::Error for RateError {}

const EXPECTED: &str = "not a number of requests in a time: write it as in 10/s, 600/m, 1000/h or 100/10s";

/// A limit of a longer time would be forgotten by a restart before it ends.
const MAX_PERIOD: Duration = Duration::from_secs(86_400);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_and_written() {
        for (text, expected) in [
            ("10/s", Some(("10/s", 100_000_000))),
            ("10r/s", Some(("10/s", 100_000_000))),
            ("600/m", Some(("600/m", 100_000_000))),
            ("60/60s", Some(("60/m", 1_000_000_000))),
            ("1000/h", Some(("1000/h", 3_600_000_000))),
            ("1/d", Some(("1/d", 86_400_000_000_000))),
            ("24/24h", Some(("24/d", 3_600_000_000_000))),
            ("100/10s", Some(("100/10s", 100_000_000))),
            ("1000000000/s", Some(("1000000000/s", 1))),
            ("2000000000/s", None),
            ("0/s", None),
            ("1/0s", None),
            ("1/2d", None),
            ("", None),
            ("/", None),
            ("10", None),
            ("10/", None),
            ("/s", None),
            ("r/s", None),
            ("10/S", None),
            ("10/ms", None),
            ("10/µ", None),
            ("-1/s", None),
            ("+1/s", None),
            ("1.5/s", None),
            ("1 /s", None),
            ("99999999999/s", None),
            ("1/99999999999s", None),
        ] {
            let found = text.parse::<Rate>().ok().map(|rate| (rate.to_string(), rate.interval()));
            assert_eq!(found, expected.map(|(written, interval)| (written.to_owned(), interval)), "{text:?}");
        }
    }
}
