//! The usual figures of a distribution.

use crate::Distribution;

/// The figures of a line of wrk's statistics.
pub(super) struct Figures {
    /// The arithmetic mean.
    pub(super) mean: f64,
    /// The standard deviation, of the values as a sample: wrk divides by one less than there are.
    pub(super) deviation: f64,
    /// The largest value.
    pub(super) most: f64,
    /// The share of the values within one deviation of the mean, from 0 to 1.
    pub(super) within: f64,
}

impl Figures {
    /// All are 0 where there is no value.
    pub(super) fn of(distribution: &Distribution) -> Self {
        let count = distribution.count() as f64;
        let correction = if count > 1.0 { (count / (count - 1.0)).sqrt() } else { 0.0 };
        Self {
            mean: distribution.mean(),
            deviation: distribution.deviation() * correction,
            most: distribution.most() as f64,
            within: distribution.share_within(correction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_of_a_sample() {
        let mut distribution = Distribution::new();
        distribution.record(10);
        assert_eq!(Figures::of(&distribution).deviation, 0.0);
        distribution.record(14);
        let figures = Figures::of(&distribution);
        assert!((figures.deviation - 8_f64.sqrt()).abs() < 1e-9);
        assert_eq!((figures.mean, figures.most, figures.within), (12.0, 14.0, 1.0));
    }
}
