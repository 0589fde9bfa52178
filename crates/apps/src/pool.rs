//! Which worker answers which request: one queue for all workers and threads.
//!
//! Pure: it knows no socket, process or clock. What it says to send, whoever request sends.
//!
//! ```text
//!              a worker is idle          it answers
//!  request ──────────────────────▶ under way ────────▶ finished
//!    │                             ▲   ▲
//!    │ one has room behind         │   │ it begins the next one
//!    │ the one under way           │   │
//!    ├────────────────▶ sent ahead ────┘
//!    │                     │ another worker becomes idle first: taken back
//!    │ no room             ▼
//!    └────────────────▶ queued ────▶ (as above, in order)
//! ```
//!
//! A request is sent ahead so that no worker idles between two of them, and several where a worker gets through them in less time
//! than anybody notices. They are taken back out of the worker's socket as soon as another worker has nothing to do, so no request
//! waits behind a slow one while there is somebody to answer it.

mod held;
mod time_limits;
mod worker;

use std::{collections::VecDeque, time::Duration};

use self::worker::{Progress, Worker};

/// Numbers requests; never given twice within four thousand million.
pub(crate) type Ticket = u32;

/// The number of a worker; never given twice.
pub(crate) type WorkerNumber = u64;

/// A request as the pool knows it.
#[derive(Clone, Debug)]
pub(crate) struct PoolRequest<T> {
    /// Its number.
    pub(crate) ticket: Ticket,
    /// When it came.
    pub(crate) since: Duration,
    /// How many workers have died with it.
    pub(crate) crashes: u8,
    /// What it takes to send it, and who waits for the answer.
    pub(crate) content: T,
}

/// What became of a request that came.
#[derive(Debug)]
pub(crate) enum Placement<T, W> {
    /// It is to be sent to this worker.
    Send(W, T),
    /// It waits.
    Queued,
    /// So many wait that it may not.
    Full(T),
}

/// What became of a request that nobody waits for any more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cancelled<W> {
    /// No worker has seen it.
    Unseen,
    /// It was sent ahead to this worker and may be taken back.
    SentAhead(W),
    /// This worker is at work on it.
    InFlight(W),
    /// It had ended.
    Unknown,
}

/// All workers of an application, reached by a `W` each, and the requests that they have or shall have.
#[derive(Debug)]
pub(crate) struct Pool<T, W> {
    workers: Vec<Worker<T, W>>,
    queue: VecDeque<PoolRequest<T>>,
    /// A worker has died with these, and as long as there is only one other, that is not risked.
    held: VecDeque<PoolRequest<T>>,
    /// How many may wait in the queue.
    max_queued: usize,
    ahead: SendAhead,
    /// After so many requests a worker collects garbage, as soon as nobody waits for it.
    collection: Option<u64>,
    /// When overdue requests were looked for last.
    looked_at: Duration,
}

/// Whether a worker is sent a request before it has room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendAhead {
    /// One, so that it never idles between two requests, or some, where it is quick.
    Some,
    /// None: it has room for so many at once that it never idles.
    None,
}

/// What there is to do after a worker has finished a request.
#[derive(Debug)]
pub(crate) struct NextSteps<T, W> {
    /// The request to send to this worker.
    pub(crate) send: Option<T>,
    /// Whether there is [one more](Pool::next) that can be sent.
    pub(crate) has_next: bool,
    /// Another worker, whose request ahead may be taken back for this one.
    pub(crate) relieve: Option<W>,
    /// It is to leave, and has nothing more to do.
    pub(crate) dismiss: bool,
    /// It is to collect garbage, and to say of this ticket once more that it is finished.
    pub(crate) collect: Option<Ticket>,
}

/// What a worker had when it died.
#[derive(Debug)]
pub(crate) struct Lost<T> {
    /// It may have begun these; the last one was perhaps only sent ahead.
    pub(crate) in_flight: Vec<PoolRequest<T>>,
    /// It has not begun these, unless it had answered those before.
    pub(crate) ahead: VecDeque<PoolRequest<T>>,
}

/// How many requests there are, and workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Workers that take requests.
    pub workers: usize,
    /// Those that have one.
    pub busy: usize,
    /// Requests in the queue.
    pub queued: usize,
}

impl<T: Clone, W: Clone> Pool<T, W> {
    /// A pool whose queue has this many places.
    pub(crate) fn new(max_queued: usize, ahead: SendAhead) -> Self {
        Self {
            workers: Vec::new(),
            queue: VecDeque::new(),
            held: VecDeque::new(),
            max_queued,
            ahead,
            collection: None,
            looked_at: Duration::ZERO,
        }
    }

    /// Workers collect garbage after so many requests, while they and another one are idle.
    pub(crate) fn collect_after(mut self, requests: Option<u32>) -> Self {
        self.collection = requests.map(|requests| u64::from(requests.max(1)));
        self
    }

