//! The reports of all threads, put together.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use crate::{
    Distribution, Interval, Plan, Results,
    sender::{End, step},
    statistics::Stretch,
};

/// The reports of all threads so far.
pub(crate) struct Collection {
    /// Steps that not all threads have reported, with the number of those that have.
    open: BTreeMap<usize, (usize, Stretch)>,
    threads: usize,
    step: Duration,
    /// When the first request was due.
    began: Duration,
    all: Stretch,
    rates: Distribution,
    time_series: Vec<Interval>,
    last_response: Duration,
    last: Duration,
    unsent: u64,
    stopped: Option<Duration>,
}

impl Collection {
    pub(crate) fn new(plan: &Plan, began: Duration) -> Self {
        Self {
            open: BTreeMap::new(),
            threads: plan.threads,
            step: step(plan),
            began,
            all: Stretch::default(),
            rates: Distribution::new(),
            time_series: Vec::new(),
            last_response: began,
            last: began,
            unsent: 0,
            stopped: None,
        }
    }

    /// A thread has reported a step.
    pub(crate) fn add(&mut self, number: usize, stretch: &Stretch, watch: &mut impl FnMut(&Interval)) {
        let (reported, open) = self.open.entry(number).or_default();
        *reported += 1;
        open.merge(stretch);
        if *reported == self.threads {
            self.close_until(number, watch);
        }
    }

    /// A thread has sampled its rate.
    pub(crate) fn add_rate(&mut self, rate: u64) {
        self.rates.record(rate);
    }

    /// A thread has ended.
    pub(crate) fn add_end(&mut self, end: &End) {
        self.last_response = self.last_response.max(end.last_response);
        self.last = self.last.max(end.last);
        self.unsent += end.unsent;
        self.stopped = self.stopped.max(end.stopped);
    }

    /// The steps up to this one are over: a thread that has not reported an earlier one has ended before.
    fn close_until(&mut self, number: usize, watch: &mut impl FnMut(&Interval)) {
        while let Some(entry) = self.open.first_entry().filter(|entry| *entry.key() <= number) {
            let (number, (_, stretch)) = entry.remove_entry();
            let interval = self.interval(number, &stretch);
            self.all.merge(&stretch);
            watch(&interval);
            self.time_series.push(interval);
        }
    }

    fn interval(&self, number: usize, stretch: &Stretch) -> Interval {
        let latencies = &stretch.latencies;
        Interval {
            start: self.step * u32::try_from(number).unwrap_or(u32::MAX),
            length: self.step,
            requests: stretch.requests,
            bytes: stretch.bytes,
            errors: stretch.errors.all(),
            median: latencies.percentile(50.0),
            high: latencies.percentile(99.0),
            longest: latencies.most(),
        }
    }

    /// All of it.
    pub(crate) fn into_results(mut self, plan: &Plan, began: SystemTime) -> Results {
        self.close_until(usize::MAX, &mut |_| {});
        let end = match (self.stopped, plan.duration) {
            (Some(stopped), _) => stopped.max(self.last_response),
            // Those who were given up after its end do not make it longer.
            (None, Some(duration)) if plan.count.is_none() => self.last_response.max(self.began + duration),
            (None, _) => self.last,
        };
        let elapsed = end.saturating_sub(self.began);
        if let Some(last) = self.time_series.last_mut() {
            last.length = elapsed.saturating_sub(last.start).clamp(Duration::from_millis(1), self.step);
        }
        let Stretch { requests, bytes, connections, sent_again, errors, latencies, connect_times, statuses } = self.all;
        Results {
            url: String::new(),
            socket: None,
            version: plan.version,
            encryption: None,
            threads: plan.threads,
            connections: plan.connections,
            streams: plan.streams,
            planned_duration: plan.duration,
            planned_rate: plan.rate,
            began,
            elapsed,
            interrupted: self.stopped.is_some(),
            requests,
            bytes,
            statuses: statuses.into_iter().collect(),
            errors,
            unsent: self.unsent,
            sent_again,
            connections_made: connections,
            connect_times,
            latencies,
            thread_rates: self.rates,
            time_series: self.time_series,
        }
    }
}
