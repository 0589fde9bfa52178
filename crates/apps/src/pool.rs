//! Assigns requests to workers: one queue for all workers and threads.
//!
//! Pure: it knows neither sockets nor processes nor clocks. The caller sends the requests that it returns.
//!
//! ```text
//!              a worker is idle          it answers
//!  asked ──────────────────────▶ in flight ────────▶ finished
//!    │                             ▲   ▲
//!    │ one has room behind         │   │ it begins the next one
//!    │ the one in flight           │   │
//!    ├────────────────▶ sent ahead ────┘
//!    │                     │ another worker becomes idle first: taken back
//!    │ no room             ▼
//!    └────────────────▶ queued ────▶ (as above, in order)
//! ```
//!
//! A request is sent ahead so that workers do not idle between two requests; quick workers get several. They are taken
//! back out of the worker's socket as soon as another worker is idle, so no request waits behind a slow one while a
//! worker is free.

mod finished;
mod held;
mod time_limits;
mod worker;

use std::{collections::VecDeque, time::Duration};

pub(crate) use self::time_limits::TimeLimits;
use self::worker::{Progress, Worker};

/// The number of a request; unique among four thousand million.
pub(crate) type Ticket = u32;

/// The number of a worker; unique.
pub(crate) type WorkerNumber = u64;

/// A request in the pool.
#[derive(Clone, Debug)]
pub(crate) struct PoolRequest<T> {
    /// Its number.
    pub(crate) ticket: Ticket,
    /// When it arrived.
    pub(crate) since: Duration,
    /// How many workers have crashed while handling it.
    pub(crate) crashes: u8,
    /// The data for sending it, and the task that waits for the response.
    pub(crate) content: T,
}

/// The placement of a new request.
#[derive(Debug)]
pub(crate) enum Placement<T, W> {
    /// Send it to this worker.
    Send(W, T),
    /// It waits in the queue.
    Queued,
    /// The queue is full.
    Full(T),
}

/// The state of a request at its cancellation.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cancelled<W> {
    /// No worker has seen it.
    Unseen,
    /// It was sent ahead to this worker and may be taken back.
    SentAhead(W),
    /// This worker is handling it.
    InFlight(W),
    /// It had finished.
    Unknown,
}

/// All workers of an application, each reached by a `W`, and their requests.
#[derive(Debug)]
pub(crate) struct Pool<T, W> {
    workers: Vec<Worker<T, W>>,
    queue: VecDeque<PoolRequest<T>>,
    /// A worker has crashed with these; they are not retried while there is only one other worker.
    held: VecDeque<PoolRequest<T>>,
    /// The maximum length of the queue.
    max_queued: usize,
    ahead: SendAhead,
    /// After this many requests, a worker collects garbage as soon as nobody waits for it.
    collection: Option<u64>,
    /// When overdue requests were looked for last.
    looked_at: Duration,
}

/// Whether requests are sent to a busy worker in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendAhead {
    /// One, so that the worker does not idle between two requests; several to quick workers.
    Some,
    /// None: the worker handles many requests at once and does not idle.
    None,
}

/// The steps that follow when a worker has finished a request.
#[derive(Debug)]
pub(crate) struct NextSteps<T, W> {
    /// Send this request to the worker.
    pub(crate) send: Option<T>,
    /// Whether [one more](Pool::next) can be sent.
    pub(crate) has_next: bool,
    /// Take a request back from this other worker.
    pub(crate) relieve: Option<W>,
    /// The worker is retired and has no more requests: let it exit.
    pub(crate) dismiss: bool,
    /// Let the worker collect garbage; it then reports once more that this ticket is finished.
    pub(crate) collect: Option<Ticket>,
    /// The times of the finished request, unless the worker has collected garbage since.
    pub(crate) times: Option<RequestTimes>,
}

/// How long a request has waited for a worker, and how long the worker has had it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestTimes {
    pub(crate) queued: Duration,
    pub(crate) worked: Duration,
}

impl RequestTimes {
    /// The times of a request that came and was begun at these times.
    pub(crate) fn of(since: Duration, began: Duration, now: Duration) -> Self {
        Self { queued: began.saturating_sub(since), worked: now.saturating_sub(began) }
    }
}

