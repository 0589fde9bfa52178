//! The time series of a run in as many columns as can be distinguished in a chart.

use crate::Interval;

/// All of it.
pub(super) struct Columns {
    /// The columns, in order.
    pub(super) columns: Vec<Column>,
    /// How many intervals each of them is made of.
    pub(super) together: usize,
}

/// One or more intervals that are drawn as one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    /// When it begins, in seconds from the beginning of the run.
    pub(super) start: f64,
    /// When it ends.
    pub(super) end: f64,
    /// Responses.
    pub(super) requests: u64,
    /// Errors.
    pub(super) errors: u64,
    /// The smallest number of responses each second of all the intervals.
    pub(super) slowest: f64,
    /// The largest.
    pub(super) fastest: f64,
    /// The latencies, if there were responses.
    pub(super) latencies: Option<Latencies>,
}

/// Latencies in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Latencies {
    /// The middle one of the medians, each as often as there were responses.
    pub(super) median: u64,
    /// The largest of those that 99 % do not exceed.
    pub(super) high: u64,
    /// The longest.
    pub(super) longest: u64,
}

impl Column {
    /// Responses each second.
    pub(super) fn rate(&self) -> f64 {
        self.per_second(self.requests)
    }

    /// Errors each second.
    pub(super) fn error_rate(&self) -> f64 {
        self.per_second(self.errors)
    }

    fn per_second(&self, count: u64) -> f64 {
        let length = self.end - self.start;
        if length > 0.0 { count as f64 / length } else { 0.0 }
    }

    fn of(intervals: &[Interval]) -> Option<Self> {
        let (first, last) = (intervals.first()?, intervals.last()?);
        // A short last interval says little about how many there were each second.
        let long = intervals.iter().filter(|interval| interval.length >= first.length / 2);
        let rates: Vec<_> = long.map(Interval::requests_per_second).collect();
        Some(Self {
            start: first.start.as_secs_f64(),
            end: (last.start + last.length).as_secs_f64(),
            requests: intervals.iter().map(|interval| interval.requests).sum(),
            errors: intervals.iter().map(|interval| interval.errors).sum(),
            slowest: rates.iter().copied().fold(f64::INFINITY, f64::min),
            fastest: rates.iter().copied().fold(0.0, f64::max),
            latencies: Latencies::of(intervals),
        })
    }
}

impl Latencies {
    fn of(intervals: &[Interval]) -> Option<Self> {
        let mut answered: Vec<_> = intervals.iter().filter(|interval| interval.requests > 0).collect();
        answered.sort_unstable_by_key(|interval| interval.median);
        let requests: u64 = answered.iter().map(|interval| interval.requests).sum();
        let mut counted = 0;
        let middle = answered.iter().find(|interval| {
            counted += interval.requests;
            counted * 2 >= requests
        });
        Some(Self {
            median: middle?.median,
            high: answered.iter().map(|interval| interval.high).max()?,
            longest: answered.iter().map(|interval| interval.longest).max()?,
        })
    }
}

impl Columns {
    /// The time series in at most so many columns; a last interval that is much shorter than the others is put to the
    /// one before.
    pub(super) fn of(time_series: &[Interval], most: usize) -> Self {
        let whole = match time_series {
            [first, .., last] if last.length < first.length / 2 => time_series.len() - 1,
            _ => time_series.len(),
        };
        let together = whole.div_ceil(most.max(1)).max(1);
        let number = whole.div_ceil(together);
        let pieces = (0..number).map(|column| {
            let end = if column + 1 == number { time_series.len() } else { (column + 1) * together };
            time_series.get(column * together..end).unwrap_or_default()
        });
        Self { columns: pieces.filter_map(Column::of).collect(), together }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn time_series(lengths: &[u64]) -> Vec<Interval> {
        let mut start = Duration::ZERO;
        let interval = |(number, length): (usize, &u64)| {
            let length = Duration::from_millis(*length);
            let latency = number as u64 + 1;
            let interval = Interval {
                start,
                length,
                requests: (number as u64 % 2) * 100,
                bytes: 0,
                errors: 1,
                median: latency,
                high: 10 * latency,
                longest: 100 * latency,
            };
            start += length;
            interval
        };
        lengths.iter().enumerate().map(interval).collect()
    }

    fn columns(lengths: &[u64], most: usize) -> Vec<Column> {
        Columns::of(&time_series(lengths), most).columns
    }

    #[test]
    fn intervals_are_put_together() {
        let found = columns(&[100, 100, 100, 100, 100, 7], 3);
        assert_eq!(found.len(), 3);
        let ends: Vec<_> = found.iter().map(|column| (column.end * 1000.0).round()).collect();
        assert_eq!(ends, [200.0, 400.0, 507.0]);
        assert_eq!(found.iter().map(|column| column.requests).sum::<u64>(), 300);
        assert_eq!(found.iter().map(|column| column.errors).sum::<u64>(), 6);
        let second = found[1];
        assert_eq!((second.rate().round(), second.slowest, second.fastest), (500.0, 0.0, 1000.0));
        assert_eq!(second.latencies, Some(Latencies { median: 4, high: 40, longest: 400 }));
        // The rate of the leftover, 100 in 7 ms, is not taken for one.
        assert_eq!(found[2].fastest, 0.0);
    }

    #[test]
    fn few_and_none() {
        assert_eq!(columns(&[], 10), []);
        let single = columns(&[3], 10);
        assert_eq!((single.len(), single[0].latencies), (1, None));
        assert_eq!(columns(&[100, 100, 60], 10).len(), 3);
        assert_eq!(columns(&[100, 7], 10).len(), 1);
        for (lengths, together) in [(&[][..], 1), (&[100; 10], 1), (&[100; 11], 2), (&[100; 31], 4)] {
            assert_eq!(Columns::of(&time_series(lengths), 10).together, together);
        }
        // A leftover makes no difference.
        let mut lengths = [100; 11];
        lengths[10] = 1;
        let columns = Columns::of(&time_series(&lengths), 10);
        assert_eq!((columns.columns.len(), columns.together), (10, 1));
    }

    #[test]
    fn medians_count_as_often_as_there_were_responses() {
        let mut time_series = time_series(&[100, 100, 100]);
        for (interval, (requests, median)) in time_series.iter_mut().zip([(1000, 50), (900, 40), (2, 9000)]) {
            (interval.requests, interval.median) = (requests, median);
        }
        assert_eq!(Latencies::of(&time_series).map(|latencies| latencies.median), Some(50));
    }

    #[test]
    fn a_hundred_thousand() {
        let found = columns(&[100; 100_000], 240);
        assert!((200..=240).contains(&found.len()), "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(found.iter().map(|column| column.requests).sum::<u64>(), 5_000_000);
        assert_eq!(found.last().map(|column| column.end), Some(10_000.0));
    }
}
