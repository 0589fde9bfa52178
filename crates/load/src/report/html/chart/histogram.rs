//! Latencies by how often they were.

use super::{
    super::{
        super::histogram::{Bin, histogram},
        quantity,
    },
    axis::Axis,
    figure, nothing,
    plot::Plot,
};
use crate::Distribution;

/// The latencies as bars, each for a range that is wider than the one before by the same factor.
pub(super) fn chart(latencies: &Distribution) -> String {
    let bins = bins(latencies);
    let explanation =
        "How many of the responses took how long. The scale of time is logarithmic, the upright lines are percentiles.";
    figure("Latency", explanation, &[], &drawing(latencies, &bins))
}

fn drawing(latencies: &Distribution, bins: &[Bin]) -> String {
    let (Some(first), Some(last)) = (bins.first(), bins.last()) else { return nothing("There was no response.") };
    let (low, high) = widened(first.low, last.high);
    let share = |bin: &Bin| bin.count as f64 / latencies.count() as f64 * 100.0;
    let highest = bins.iter().map(share).fold(0.0, f64::max);
    let horizontal = Axis::latencies(low, high, HORIZONTAL_TICKS);
    let vertical = Axis::amounts(highest, VERTICAL_TICKS, quantity::round_percent);
    let mut plot = Plot::new(&horizontal, &vertical);
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        plot.bar(bin.low, bin.high, share(bin));
        let range = format!("{} to {}", quantity::time(bin.low), quantity::time(bin.high));
        let count = quantity::counted(bin.count, "response");
        plot.answer(bin.low, bin.high, &format!("{range}: {count}, {}", quantity::share(bin.count, latencies.count())));
    }
    let mark = |percent: f64| (latencies.percentile(percent) as f64, quantity::round_percent(percent));
    plot.marks(&[50.0, 99.0, 99.9, 90.0].map(mark));
    let summary = format!(
        "Histogram of the latencies, from {} to {}, half of them at most {}",
        quantity::time(latencies.least() as f64),
        quantity::time(latencies.most() as f64),
        quantity::time(latencies.percentile(50.0) as f64),
    );
    plot.finish("tall marked", &summary)
}

/// The number of ranges that can be distinguished.
fn bins(latencies: &Distribution) -> Vec<Bin> {
    let finest = STEPS.into_iter().map(|steps| histogram(latencies, steps)).find(|bins| bins.len() <= MAX_BARS);
    finest.unwrap_or_else(|| histogram(latencies, 1))
}

/// A scale of at least a factor of two, so that a single bar is not a wall.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let missing = (2.0 / (high / low)).max(1.0).sqrt();
    (low / missing, high * missing)
}

/// Ranges to a factor of ten, finest first. Measured values have three digits, so some of the finer ranges would always
/// be empty.
const STEPS: [u32; 9] = [320, 160, 80, 64, 40, 32, 20, 16, 10];

/// Each is at least two pixels wide on a telephone.
const MAX_BARS: usize = 120;

const HORIZONTAL_TICKS: usize = 9;
const VERTICAL_TICKS: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn distribution(values: &[u64]) -> Distribution {
        let mut distribution = Distribution::new();
        for value in values {
            distribution.record(*value);
        }
        distribution
    }

    #[test]
    fn as_many_bars_as_can_be_told_apart() {
        for values in [
            &[100_000, 101_000, 102_000][..],
            &[100_000, 200_000],
            &[10_000, 1_000_000, 1_000_000_000],
            &[1, 4_000_000_000_000],
        ] {
            let bins = bins(&distribution(values));
            assert!((4..=MAX_BARS).contains(&bins.len()), "{values:?}: {}", bins.len());
            assert_eq!(bins.iter().map(|bin| bin.count).sum::<u64>(), values.len() as u64);
        }
    }

    #[test]
    fn a_single_value_is_no_wall() {
        let drawing = chart(&distribution(&[1_234_567]));
        assert_eq!(drawing.matches("<rect").count(), 2, "a bar and what it says: {drawing}");
        let (low, high) = widened(1.0, 1.1);
        assert!((high / low - 2.0).abs() < 1e-9 && low < 1.0 && high > 1.1);
        assert_eq!(widened(1.0, 3.0), (1.0, 3.0));
    }

    #[test]
    fn of_nothing() {
        assert!(chart(&Distribution::new()).contains("There was no response."));
    }
}