/// The requests of a worker that is gone.
#[derive(Debug)]
pub(crate) struct Lost<T> {
    /// It may have begun these, and when; the last one was perhaps only sent ahead.
    pub(crate) in_flight: Vec<(PoolRequest<T>, Duration)>,
    /// It has not begun these, unless it had finished those before.
    pub(crate) ahead: VecDeque<PoolRequest<T>>,
}

/// The numbers of workers and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Workers that accept requests.
    pub workers: usize,
    /// Those that handle one.
    pub busy: usize,
    /// Requests that no worker has begun: those in the queue, and those sent ahead to busy workers.
    pub queued: usize,
}

impl<T: Clone, W: Clone> Pool<T, W> {
    /// A pool with this maximum length of the queue.
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

    /// Lets idle workers collect garbage after this many requests, while another worker is idle, too.
    pub(crate) fn collect_after(mut self, requests: Option<u32>) -> Self {
        self.collection = requests.map(|requests| u64::from(requests.max(1)));
        self
    }

    /// A worker is ready: for this many requests at a time, and this many in its lifetime.
    pub(crate) fn join(&mut self, number: WorkerNumber, handle: W, capacity: usize, lifetime: Option<u64>) {
        self.workers.push(Worker::new(number, handle, capacity, lifetime));
    }

    /// Places a new request.
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

    /// Places requests of a lost worker again, in their order and before all others.
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

    /// The next queued request that a worker can take, after workers have joined.
    pub(crate) fn next(&mut self, now: Duration) -> Option<(W, T)> {
        let request = self.queue.pop_front()?;
        self.place(request, now).map_err(|request| self.queue.push_front(request)).ok()
    }

    fn place(&mut self, request: PoolRequest<T>, now: Duration) -> Result<(W, T), PoolRequest<T>> {
        let idle = self.workers.iter_mut().filter(|worker| !worker.draining && worker.has_room());
        if let Some(worker) = idle.min_by_key(|worker| (worker.in_flight.len(), worker.idle_since)) {
            let content = request.content.clone();
            worker.begin(request, now);
            return Ok((worker.handle.clone(), content));
        }
        // A request that a worker has crashed with is never sent ahead: by its turn there may be one worker less.
        if self.ahead == SendAhead::None || request.crashes > 0 {
            return Err(request);
        }
        let taking = self.workers.iter_mut().filter(|worker| !worker.draining && worker.has_room_ahead(now));
        match taking.min_by_key(|worker| worker.ahead.len()) {
            Some(worker) => {
                let content = request.content.clone();
                worker.ahead.push_back(request);
                Ok((worker.handle.clone(), content))
            }
            None => Err(request),
        }
    }

    /// The request with this ticket; it may have been sent ahead.
    pub(crate) fn in_flight(&mut self, number: WorkerNumber, ticket: Ticket) -> Option<T> {
        self.worker(number)?.request(ticket).map(|request| request.content.clone())
    }

    /// The times of a request by now, if a worker has begun it.
    pub(crate) fn times(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) -> Option<RequestTimes> {
        self.worker(number)?.times_of(ticket, now)
    }

    /// The requests that workers have begun and that are not answered, each with its worker and the time since then;
    /// those that take longest come first.
    pub(crate) fn running(&self, now: Duration) -> Vec<(W, T, Duration)> {
        let mut running: Vec<_> = self
            .workers
            .iter()
            .flat_map(|worker| worker.in_flight.iter().map(|one| (&worker.handle, one)))
            .filter(|(_, one)| !matches!(one.progress, Progress::Answered | Progress::Collecting))
            .map(|(handle, one)| (handle.clone(), one.request.content.clone(), now.saturating_sub(one.began)))
            .collect();
        running.sort_by_key(|(.., took)| std::cmp::Reverse(*took));
        running
    }

    /// The response is complete, but the worker is still busy with the request.
    pub(crate) fn answered(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) {
        self.progress(number, ticket, Progress::Answered, now);
    }

    /// A response has begun, or goes on.
    pub(crate) fn stream(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) {
        self.progress(number, ticket, Progress::Streaming, now);
    }

    /// The worker has to wait for the client.
    pub(crate) fn hold_up(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) {
        self.progress(number, ticket, Progress::HeldUp, now);
    }

