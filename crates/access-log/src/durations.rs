//! How long requests take, counted for each route.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_message::{AccessLog, Served};

/// How long the requests of each route took, until the last byte of the response was handed to the kernel. Clones count
/// together.
///
/// The number of routes is fixed, so no client can make the counters grow.
#[derive(Clone, Debug, Default)]
pub struct Durations(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// One for each route, and one for the requests that no route handles; 0 where nothing is counted.
    places: usize,
    /// Those of each worker, so that none writes what another one writes.
    workers: Mutex<Vec<Arc<[Histogram]>>>,
}

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
        Self(Arc::new(Shared { places: routes + 1, workers: Mutex::default() }))
    }

    /// Counters for one more worker. They are kept when it ends.
    fn of_worker(&self) -> Arc<[Histogram]> {
        let own: Arc<[Histogram]> = (0..self.0.places).map(|_| Histogram::default()).collect();
        self.workers().push(Arc::clone(&own));
        own
    }

    fn workers(&self) -> MutexGuard<'_, Vec<Arc<[Histogram]>>> {
        self.0.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts up to now: the routes in the order of their numbers, then the requests without a route. Empty if
    /// nothing is counted.
    #[must_use]
    pub fn counts(&self) -> Vec<DurationCounts> {
        let workers = self.workers();
        let of_place = |place: usize| {
            let sum = |count: fn(&Histogram, usize) -> u64, class: usize| -> u64 {
                workers.iter().filter_map(|own| own.get(place)).map(|own| count(own, class)).sum()
            };
            let class = |class| sum(|own, class| own.classes[class].load(Ordering::Relaxed), class);
            let limits = LIMITS.iter().map(|limit| Some(Duration::from_micros(*limit))).chain([None]);
            DurationCounts {
                classes: limits.enumerate().map(|(number, limit)| (limit, class(number))).collect(),
                sum: Duration::from_micros(sum(|own, _| own.sum_us.load(Ordering::Relaxed), 0)),
            }
        };
        (0..self.0.places).map(of_place).collect()
    }
}

impl Histogram {
    fn count(&self, took: Duration) {
        let class = LIMITS.partition_point(|limit| Duration::from_micros(*limit) < took);
        // Relaxed: they are read for statistics only.
        if let Some(class) = self.classes.get(class) {
            class.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// The access log of a worker that counts durations, and writes lines if there is a log for them.
pub struct CountingLog<L> {
    durations: Arc<[Histogram]>,
    lines: Option<L>,
}

impl<L: AccessLog> CountingLog<L> {
    /// Counts here, and writes there.
    #[must_use]
    pub fn new(durations: &Durations, lines: Option<L>) -> Self {
        Self { durations: durations.of_worker(), lines }
    }
}

impl<L: AccessLog> AccessLog for CountingLog<L> {
    fn log(&self, served: &Served<'_>) {
        let last = self.durations.len().saturating_sub(1);
        let place = served.route().map_or(last, |number| last.min(number as usize));
        if let Some(histogram) = self.durations.get(place) {
            histogram.count(served.took);
        }
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
        let log = CountingLog::new(&durations, None::<crate::WorkerLog>);
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

    #[test]
    fn workers_write_counters_of_their_own_and_count_together() {
        let durations = Durations::new(1);
        let logs = [(); 2].map(|()| CountingLog::new(&durations, None::<crate::WorkerLog>));
        assert!(!Arc::ptr_eq(&logs[0].durations, &logs[1].durations));
        let example = Example::unix();
        for log in logs.iter().chain([&logs[0]]) {
            log.log(&Served { note: None, took: Duration::from_micros(7), ..example.served() });
        }
        drop(logs);
        let counts = durations.counts();
        assert_eq!(counts.len(), 2);
        assert_eq!((counts[0].classes[0].1, counts[1].classes[0].1), (0, 3));
        assert_eq!(counts[1].sum, Duration::from_micros(21));
    }
}