    /// A worker is ready for requests: so many at a time, and so many in its life.
    pub(crate) fn join(&mut self, number: WorkerNumber, handle: W, capacity: usize, lifetime: Option<u64>) {
        self.workers.push(Worker::new(number, handle, capacity, lifetime));
    }

    /// A request came.
    pub(crate) fn ask(&mut self, request: PoolRequest<T>, now: Duration) -> Placement<T, W> {
        match self.place(request, now) {
            Ok((worker, content)) => Placement::Send(worker, content),
            Err(request) if self.queue.len() >= self.max_queued => Placement::Full(request.content),
            Err(request) => {
                self.queue.push_back(request);
                Placement::Queued
            }
        }
    }

    /// Requests that a worker had are request again, in their order and before all others.
    pub(crate) fn ask_again(&mut self, again: impl IntoIterator<Item = PoolRequest<T>>, now: Duration) -> Vec<(W, T)> {
        let mut again: VecDeque<_> = again.into_iter().collect();
        let mut placed = Vec::new();
        while let Some(request) = again.pop_front() {
            match self.place(request, now) {
                Ok(place) => placed.push(place),
                Err(request) => {
                    again.push_front(request);
                    break;
                }
            }
        }
        again.into_iter().rev().for_each(|request| self.queue.push_front(request));
        placed
    }

    /// The next request of the queue that a worker can take now, for when workers have joined.
    pub(crate) fn next(&mut self, now: Duration) -> Option<(W, T)> {
        let request = self.queue.pop_front()?;
        self.place(request, now).map_err(|request| self.queue.push_front(request)).ok()
    }

    fn place(&mut self, request: PoolRequest<T>, now: Duration) -> Result<(W, T), PoolRequest<T>> {
        let idle = self.workers.iter_mut().filter(|worker| !worker.leaving && worker.has_room());
        if let Some(worker) = idle.min_by_key(|worker| (worker.in_flight.len(), worker.idle_since)) {
            let content = request.content.clone();
            worker.begin(request, now);
            return Ok((worker.handle.clone(), content));
        }
        // What a worker has died with waits behind no other request: there may be one worker less by its turn.
        if self.ahead == SendAhead::None || request.crashes > 0 {
            return Err(request);
        }
        let taking = self.workers.iter_mut().filter(|worker| !worker.leaving && worker.has_room_ahead(now));
        match taking.min_by_key(|worker| worker.ahead.len()) {
            Some(worker) => {
                let content = request.content.clone();
                worker.ahead.push_back(request);
                Ok((worker.handle.clone(), content))
            }
            None => Err(request),
        }
    }

    /// What a worker does for this request; it began it if it was sent ahead.
    pub(crate) fn in_flight(&mut self, number: WorkerNumber, ticket: Ticket) -> Option<T> {
        self.worker(number)?.request(ticket).map(|request| request.content.clone())
    }

    /// The response is complete, but the worker goes on with the request.
    pub(crate) fn answered(&mut self, number: WorkerNumber, ticket: Ticket) {
        self.progress(number, ticket, Progress::Answered);
    }

    /// The response has begun, and there is no limit to how long it takes.
    pub(crate) fn streaming(&mut self, number: WorkerNumber, ticket: Ticket) {
        self.progress(number, ticket, Progress::Streaming);
    }

    fn progress(&mut self, number: WorkerNumber, ticket: Ticket, progress: Progress) {
        let Some(worker) = self.worker(number) else { return };
        if let Some(one) = worker.in_flight.iter_mut().find(|one| one.request.ticket == ticket) {
            one.progress = progress;
        }
    }

