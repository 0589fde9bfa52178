//! Who has waited, or worked, for too long.

use std::{collections::VecDeque, time::Duration};

use super::{
    Asked, Pool, Ticket,
    worker::{Progress, UnderWay, Worker},
};

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Requests that have waited in the queue for longer than this; they are gone with that.
    pub(crate) fn impatient(&mut self, patience: Duration, now: Duration) -> Vec<Asked<T>> {
        let overdue = |asked: &Asked<T>| now.saturating_sub(asked.since) >= patience;
        // Those that a worker has died with stand before others that came sooner.
        let mut impatient = Vec::new();
        for waiting in [&mut self.queue, &mut self.held] {
            if waiting.iter().any(overdue) {
                let (late, rest): (VecDeque<_>, VecDeque<_>) = waiting.drain(..).partition(overdue);
                impatient.extend(late);
                *waiting = rest;
            }
        }
        impatient
    }

    /// Requests that have waited for their responses to begin for longer than this, and their workers, which are to be told.
    pub(crate) fn give_up(&mut self, limit: Duration, now: Duration) -> Vec<(W, Ticket, T)> {
        let mut given_up = Vec::new();
        for worker in &mut self.workers {
            let slow = |one: &&mut UnderWay<T>| {
                matches!(one.progress, Progress::Awaited | Progress::Abandoned)
                    && now.saturating_sub(one.began) >= limit
            };
            for one in worker.under_way.iter_mut().filter(slow) {
                (one.progress, one.began) = (Progress::GivenUp, now);
                given_up.push((worker.handle.clone(), one.asked.ticket, one.asked.content.clone()));
            }
        }
        given_up
    }

    /// Workers that have been told for longer than this that a request was given up.
    pub(crate) fn stuck(&self, limit: Duration, now: Duration) -> Vec<W> {
        let stuck = |one: &UnderWay<T>| one.progress == Progress::GivenUp && now.saturating_sub(one.began) >= limit;
        let workers = self.workers.iter().filter(|worker| worker.under_way.iter().any(stuck));
        workers.map(|worker| worker.handle.clone()).collect()
    }

    /// Workers that have been at requests for longer than this, and those requests.
    pub(crate) fn overdue(&self, limit: Duration, now: Duration) -> Vec<(W, Vec<T>)> {
        let slow = |one: &&UnderWay<T>| now.saturating_sub(one.began) >= limit;
        let overdue = |worker: &Worker<T, W>| -> Vec<T> {
            worker.under_way.iter().filter(slow).map(|one| one.asked.content.clone()).collect()
        };
        let workers = self.workers.iter().map(|worker| (worker.handle.clone(), overdue(worker)));
        workers.filter(|(_, requests)| !requests.is_empty()).collect()
    }
}

impl<T: Clone, W: Clone> Pool<T, W> {
    /// How long it takes until a request can become overdue: one that waits in the queue after `patience`, one at a worker after
    /// `limit`.
    pub(crate) fn time_left(&self, patience: Duration, limit: Duration, now: Duration) -> Duration {
        // The queue is in the order in which requests came.
        let waiting = self.queue.iter().map(|asked| asked.since + patience).find(|due| *due > now);
        let under_way = self.workers.iter().flat_map(|worker| &worker.under_way);
        let worked_at = under_way.filter(|one| one.progress != Progress::GivenUp).map(|one| one.began + limit);
        // Those that are overdue already have been given up.
        let next = worked_at.filter(|due| *due > now).chain(waiting).min();
        // Those that come from now on have all of their time.
        next.map_or(patience.min(limit), |due| (due - now).min(patience).min(limit))
    }
}
