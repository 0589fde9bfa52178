//! How often which value was measured: latencies in nanoseconds, rates in requests each second.

use std::{fmt, time::Duration};

use hdrhistogram::Histogram;

/// How often which value was measured, to three significant digits.
#[derive(Clone)]
pub struct Distribution(Histogram<u64>);

/// A range of values that are not told apart, and how many of them there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The smallest value of the range.
    pub low: u64,
    /// The largest.
    pub high: u64,
    /// How many values.
    pub count: u64,
}

impl Distribution {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        // The bounds and digits are among those that the histogram allows.
        #[allow(clippy::expect_used, reason = "constants that a test has tried")]
        Self(Histogram::new_with_bounds(LEAST, MOST, DIGITS).expect("possible bounds"))
    }

    /// One more value; beyond 2⁴² (73 minutes in nanoseconds) it counts as that.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.0.saturating_record(value);
    }

    /// One more duration, in nanoseconds.
    #[inline]
    pub fn record_duration(&mut self, duration: Duration) {
        self.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
    }

    /// All values of another one as well.
    pub fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        // Both have the same bounds, so nothing can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// Forgets all values.
    pub fn clear(&mut self) {
        self.0.reset();
    }

    /// How many values there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The smallest value; 0 where there is none.
    #[must_use]
    pub fn least(&self) -> u64 {
        self.0.min()
    }

    /// The largest value; 0 where there is none.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.0.max()
    }

    /// The arithmetic mean; 0 where there is no value.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// The standard deviation, of the values themselves and not of a sample of them; 0 where there is no value.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        self.0.stdev()
    }

    /// The value that so many per cent of all values do not exceed; 0 where there is none.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> u64 {
        if self.count() == 0 { 0 } else { self.0.value_at_percentile(percent).min(self.most()) }
    }

    /// Which part of the values is within so many standard deviations of the mean, from 0 to 1.
    #[must_use]
    pub fn share_within(&self, deviations: f64) -> f64 {
        let (mean, reach) = (self.mean(), self.deviation() * deviations);
        // A range counts as soon as a part of it is within: equal values have no deviation, and are all at the mean.
        let within =
            self.buckets().filter(|bucket| bucket.low as f64 <= mean + reach && bucket.high as f64 >= mean - reach);
        let count: u64 = within.map(|bucket| bucket.count).sum();
        if self.count() == 0 { 0.0 } else { count as f64 / self.count() as f64 }
    }

    /// The ranges with values in them, from the smallest on.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.0.iter_recorded().map(|value| {
            let high = value.value_iterated_to();
            Bucket { low: self.0.lowest_equivalent(high), high, count: value.count_at_value() }
        })
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Distribution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Distribution")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .field("most", &self.most())
            .finish()
    }
}

/// The finest step. Rates are whole numbers, and the clock of a latency is not finer than some nanoseconds.
const LEAST: u64 = 1;

/// No timeout is longer than an hour.
const MOST: u64 = 1 << 42;

/// Of each value, at any size: 1.23 ms differs from 1.24 ms, and both tables fit into a core's cache.
const DIGITS: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_of_everything() {
        let mut distribution = Distribution::new();
        for value in [0, 1, 999, 1_000_000, 5_000_000_000, u64::MAX] {
            distribution.record(value);
        }
        assert_eq!((distribution.count(), distribution.least()), (6, 0));
        for (percent, expected) in [(50.0, 999.0), (66.0, 1e6), (80.0, 5e9)] {
            let found = distribution.percentile(percent) as f64;
            assert!((found - expected).abs() <= expected / 1000.0, "{percent}: {found}");
        }
        assert!(distribution.most() >= MOST);
    }

    #[test]
    fn the_usual_figures() {
        let (mut distribution, mut other) = (Distribution::new(), Distribution::new());
        for value in [2, 4, 4, 4] {
            distribution.record(value);
        }
        for value in [5, 5, 7, 9] {
            other.record(value);
        }
        distribution.merge(&other);
        assert_eq!((distribution.mean(), distribution.deviation()), (5.0, 2.0));
        // 4, 4, 4, 5, 5, 7 of eight.
        assert_eq!(distribution.share_within(1.0), 0.75);
        let counts: Vec<_> = distribution.buckets().map(|bucket| (bucket.low, bucket.high, bucket.count)).collect();
        assert_eq!(counts, [(2, 2, 1), (4, 4, 3), (5, 5, 2), (7, 7, 1), (9, 9, 1)]);
    }

    #[test]
    fn equal_values_are_at_their_mean() {
        let mut distribution = Distribution::new();
        for _ in 0..3 {
            distribution.record(123_456_789);
        }
        assert_eq!((distribution.deviation(), distribution.share_within(1.0)), (0.0, 1.0));
    }

    #[test]
    fn of_nothing() {
        let nothing = Distribution::new();
        assert_eq!((nothing.count(), nothing.least(), nothing.most(), nothing.percentile(99.0)), (0, 0, 0, 0));
        assert_eq!((nothing.mean(), nothing.deviation(), nothing.share_within(1.0)), (0.0, 0.0, 0.0));
    }
}
