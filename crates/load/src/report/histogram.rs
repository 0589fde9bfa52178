//! Values counted by size, each range wider than the one before by the same factor.

use crate::Distribution;

/// A range of values and how many there were.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bin {
    /// Where it begins.
    pub(super) low: f64,
    /// Where the next one begins.
    pub(super) high: f64,
    /// How many values.
    pub(super) count: u64,
}

/// Counts values in so many ranges to a factor of ten, from the one of the smallest value to that of the largest, with
/// those between that are empty. Values below 1 count as 1. None for no values.
pub(super) fn histogram(distribution: &Distribution, steps: u32) -> Vec<Bin> {
    if distribution.count() == 0 || steps == 0 {
        return Vec::new();
    }
    let steps = f64::from(steps);
    let place = |value: f64| (value.max(1.0).log10() * steps).floor();
    let edge = |place: f64| 10_f64.powf(place / steps);
    let mut bins: Vec<Bin> = Vec::new();
    let mut first = None;
    for bucket in distribution.buckets() {
        let place = place((bucket.low as f64 + bucket.high as f64) / 2.0);
        let first = *first.get_or_insert(place);
        while (bins.len() as f64) <= place - first {
            let next = first + bins.len() as f64;
            bins.push(Bin { low: edge(next), high: edge(next + 1.0), count: 0 });
        }
        if let Some(last) = bins.last_mut() {
            last.count += bucket.count;
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_between_are_there_as_well() {
        let mut distribution = Distribution::new();
        for value in [0, 1, 3, 9, 150, 999, 1500] {
            distribution.record(value);
        }
        let found: Vec<_> = histogram(&distribution, 1).iter().map(|bin| (bin.low, bin.high, bin.count)).collect();
        assert_eq!(found, [(1.0, 10.0, 4), (10.0, 100.0, 0), (100.0, 1000.0, 2), (1000.0, 10000.0, 1)]);
        let fine = histogram(&distribution, 50);
        assert_eq!(fine.iter().map(|bin| bin.count).sum::<u64>(), 7);
        assert!(fine.windows(2).all(|pair| (pair[0].high - pair[1].low).abs() < 1e-9));
        assert!((fine[0].low..fine[0].high).contains(&1.0) && fine[fine.len() - 1].high > 1500.0);
    }

    #[test]
    fn of_few_values() {
        let mut distribution = Distribution::new();
        assert_eq!(histogram(&distribution, 10), []);
        distribution.record(1_234_567);
        let found = histogram(&distribution, 10);
        assert_eq!(found.len(), 1);
        assert!(found[0].low <= 1_234_567.0 && 1_234_567.0 < found[0].high);
    }
}
