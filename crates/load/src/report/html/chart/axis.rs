//! Scales, and the round numbers beside them.

use super::super::quantity;

/// A scale from one value to another, and the numbers written beside it.
#[derive(Debug)]
pub(super) struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
    pub(super) ticks: Vec<Tick>,
}

/// A number beside a scale.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Where it is, from 0 to 1.
    pub(super) place: f64,
    pub(super) label: String,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    Linear,
    Logarithmic,
}

impl Axis {
    /// From 0 to a round number that is not below the highest value.
    pub(super) fn amounts(highest: f64, ticks: usize, label: fn(f64) -> String) -> Self {
        let highest = if highest > 0.0 { highest } else { 1.0 };
        let step = round_step(highest / ticks.max(1) as f64);
        let high = (highest / step - TINY).ceil() * step;
        Self::new(Scale::Linear, 0.0, high).with_ticks(multiples(step, 0.0, high), label)
    }

    /// From 0 to an end, in seconds. The end need not be round.
    pub(super) fn seconds(end: f64, ticks: usize) -> Self {
        let end = if end > 0.0 { end } else { 1.0 };
        let step = round_time_step(end / ticks.max(1) as f64);
        let unit = TIMES.into_iter().rev().find(|unit| step >= unit.least_step * (1.0 - TINY));
        let (size, name) = unit.map_or((1.0, "s"), |unit| (unit.size, unit.name));
        Self::new(Scale::Linear, 0.0, end).with_ticks(multiples(step, 0.0, end), |seconds| match seconds {
            0.0 => "0".into(),
            seconds => format!("{}\u{a0}{name}", quantity::trimmed(seconds / size)),
        })
    }

    /// Latencies in nanoseconds, each factor as long as any equal one; from the lowest to the highest.
    pub(super) fn latencies(low: f64, high: f64, ticks: usize) -> Self {
        let low = low.max(1.0);
        let high = high.max(low * LEAST_FACTOR);
        Self::new(Scale::Logarithmic, low, high).with_ticks(round_factors(low, high, ticks), quantity::decimal_time)
    }

    /// As [`Axis::latencies`], and beyond both ends as far as the next round number.
    pub(super) fn latencies_around(low: f64, high: f64, ticks: usize) -> Self {
        Self::latencies(round_below(low.max(1.0)), round_above(high.max(1.0)), ticks)
    }

    /// From 0 to an end that need not be round, with these numbers and no others.
    pub(super) fn with_places(end: f64, ticks: Vec<(f64, String)>) -> Self {
        let mut axis = Self::new(Scale::Linear, 0.0, if end > 0.0 { end } else { 1.0 });
        axis.ticks = ticks.into_iter().map(|(value, label)| Tick { place: axis.place(value), label }).collect();
        axis
    }

    /// Where a value is, from 0 to 1.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
        };
        share.clamp(0.0, 1.0)
    }

    fn new(scale: Scale, low: f64, high: f64) -> Self {
        Self { scale, low, high, ticks: Vec::new() }
    }

    fn with_ticks(mut self, values: Vec<f64>, label: impl Fn(f64) -> String) -> Self {
        self.ticks = values.into_iter().map(|value| Tick { place: self.place(value), label: label(value) }).collect();
        self
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = ROUND.into_iter().find(|factor| factor * power >= least * (1.0 - TINY)).unwrap_or(10.0);
    factor * power
}

/// The smallest time that people count in, in seconds, that is not below.
fn round_time_step(least: f64) -> f64 {
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 30.0];
    let minutes_and_hours =
        steps.iter().map(|step| step * 60.0).chain([1.0, 2.0, 3.0, 6.0, 12.0, 24.0].map(|step| step * 3600.0));
    match least {
        ..=0.5 => round_step(least),
        _ => steps
            .into_iter()
            .chain(minutes_and_hours)
            .find(|step| *step >= least * (1.0 - TINY))
            .unwrap_or_else(|| round_step(least / 3600.0) * 3600.0),
    }
}

fn multiples(step: f64, low: f64, high: f64) -> Vec<f64> {
    let first = (low / step - TINY).ceil();
    let last = (high / step + TINY).floor();
    let number = (last - first).max(0.0) as usize;
    (0..=number).map(|multiple| (first + multiple as f64) * step).collect()
}

/// Round numbers between two others, about as far from each other as factors: powers of ten with some numbers between
/// them, or without, or only some of them. Where there are too few of those, at equal differences.
fn round_factors(low: f64, high: f64, most: usize) -> Vec<f64> {
    let powers = || (low.log10().floor() as i32..=high.log10().ceil() as i32).map(|power| 10_f64.powi(power));
    let among = |factors: &[f64]| -> Vec<f64> {
        let values = powers().flat_map(|power| factors.iter().map(move |factor| factor * power));
        values.filter(|value| (low * (1.0 - TINY)..=high * (1.0 + TINY)).contains(value)).collect()
    };
    let values = [&FINE[..], &ROUND, &[1.0]].into_iter().map(among).find(|values| values.len() <= most);
    match values {
        Some(values) if values.len() < FEWEST => multiples(round_step((high - low) / most.max(1) as f64), low, high),
        Some(values) => values,
        None => {
            let powers = among(&[1.0]);
            let each = powers.len().div_ceil(most.max(1)).max(1);
            powers.into_iter().step_by(each).collect()
        }
    }
}