    /// A worker has finished a request.
    pub(crate) fn finished(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) -> NextSteps<T, W> {
        let nothing = NextSteps { send: None, has_next: false, relieve: None, dismiss: false, collect: None };
        let Some(place) = self.workers.iter().position(|worker| worker.number == number && worker.has(ticket)) else {
            return nothing;
        };
        if self.may_collect(place) {
            self.workers[place].collect(now);
            return NextSteps { collect: Some(ticket), ..nothing };
        }
        let longest_idle = self.workers.iter().map(|worker| worker.idle_since).max().unwrap_or(0);
        let worker = &mut self.workers[place];
        worker.end(ticket, now);
        if worker.leaving {
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
        // What waits behind a slow request came before what is in the queue.
        if let Some(relieve) = self.relievable(place, now) {
            return NextSteps { relieve: Some(relieve), has_next: !self.queue.is_empty(), ..nothing };
        }
        let Some(next) = self.queue.pop_front() else { return nothing };
        let send = Some(next.content.clone());
        let worker = &mut self.workers[place];
        worker.begin(next, now);
        NextSteps { send, has_next: !self.queue.is_empty() && worker.has_room_ahead(now), ..nothing }
    }

    /// Whether a worker that finishes its only request should collect garbage now: it is due, nobody waits, and another worker
    /// takes what comes meanwhile.
    fn may_collect(&self, place: usize) -> bool {
        let (Some(interval), worker) = (self.collection, &self.workers[place]) else { return false };
        let is_due =
            worker.begun - worker.collected >= interval && worker.in_flight.len() == 1 && worker.ahead.is_empty();
        let is_idle =
            |other: &Worker<T, W>| other.number != worker.number && other.in_flight.is_empty() && !other.leaving;
        !worker.leaving && is_due && self.queue.is_empty() && self.workers.iter().any(is_idle)
    }

    /// A worker with a request ahead, which this one, who is idle, should take: the one that has waited max_queued. As long as
    /// there is a queue, only what waits behind a slow request is worth it.
    fn relievable(&self, place: usize, now: Duration) -> Option<W> {
        let number = self.workers[place].number;
        let others = self.workers.iter().filter(|other| other.number != number);
        let others = others.filter(|other| self.queue.is_empty() || other.is_slow(now));
        let ahead = others.filter_map(|other| other.ahead.front().map(|request| (request.since, other)));
        ahead.min_by_key(|(since, _)| *since).map(|(_, other)| other.handle.clone())
    }

    /// This request has been taken back from a worker. Mostly it is the one that was sent ahead, but where two threads sent
    /// to the worker at once, it may be the other.
    pub(crate) fn taken_back(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) -> Option<PoolRequest<T>> {
        self.worker(number)?.take_back(ticket, now)
    }

    /// Nobody waits for this request any more. One that no worker has seen is gone with that.
    pub(crate) fn forget(&mut self, ticket: Ticket, now: Duration) -> Cancelled<W> {
        for waiting in [&mut self.queue, &mut self.held] {
            if let Some(place) = waiting.iter().position(|request| request.ticket == ticket) {
                waiting.remove(place);
                return Cancelled::Unseen;
            }
        }
        for worker in &mut self.workers {
            if worker.ahead.iter().any(|request| request.ticket == ticket) {
                return Cancelled::SentAhead(worker.handle.clone());
            }
            if let Some(one) = worker.in_flight.iter_mut().find(|one| one.request.ticket == ticket) {
                if one.progress == Progress::Streaming {
                    one.began = now;
                }
                one.progress = Progress::Abandoned;
                return Cancelled::InFlight(worker.handle.clone());
            }
        }
        Cancelled::Unknown
    }

    /// A worker gets no more requests; says whether it has none now that anybody waits for.
    pub(crate) fn retire(&mut self, number: WorkerNumber) -> bool {
        let has_nothing = self.worker(number).is_some_and(|worker| {
            worker.leaving = true;
            !worker.has_awaited_request()
        });
        self.spare_last_worker();
        has_nothing
    }

    /// Whether a worker has a request that anybody waits for.
    pub(crate) fn has_awaited_request(&self, number: WorkerNumber) -> bool {
        self.workers.iter().any(|worker| worker.number == number && worker.has_awaited_request())
    }

    /// Workers that have had as many requests as they may in their lives and get no more. For each of them there is to be
    /// another.
    pub(crate) fn aged(&mut self) -> Vec<WorkerNumber> {
        let aged =
            |worker: &&mut Worker<T, W>| !worker.leaving && worker.lifetime.is_some_and(|most| worker.begun >= most);
        self.workers.iter_mut().filter(aged).map(|worker| worker.number).collect()
    }

    /// The worker that has had most requests, where those are so many at min_requests.
    pub(crate) fn warmest(&self, min_requests: u64) -> Option<WorkerNumber> {
        let staying = self.workers.iter().filter(|worker| !worker.leaving && worker.begun >= min_requests);
        staying.max_by_key(|worker| worker.begun).map(|worker| worker.number)
    }

    /// A worker is gone.
    pub(crate) fn lost(&mut self, number: WorkerNumber) -> Lost<T> {
        let Some(place) = self.workers.iter().position(|worker| worker.number == number) else {
            return Lost { in_flight: Vec::new(), ahead: VecDeque::new() };
        };
        let worker = self.workers.remove(place);
        self.spare_last_worker();
        let unanswered = worker
            .in_flight
            .into_iter()
            .filter(|one| !matches!(one.progress, Progress::Answered | Progress::Collecting));
        Lost { in_flight: unanswered.map(|one| one.request).collect(), ahead: worker.ahead }
    }

    /// Whether this worker is one of them.
    pub(crate) fn has(&self, number: WorkerNumber) -> bool {
        self.workers.iter().any(|worker| worker.number == number)
    }

    /// How many there are.
    pub(crate) fn counts(&self) -> WorkerCounts {
        let taking = || self.workers.iter().filter(|worker| !worker.leaving);
        let busy = taking().filter(|worker| !worker.in_flight.is_empty()).count();
        WorkerCounts { workers: taking().count(), busy, queued: self.queue.len() + self.held.len() }
    }

    fn worker(&mut self, number: WorkerNumber) -> Option<&mut Worker<T, W>> {
        self.workers.iter_mut().find(|worker| worker.number == number)
    }
}

#[cfg(test)]
mod tests;
