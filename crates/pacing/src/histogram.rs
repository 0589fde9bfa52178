//! Delays, counted in classes of about a sixteenth of their size.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// How often which delays were seen, from a microsecond to two minutes.
///
/// One thread records, any thread reads. The memory is fixed, 3 KiB. A quantile is the upper end of its class, so it is
/// up to 6.25 % too high and never too low.
#[derive(Debug)]
pub struct DelayHistogram {
    classes: [AtomicU64; CLASSES],
    longest: AtomicU64,
}

impl DelayHistogram {
    /// Nothing seen so far.
    pub const fn new() -> Self {
        Self { classes: [const { AtomicU64::new(0) }; CLASSES], longest: AtomicU64::new(0) }
    }

    /// Counts a delay `weight` times.
    pub fn record(&self, delay: Duration, weight: u64) {
        let microseconds = u64::try_from(delay.as_micros()).unwrap_or(u64::MAX);
        self.classes[class_of(microseconds)].fetch_add(weight, Ordering::Relaxed);
        self.longest.fetch_max(microseconds, Ordering::Relaxed);
    }

    /// The weights of all.
    pub fn count(&self) -> u64 {
        self.classes.iter().map(|class| class.load(Ordering::Relaxed)).sum()
    }

    /// The delay that `per_thousand` of a thousand do not exceed: 500 is the median. None if nothing was seen.
    pub fn quantile(&self, per_thousand: u16) -> Option<Duration> {
        let count = self.count();
        let rank = (u128::from(count) * u128::from(per_thousand.min(1000))).div_ceil(1000).max(1);
        let mut below: u128 = 0;
        let class = self.classes.iter().position(|class| {
            below += u128::from(class.load(Ordering::Relaxed));
            below >= rank
        })?;
        let longest = self.longest.load(Ordering::Relaxed);
        Some(Duration::from_micros(end_of(class).min(longest)))
    }

    /// The longest delay seen, exactly.
    pub fn longest(&self) -> Duration {
        Duration::from_micros(self.longest.load(Ordering::Relaxed))
    }

    /// The classes in which something was seen: the longest delay that belongs to each, and the weights in it.
    pub fn classes(&self) -> impl Iterator<Item = (Duration, u64)> {
        let weights = self.classes.iter().map(|class| class.load(Ordering::Relaxed)).enumerate();
        weights.filter(|(_, weight)| *weight > 0).map(|(class, weight)| (Duration::from_micros(end_of(class)), weight))
    }

    /// Adds what another has counted.
    pub fn add(&self, other: &Self) {
        for (mine, others) in self.classes.iter().zip(&other.classes) {
            mine.fetch_add(others.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.longest.fetch_max(other.longest.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// Below [`PARTS`] each number is a class; above, each power of two has [`PARTS`] of them.
fn class_of(microseconds: u64) -> usize {
    let Some(power) = microseconds.checked_ilog2().filter(|power| *power >= PARTS_POWER) else {
        return microseconds as usize;
    };
    let part = (microseconds >> (power - PARTS_POWER)) as usize - PARTS;
    let class = (power - PARTS_POWER + 1) as usize * PARTS + part;
    class.min(CLASSES - 1)
}

/// The last number of a class.
fn end_of(class: usize) -> u64 {
    if class < PARTS {
        return class as u64;
    }
    if class == CLASSES - 1 {
        return u64::MAX;
    }
    let power = class / PARTS - 1;
    (((class % PARTS + PARTS + 1) as u64) << power) - 1
}

/// Classes of each power of two: a class is at most a sixteenth of its beginning wide.
const PARTS: usize = 16;
const PARTS_POWER: u32 = PARTS.ilog2();

/// Up to 2^27 µs, 134 seconds; the last class holds all that is longer.
const CLASSES: usize = 24 * PARTS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_no_gaps_and_are_narrow() {
        for class in 0..CLASSES - 1 {
            let end = end_of(class);
            assert_eq!(class_of(end), class);
            assert_eq!(class_of(end + 1), class + 1, "{end}");
            let begin = if class == 0 { 0 } else { end_of(class - 1) + 1 };
            assert!((end - begin) * 16 <= begin, "{begin}..={end}");
        }
        assert_eq!(end_of(CLASSES - 2), (1 << 27) - (1 << 22) - 1);
        assert_eq!(class_of(u64::MAX), CLASSES - 1);
    }

    #[test]
    fn quantiles_are_at_most_one_class_too_high() {
        let histogram = DelayHistogram::new();
        assert_eq!((histogram.quantile(500), histogram.longest()), (None, Duration::ZERO));
        for milliseconds in 1..=1000 {
            histogram.record(Duration::from_millis(milliseconds), 3);
        }
        assert_eq!(histogram.count(), 3000);
        for per_thousand in [1, 500, 900, 990, 1000] {
            let exact = Duration::from_millis(per_thousand);
            let said = histogram.quantile(per_thousand as u16).unwrap();
            assert!(said >= exact && said <= exact * 17 / 16, "{per_thousand}: {said:?}");
        }
        assert_eq!(histogram.longest(), Duration::from_secs(1));
        assert_eq!(histogram.quantile(u16::MAX), Some(Duration::from_secs(1)));
    }

    #[test]
    fn histograms_are_added_and_clamped() {
        let (one, other) = (DelayHistogram::new(), DelayHistogram::default());
        one.record(Duration::ZERO, 99);
        other.record(Duration::MAX, 1);
        one.add(&other);
        assert_eq!(one.count(), 100);
        let classes = [(Duration::ZERO, 99), (Duration::from_micros(u64::MAX), 1)];
        assert!(one.classes().eq(classes));
        assert_eq!(one.quantile(990), Some(Duration::ZERO));
        assert_eq!(one.quantile(1000), Some(Duration::from_micros(u64::MAX)));
    }
}