/// The next of 1, 2 and 5 times a power of ten below.
fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    ROUND.into_iter().rev().map(|factor| factor * power).find(|round| *round <= value * (1.0 + TINY)).unwrap_or(power)
}

/// The next of 1, 2 and 5 times a power of ten above.
fn round_above(value: f64) -> f64 {
    round_step(value)
}

/// A unit of time for a whole scale.
struct TimeUnit {
    /// In seconds.
    size: f64,
    /// The numbers beside the scale are as far from each other, at least.
    least_step: f64,
    name: &'static str,
}

const TIMES: [TimeUnit; 6] = [
    TimeUnit { size: 1e-9, least_step: 0.0, name: "ns" },
    TimeUnit { size: 1e-6, least_step: 1e-7, name: "µs" },
    TimeUnit { size: 1e-3, least_step: 1e-4, name: "ms" },
    TimeUnit { size: 1.0, least_step: 0.1, name: "s" },
    TimeUnit { size: 60.0, least_step: 60.0, name: "min" },
    TimeUnit { size: 3600.0, least_step: 1800.0, name: "h" },
];

const ROUND: [f64; 3] = [1.0, 2.0, 5.0];

/// Between two powers of ten, each about as far from the next.
const FINE: [f64; 8] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];

/// Fewer do not show that the scale is not an even one.
const FEWEST: usize = 3;

/// The error of calculating with floating-point numbers, at most.
const TINY: f64 = 1e-9;

/// Equal values still need a width to stand in.
const LEAST_FACTOR: f64 = 1.2;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks.iter().map(|tick| tick.label.replace('\u{a0}', " ")).collect()
    }

    #[test]
    fn amounts() {
        for (highest, expected) in [
            (0.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"][..]),
            (1.0, &["0", "0.2", "0.4", "0.6", "0.8", "1"]),
            (48_800.0, &["0", "10k", "20k", "30k", "40k", "50k"]),
            (50_000.0, &["0", "10k", "20k", "30k", "40k", "50k"]),
            (50_001.0, &["0", "20k", "40k", "60k"]),
            (1.3e12, &["0", "500G", "1T", "1.5T"]),
            (f64::NAN, &["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ] {
            let axis = Axis::amounts(highest, 5, quantity::round_count);
            assert_eq!(labels(&axis), expected, "{highest}");
            assert_eq!((axis.place(0.0), axis.ticks.last().map(|tick| tick.place)), (0.0, Some(1.0)));
        }
    }

    #[test]
    fn seconds() {
        for (end, expected) in [
            (0.0, &["0", "0.2 s", "0.4 s", "0.6 s", "0.8 s", "1 s"][..]),
            (0.001_834, &["0", "0.5 ms", "1 ms", "1.5 ms"]),
            (2.003, &["0", "0.5 s", "1 s", "1.5 s", "2 s"]),
            (10.0, &["0", "2 s", "4 s", "6 s", "8 s", "10 s"]),
            (90.0, &["0", "20 s", "40 s", "60 s", "80 s"]),
            (130.0, &["0", "30 s", "60 s", "90 s", "120 s"]),
            (10_000.0, &["0", "1 h", "2 h"]),
            (9000.0, &["0", "0.5 h", "1 h", "1.5 h", "2 h", "2.5 h"]),
            (600.0, &["0", "2 min", "4 min", "6 min", "8 min", "10 min"]),
            (86_400.0, &["0", "6 h", "12 h", "18 h", "24 h"]),
            (864_000.0, &["0", "50 h", "100 h", "150 h", "200 h"]),
        ] {
            assert_eq!(labels(&Axis::seconds(end, 5)), expected, "{end}");
        }
    }

    #[test]
    fn latencies() {
        for (low, high, expected) in [
            (62e3, 6.9e6, &["50 µs", "100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms", "10 ms"][..]),
            (62e3, 69e6, &["100 µs", "1 ms", "10 ms", "100 ms"]),
            (80.0, 90e9, &["100 ns", "10 µs", "1 ms", "100 ms", "10 s"]),
            (85e3, 85e3, &["50 µs", "60 µs", "80 µs", "100 µs"]),
            (100e3, 100e3, &["100 µs", "105 µs", "110 µs", "115 µs", "120 µs"]),
            (0.0, 0.0, &["1 ns", "1.05 ns", "1.1 ns", "1.15 ns", "1.2 ns"]),
        ] {
            let axis = Axis::latencies_around(low, high, 8);
            assert_eq!(labels(&axis), expected, "{low} to {high}");
            assert!(axis.ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.place)));
            assert!(axis.place(low) <= axis.place(high));
        }
    }

    #[test]
    fn every_scale_is_round_and_in_order() {
        let mut value = 10.0;
        while value < 1e13 {
            for axis in [
                Axis::amounts(value, 5, quantity::round_count),
                Axis::seconds(value / 1e9, 5),
                Axis::latencies_around(value / 1e3, value / 3.0, 6),
                Axis::latencies(value / 1.9, value, 6),
            ] {
                assert!((2..=8).contains(&axis.ticks.len()), "{axis:?}");
                assert!(axis.ticks.windows(2).all(|pair| pair[0].place < pair[1].place), "{axis:?}");
                assert!(axis.ticks.iter().all(|tick| tick.label.chars().count() <= 8), "{axis:?}");
            }
            value *= 1.37;
        }
    }
}
