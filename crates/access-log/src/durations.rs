//! How long requests take, counted for each route.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow::{AccessLog, Served};

/// How long the requests of each route took, until the last byte of the response was handed to the kernel. Clones count
/// together.
///
/// The number of routes is fixed, so no client can make the counters grow.
#[derive(Clone, Debug, Default)]
pub struct Durations(Arc<[Histogram]>);

/// The requests of a route by their duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DurationCounts {
    /// How many requests took at most so long, and longer than the class before. The last class has no limit.
    pub classes: Vec<(Option<Duration>, u64)>,
    /// How long all of them took together.
    pub sum: Duration,
}

#[derive(Debug, Default)]
struct Histogram {
    classes: [AtomicU64; LIMITS.len() + 1],
    sum_us: AtomicU64,
}

impl Durations {
    /// Counters for so many routes, and for the requests that no route handles.
    #[must_use]
    pub fn new(routes: usize) -> Self {
        Self((0..=routes).map(|_| Histogram::default()).collect())
    }

    /// Counts a request.
    fn count(&self, route: Option<u32>, took: Duration) {
        let last = self.0.len().saturating_sub(1);
        let place = route.map_or(last, |number| last.min(number as usize));
        let Some(histogram) = self.0.get(place) else { return };
        let class = LIMITS.partition_point(|limit| Duration::from_micros(*limit) < took);
        // Relaxed: they are read for statistics only.
        if let Some(class) = histogram.classes.get(class) {
            class.fetch_add(1, Ordering::Relaxed);
        }
        histogram.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// What was counted by now: the routes in the order of their numbers, then the requests without a route. Empty if
    /// nothing is counted.
    #[must_use]
    pub fn counts(&self) -> Vec<DurationCounts> {
        let counts = self.0.iter().map(|histogram| {
            let limits = LIMITS.iter().map(|limit| Some(Duration::from_micros(*limit))).chain([None]);
            let counts = histogram.classes.iter().map(|count| count.load(Ordering::Relaxed));
            let sum = Duration::from_micros(histogram.sum_us.load(Ordering::Relaxed));
            DurationCounts { classes: limits.zip(counts).collect(), sum }
        });
        counts.collect()
    }
}

/// An access log that counts durations, and writes lines if there is a log for them.
pub struct CountingLog<L> {
    durations: Durations,
    lines: Option<L>,
}

impl<L: AccessLog> CountingLog<L> {
    /// Counts here, and writes there.
    #[must_use]
    pub fn new(durations: Durations, lines: Option<L>) -> Self {
        Self { durations, lines }
    }
}

impl<L: AccessLog> AccessLog for CountingLog<L> {
    fn log(&self, served: &Served<'_>) {
        self.durations.count(served.route(), served.took);
        if let Some(lines) = &self.lines {
            lines.log(served);
        }
    }

    fn reads_response(&self) -> bool {
        self.lines.as_ref().is_some_and(AccessLog::reads_response)
    }

    fn reads_route(&self) -> bool {
        true
    }
}

/// Microseconds: the classes that Prometheus' clients have by default, and shorter ones, since files take less.
const LIMITS: [u64; 14] = [
    100, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{self, Example};

    #[test]
    fn requests_are_counted_by_route_and_duration() {
        let durations = Durations::new(2);
        let log = CountingLog::new(durations.clone(), None::<crate::WorkerLog>);
        let example = Example::unix();
        let cases = [
            (Some(0), 0, 0, 0),
            (Some(0), 100, 0, 0),
            (Some(0), 101, 0, 1),
            (Some(1), 10_000_000, 1, 13),
            (Some(1), 10_000_001, 1, 14),
            (Some(7), 3_000, 2, 4),
            (None, 3_000, 2, 4),
        ];
        for (route, micros, _, _) in cases {
            let note = example::note(route);
            log.log(&Served { note: note.as_ref(), took: Duration::from_micros(micros), ..example.served() });
        }
        let counts = durations.counts();
        assert_eq!(counts.len(), 3);
        for (place, route) in counts.iter().enumerate() {
            for (class, (limit, count)) in route.classes.iter().enumerate() {
                let expected = cases.iter().filter(|(.., route, found)| (*route, *found) == (place, class)).count();
                assert_eq!(*count, expected as u64, "{place} {limit:?}");
            }
        }
        assert_eq!(counts[0].sum, Duration::from_micros(201));
        assert_eq!(counts[0].classes.last().map(|(limit, _)| *limit), Some(None));
        assert!(log.reads_route() && !log.reads_response());
        assert!(Durations::default().counts().is_empty());
    }
}
