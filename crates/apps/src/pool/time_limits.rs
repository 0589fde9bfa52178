//! Requests and workers that have exceeded a time limit.

use std::{collections::VecDeque, time::Duration};

use super::{
    Pool, PoolRequest, Ticket,
    worker::{InFlight, Progress, Worker},
};

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Requests that have waited in the queue for longer than this; they are gone with that.
    pub(crate) fn queue_timed_out(&mut self, queue_timeout: Duration, now: Duration) -> Vec<PoolRequest<T>> {
        let overdue = |request: &PoolRequest<T>| now.saturating_sub(request.since) >= queue_timeout;
        // Retried requests are in front of older ones.
        let mut queue_timed_out = Vec::new();
        for waiting in [&mut self.queue, &mut self.held] {
            if waiting.iter().any(overdue) {
                let (late, rest): (VecDeque<_>, VecDeque<_>) = waiting.drain(..).partition(overdue);
                queue_timed_out.extend(late);
                *waiting = rest;
            }
        }
        queue_timed_out
    }

    /// Requests whose responses have not begun within this time, and their workers, which must be notified.
    pub(crate) fn give_up(&mut self, limit: Duration, now: Duration) -> Vec<(W, Ticket, T)> {
        let mut given_up = Vec::new();
        for worker in &mut self.workers {
            let slow = |one: &&mut InFlight<T>| {
                matches!(one.progress, Progress::Awaited | Progress::Abandoned)
                    && now.saturating_sub(one.began) >= limit
            };
            for one in worker.in_flight.iter_mut().filter(slow) {
                (one.progress, one.began) = (Progress::GivenUp, now);
                given_up.push((worker.handle.clone(), one.request.ticket, one.request.content.clone()));
            }
        }
        given_up
    }

    /// Workers that have not cancelled a request within this time.
    pub(crate) fn stuck(&self, limit: Duration, now: Duration) -> Vec<W> {
        let stuck = |one: &InFlight<T>| one.progress == Progress::GivenUp && now.saturating_sub(one.began) >= limit;
        let workers = self.workers.iter().filter(|worker| worker.in_flight.iter().any(stuck));
        workers.map(|worker| worker.handle.clone()).collect()
    }

    /// Workers that have exceeded this limit, and their requests.
    pub(crate) fn overdue(&self, limit: Duration, now: Duration) -> Vec<(W, Vec<T>)> {
        let slow = |one: &&InFlight<T>| now.saturating_sub(one.began) >= limit;
        let overdue = |worker: &Worker<T, W>| -> Vec<T> {
            worker.in_flight.iter().filter(slow).map(|one| one.request.content.clone()).collect()
        };
        let workers = self.workers.iter().map(|worker| (worker.handle.clone(), overdue(worker)));
        workers.filter(|(_, requests)| !requests.is_empty()).collect()
    }
}

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Overdue requests have been looked for at this moment.
    pub(crate) fn note_look(&mut self, now: Duration) {
        self.looked_at = now;
    }

    /// The time until a request can exceed a limit: `queue_timeout` in the queue, `limit` at a worker. Zero if one has exceeded
    /// it since the last look.
    pub(crate) fn time_left(&self, queue_timeout: Duration, limit: Duration, now: Duration) -> Duration {
        // The queue is in order of arrival.
        let waiting = self.queue.iter().map(|request| request.since + queue_timeout).find(|due| *due > self.looked_at);
        let in_flight = self.workers.iter().flat_map(|worker| &worker.in_flight);
        let worked_at = in_flight.filter(|one| one.progress != Progress::GivenUp).map(|one| one.began + limit);
        // Those that were overdue at the last look have been given up.
        let next = worked_at.filter(|due| *due > self.looked_at).chain(waiting).min();
        // New requests have all of their time.
        next.map_or(queue_timeout.min(limit), |due| due.saturating_sub(now).min(queue_timeout).min(limit))
    }
}
