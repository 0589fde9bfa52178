//! Requests and workers that have exceeded a time limit.

use std::{collections::VecDeque, time::Duration};

use super::{
    Pool, PoolRequest, Ticket,
    worker::{InFlight, Progress, Worker},
};

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// In the queue.
    pub(crate) queue: Duration,
    /// At a worker, until the response begins, and behind its end.
    pub(crate) response: Duration,
    /// Between two pieces of a response; `None` where an event loop waits for the next one, which blocks nothing.
    pub(crate) silence: Option<Duration>,
    /// From the end of a request's time until its worker is killed.
    pub(crate) kill_after: Duration,
    /// Whether the worker is killed earlier, as soon as nobody waits for its other requests: a thread cannot be
    /// interrupted, as an event loop can.
    pub(crate) kill_when_unawaited: bool,
}

impl TimeLimits {
    /// The moment at which a request exceeds a limit.
    fn due<T>(&self, one: &InFlight<T>) -> Option<Duration> {
        let limit = match one.progress {
            Progress::Awaited | Progress::Answered | Progress::Collecting | Progress::Abandoned => Some(self.response),
            Progress::Streaming => self.silence,
            Progress::HeldUp | Progress::Hijacked => None,
            Progress::GivenUp => Some(self.kill_after),
        };
        limit.map(|limit| one.since + limit)
    }
}

impl<T: Clone, W: Clone> Pool<T, W> {
    /// Requests that have waited in the queue for too long; they are gone with that.
    pub(crate) fn queue_timed_out(&mut self, limits: &TimeLimits, now: Duration) -> Vec<PoolRequest<T>> {
        let overdue = |request: &PoolRequest<T>| now.saturating_sub(request.since) >= limits.queue;
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

    /// Gives up requests that workers have had for too long; returns them with their workers.
    pub(crate) fn give_up(&mut self, limits: &TimeLimits, now: Duration) -> Vec<(W, Ticket, T)> {
        let mut given_up = Vec::new();
        for worker in &mut self.workers {
            let is_overdue = |one: &&mut InFlight<T>| {
                one.progress != Progress::GivenUp && limits.due(one).is_some_and(|due| due <= now)
            };
            for one in worker.in_flight.iter_mut().filter(is_overdue) {
                one.enter(Progress::GivenUp, now);
                given_up.push((worker.handle.clone(), one.request.ticket, one.request.content.clone()));
            }
        }
        given_up
    }

    /// Workers that are to be killed, since they still have requests that were given up.
    pub(crate) fn stuck(&self, limits: &TimeLimits, now: Duration) -> Vec<W> {
        let is_stuck = |worker: &&Worker<T, W>| {
            let mut given_up = worker.in_flight.iter().filter(|one| one.progress == Progress::GivenUp).peekable();
            let spares = !limits.kill_when_unawaited || worker.has_awaited_request();
            given_up.peek().is_some() && (!spares || given_up.any(|one| one.since + limits.kill_after <= now))
        };
        self.workers.iter().filter(is_stuck).map(|worker| worker.handle.clone()).collect()
    }

    /// Overdue requests have been looked for at this moment.
    pub(crate) fn note_look(&mut self, now: Duration) {
        self.looked_at = now;
    }

    /// The time until a request can exceed a limit. Zero if one has exceeded it since the last look.
    pub(crate) fn time_left(&self, limits: &TimeLimits, now: Duration) -> Duration {
        // The queue is in order of arrival.
        let waiting = self.queue.iter().map(|request| request.since + limits.queue).find(|due| *due > self.looked_at);
        let in_flight = self.workers.iter().flat_map(|worker| &worker.in_flight);
        // Those that were overdue at the last look have been given up.
        let at_workers = in_flight.filter_map(|one| limits.due(one)).filter(|due| *due > self.looked_at);
        // New requests have all of their time.
        let most = limits.queue.min(limits.response).min(limits.silence.unwrap_or(Duration::MAX));
        at_workers.chain(waiting).min().map_or(most, |due| due.saturating_sub(now).min(most))
    }
}
