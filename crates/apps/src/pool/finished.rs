//! The next steps when a worker has finished a request.

use std::time::Duration;

use super::{NextSteps, Pool, Ticket, WorkerNumber, worker::Worker};

impl<T: Clone, W: Clone> Pool<T, W> {
    /// A worker has finished a request.
    pub(crate) fn finished(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) -> NextSteps<T, W> {
        let nothing =
            NextSteps { send: None, has_next: false, relieve: None, dismiss: false, collect: None, times: None };
        let Some(place) = self.workers.iter().position(|worker| worker.number == number && worker.has(ticket)) else {
            return nothing;
        };
        let nothing = NextSteps { times: self.workers[place].times_of(ticket, now), ..nothing };
        if self.may_collect(place) {
            self.workers[place].collect(now);
            return NextSteps { collect: Some(ticket), ..nothing };
        }
        let longest_idle = self.workers.iter().map(|worker| worker.idle_since).max().unwrap_or(0);
        let worker = &mut self.workers[place];
        worker.end(ticket, now);
        if worker.draining {
            return NextSteps { dismiss: worker.in_flight.is_empty(), ..nothing };
        }
        if !worker.has_room() {
            let may_wait = self.queue.front().is_some_and(|next| next.crashes == 0);
            let next = if may_wait && worker.has_room_ahead(now) { self.queue.pop_front() } else { None };
            let send = next.as_ref().map(|next| next.content.clone());
            worker.ahead.extend(next);
            return NextSteps { send, has_next: !self.queue.is_empty() && worker.has_room_ahead(now), ..nothing };
        }
        worker.idle_since = longest_idle + 1;
        // Requests behind a slow one arrived before those in the queue.
        if let Some(relieve) = self.relievable(place, now) {
            return NextSteps { relieve: Some(relieve), has_next: !self.queue.is_empty(), ..nothing };
        }
        let Some(next) = self.queue.pop_front() else { return nothing };
        let send = Some(next.content.clone());
        let worker = &mut self.workers[place];
        worker.begin(next, now);
        NextSteps { send, has_next: !self.queue.is_empty() && worker.has_room_ahead(now), ..nothing }
    }

    /// Whether a worker that finishes its only request should collect garbage now: it is due, nobody waits, and another
    /// worker is idle.
    fn may_collect(&self, place: usize) -> bool {
        let (Some(interval), worker) = (self.collection, &self.workers[place]) else { return false };
        let is_due =
            worker.begun - worker.collected >= interval && worker.in_flight.len() == 1 && worker.ahead.is_empty();
        let is_idle =
            |other: &Worker<T, W>| other.number != worker.number && other.in_flight.is_empty() && !other.draining;
        !worker.draining && is_due && self.queue.is_empty() && self.workers.iter().any(is_idle)
    }

    /// Another worker with a request ahead that this idle one should take: the one whose request has waited longest.
    /// While there is a queue, only requests behind a slow one are taken back.
    fn relievable(&self, place: usize, now: Duration) -> Option<W> {
        let number = self.workers[place].number;
        let others = self.workers.iter().filter(|other| other.number != number);
        let others = others.filter(|other| self.queue.is_empty() || other.is_slow(now));
        let ahead = others.filter_map(|other| other.ahead.front().map(|request| (request.since, other)));
        ahead.min_by_key(|(since, _)| *since).map(|(_, other)| other.handle.clone())
    }
}
