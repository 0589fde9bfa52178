//! An axis of time with round numbers.

use std::time::Duration;

/// Round moments on an axis of time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Seconds.
    time: f64,
    /// Nanoseconds between two of them.
    step: u64,
}

impl Axis {
    /// An axis of this length with at most so many moments behind the first.
    pub(super) fn new(time: Duration, most: usize) -> Self {
        let time = time.as_secs_f64().max(1e-9);
        let fits = |step: &u64| time * 1e9 / *step as f64 <= most.max(1) as f64;
        let step = steps().find(fits).unwrap_or(u64::MAX);
        Self { time, step }
    }

    /// The moments, as shares of the axis, with what is written at them.
    pub(super) fn marks(&self) -> impl Iterator<Item = (f64, String)> {
        let count = (self.time * 1e9 / self.step as f64) as u64;
        (0..=count).map(|number| {
            let moment = number * self.step;
            (moment as f64 / 1e9 / self.time, self.label(moment))
        })
    }

    fn label(&self, moment: u64) -> String {
        let (unit, name) = match self.step {
            _ if moment == 0 => return "0".to_owned(),
            step if step < MICROSECOND => (1, "ns"),
            step if step < MILLISECOND => (MICROSECOND, "µs"),
            // Beside whole seconds, tenths of them are easier than hundreds of milliseconds.
            step if step < SECOND && self.time < 2.0 => (MILLISECOND, "ms"),
            step if step < MINUTE => (SECOND, "s"),
            step if step < HOUR => (MINUTE, "min"),
            _ => (HOUR, "h"),
        };
        format!("{} {name}", moment as f64 / unit as f64)
    }
}

/// 1, 2 and 5 of each power of ten up to half a minute, then what clocks show; in nanoseconds.
fn steps() -> impl Iterator<Item = u64> {
    let tens = (0..).map(|power| 10_u64.pow(power)).take_while(|ten| *ten <= 10 * SECOND);
    let decimal = tens.flat_map(|ten| [ten, 2 * ten, 5 * ten]).filter(|step| *step < HALF_A_MINUTE);
    let clock = [HALF_A_MINUTE, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE];
    let hours = [1, 2, 6, 12, 24, 48, 96].map(|hours| hours * HOUR);
    decimal.chain(clock).chain(hours)
}

const MICROSECOND: u64 = 1000;
const MILLISECOND: u64 = 1000 * MICROSECOND;
const SECOND: u64 = 1000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const HALF_A_MINUTE: u64 = 30 * SECOND;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_moments() {
        let cases: [(f64, usize, &[&str]); 9] = [
            (0.000_000_5, 5, &["0", "100 ns", "200 ns", "300 ns", "400 ns", "500 ns"]),
            (0.000_123, 4, &["0", "50 µs", "100 µs"]),
            (
                0.93,
                10,
                &["0", "100 ms", "200 ms", "300 ms", "400 ms", "500 ms", "600 ms", "700 ms", "800 ms", "900 ms"],
            ),
            (3.2, 8, &["0", "0.5 s", "1 s", "1.5 s", "2 s", "2.5 s", "3 s"]),
            (92.9, 10, &["0", "10 s", "20 s", "30 s", "40 s", "50 s", "60 s", "70 s", "80 s", "90 s"]),
            (92.9, 3, &["0", "1 min"]),
            (400.0, 8, &["0", "1 min", "2 min", "3 min", "4 min", "5 min", "6 min"]),
            (90_000.0, 5, &["0", "6 h", "12 h", "18 h", "24 h"]),
            (0.0, 5, &["0", "1 ns"]),
        ];
        for (seconds, most, expected) in cases {
            let axis = Axis::new(Duration::from_secs_f64(seconds), most);
            let found: Vec<_> = axis.marks().map(|(_, label)| label).collect();
            assert_eq!(found, expected, "{seconds} s");
            assert!(axis.marks().all(|(share, _)| (0.0..=1.0 + 1e-9).contains(&share)));
        }
    }
}