    /// The application writes the response to a socket of its own.
    pub(crate) fn hijack(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) {
        self.progress(number, ticket, Progress::Hijacked, now);
    }

    /// Nothing revives a request that was given up, or whose client has left.
    fn progress(&mut self, number: WorkerNumber, ticket: Ticket, progress: Progress, now: Duration) {
        let Some(worker) = self.worker(number) else { return };
        let awaited = worker.in_flight.iter_mut().find(|one| one.request.ticket == ticket && one.is_awaited());
        if let Some(one) = awaited {
            one.enter(progress, now);
        }
    }

    /// Records that a request was taken back from a worker. Usually it is the one that was sent ahead, but if two
    /// threads sent to the worker at the same time, it may be the other one.
    pub(crate) fn taken_back(&mut self, number: WorkerNumber, ticket: Ticket, now: Duration) -> Option<PoolRequest<T>> {
        self.worker(number)?.take_back(ticket, now)
    }

    /// Cancels a request. If no worker has seen it, it is removed.
    pub(crate) fn cancel(&mut self, ticket: Ticket, now: Duration) -> Cancelled<W> {
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
                match one.progress {
                    // Its time goes on.
                    Progress::Awaited => one.progress = Progress::Abandoned,
                    Progress::Streaming | Progress::HeldUp | Progress::Hijacked => one.enter(Progress::Abandoned, now),
                    Progress::Answered | Progress::Collecting | Progress::Abandoned | Progress::GivenUp => {}
                }
                return Cancelled::InFlight(worker.handle.clone());
            }
        }
        Cancelled::Unknown
    }

    /// Retires a worker: it gets no more requests. Returns whether nobody waits for a response of it, so that it may exit:
    /// a server that stops reads no more of the worker's messages after the last response.
    pub(crate) fn retire(&mut self, number: WorkerNumber) -> bool {
        let has_nothing = self.worker(number).is_some_and(|worker| {
            worker.draining = true;
            !worker.has_awaited_response()
        });
        self.spare_last_worker();
        has_nothing
    }

    /// Retires all workers, before others join in their place.
    pub(crate) fn retire_all(&mut self) {
        self.workers.iter_mut().for_each(|worker| worker.draining = true);
    }

    /// Whether anybody waits for a request of this worker.
    pub(crate) fn has_awaited_request(&self, number: WorkerNumber) -> bool {
        self.workers.iter().any(|worker| worker.number == number && worker.has_awaited_request())
    }

    /// Workers that have reached their maximum number of requests. Each of them is to be replaced.
    pub(crate) fn aged(&mut self) -> Vec<WorkerNumber> {
        let aged =
            |worker: &&mut Worker<T, W>| !worker.draining && worker.lifetime.is_some_and(|most| worker.begun >= most);
        self.workers.iter_mut().filter(aged).map(|worker| worker.number).collect()
    }

    /// The worker that has handled the most requests, if at least this many.
    pub(crate) fn warmest(&self, min_requests: u64) -> Option<WorkerNumber> {
        let staying = self.workers.iter().filter(|worker| !worker.draining && worker.begun >= min_requests);
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
            .filter(|one| !matches!(one.progress, Progress::Answered | Progress::Hijacked | Progress::Collecting));
        Lost { in_flight: unanswered.map(|one| (one.request, one.began)).collect(), ahead: worker.ahead }
    }

    /// Whether this worker is in the pool.
    pub(crate) fn has(&self, number: WorkerNumber) -> bool {
        self.workers.iter().any(|worker| worker.number == number)
    }

    /// The numbers of workers and requests.
    pub(crate) fn counts(&self) -> WorkerCounts {
        let taking = || self.workers.iter().filter(|worker| !worker.draining);
        let busy = taking().filter(|worker| !worker.in_flight.is_empty()).count();
        let ahead: usize = self.workers.iter().map(|worker| worker.ahead.len()).sum();
        WorkerCounts { workers: taking().count(), busy, queued: self.queue.len() + self.held.len() + ahead }
    }

    fn worker(&mut self, number: WorkerNumber) -> Option<&mut Worker<T, W>> {
        self.workers.iter_mut().find(|worker| worker.number == number)
    }
}

#[cfg(test)]
mod tests;
