//! A worker in the pool: its current requests, and those that were sent ahead.

use std::{collections::VecDeque, time::Duration};

use super::{PoolRequest, RequestTimes, Ticket, WorkerNumber};

/// One worker.
#[derive(Debug)]
pub(super) struct Worker<T, W> {
    pub(super) number: WorkerNumber,
    /// How it is reached.
    pub(super) handle: W,
    /// Requests at a time.
    capacity: usize,
    /// Requests after which it is replaced.
    pub(super) lifetime: Option<u64>,
    pub(super) begun: u64,
    /// How many it had begun when it last collected garbage.
    pub(super) collected: u64,
    pub(super) draining: bool,
    pub(super) in_flight: Vec<InFlight<T>>,
    /// The requests in its socket, in order.
    pub(super) ahead: VecDeque<PoolRequest<T>>,
    /// The duration of requests: slow ones count at once, quick ones after several of them.
    pace: Duration,
    /// When it last became idle: the one that has been idle longest comes first, so all get their share.
    pub(super) idle_since: u64,
}

/// A request that a worker has begun.
#[derive(Debug)]
pub(super) struct InFlight<T> {
    pub(super) request: PoolRequest<T>,
    pub(super) began: Duration,
    pub(super) progress: Progress,
    /// The begin of that progress, or the last piece of a response: time limits count from then.
    pub(super) since: Duration,
}

/// How far a worker is with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The response has not begun.
    Awaited,
    /// The response has begun.
    Streaming,
    /// The response has begun, and the worker waits for a slow client.
    HeldUp,
    /// The application writes the response to a socket of its own.
    Hijacked,
    /// The response is complete, but the worker still has to do with it.
    Answered,
    /// The response is complete, and the worker collects garbage.
    Collecting,
    /// It was cancelled.
    Abandoned,
    /// It timed out.
    GivenUp,
}

impl<T> InFlight<T> {
    pub(super) fn enter(&mut self, progress: Progress, now: Duration) {
        (self.progress, self.since) = (progress, now);
    }

    /// Its times by now.
    pub(super) fn times(&self, now: Duration) -> RequestTimes {
        RequestTimes::of(self.request.since, self.began, now)
    }

    /// Whether anybody waits for the worker.
    pub(super) fn is_awaited(&self) -> bool {
        !matches!(self.progress, Progress::Abandoned | Progress::GivenUp)
    }
}

impl<T, W> Worker<T, W> {
    pub(super) fn new(number: WorkerNumber, handle: W, capacity: usize, lifetime: Option<u64>) -> Self {
        Self {
            number,
            handle,
            capacity: capacity.max(1),
            lifetime,
            begun: 0,
            collected: 0,
            draining: false,
            in_flight: Vec::new(),
            ahead: VecDeque::new(),
            pace: SLOW,
            idle_since: 0,
        }
    }

    /// Whether it begins a new request at once.
    pub(super) fn has_room(&self) -> bool {
        self.in_flight.len() < self.capacity && !self.is_collecting()
    }

    /// Whether one more may be sent ahead: one always, more as long as it gets through all of them [soon](SLOW).
    pub(super) fn has_room_ahead(&self, now: Duration) -> bool {
        match self.ahead.len() {
            0 => !self.is_collecting(),
            MAX_AHEAD.. => false,
            waiting => (self.pace * (waiting as u32 + 1)) < SLOW && !self.is_slow(now),
        }
    }

    /// Whether requests in its socket have waited too long.
    pub(super) fn is_slow(&self, now: Duration) -> bool {
        self.in_flight.first().is_some_and(|one| now.saturating_sub(one.began) >= SLOW)
    }

    /// Whether it has a request, begun or not.
    pub(super) fn has(&self, ticket: Ticket) -> bool {
        self.request(ticket).is_some()
    }

    /// A request that it has, begun or not.
    pub(super) fn request(&self, ticket: Ticket) -> Option<&PoolRequest<T>> {
        let mut all = self.in_flight.iter().map(|one| &one.request).chain(&self.ahead);
        all.find(|request| request.ticket == ticket)
    }

    /// Whether anybody waits for one of its responses, or for what the worker does after it.
    pub(super) fn has_awaited_request(&self) -> bool {
        !self.ahead.is_empty() || self.in_flight.iter().any(InFlight::is_awaited)
    }

    /// Whether anybody waits for one of its responses.
    pub(super) fn has_awaited_response(&self) -> bool {
        let is_over = |one: &InFlight<T>| matches!(one.progress, Progress::Answered | Progress::Collecting);
        !self.ahead.is_empty() || self.in_flight.iter().any(|one| one.is_awaited() && !is_over(one))
    }

    /// It begins a request.
    pub(super) fn begin(&mut self, request: PoolRequest<T>, now: Duration) {
        self.begun += 1;
        self.in_flight.push(InFlight { request, began: now, progress: Progress::Awaited, since: now });
    }

    /// The times of a request by now; `None` where it was finished before, and garbage is collected.
    pub(super) fn times_of(&self, ticket: Ticket, now: Duration) -> Option<RequestTimes> {
        let one = self.in_flight.iter().find(|one| one.request.ticket == ticket)?;
        (one.progress != Progress::Collecting).then(|| one.times(now))
    }

    /// It has finished a request. If that is one that was sent ahead, the two were taken out of order.
    pub(super) fn end(&mut self, ticket: Ticket, now: Duration) {
        if let Some(place) = self.in_flight.iter().position(|one| one.request.ticket == ticket) {
            let ended = self.in_flight.remove(place);
            self.learn(now.saturating_sub(ended.began));
            self.begin_next(now);
        } else {
            self.ahead.retain(|ahead| ahead.ticket != ticket);
        }
    }

    /// This request has been taken back out of its socket.
    pub(super) fn take_back(&mut self, ticket: Ticket, now: Duration) -> Option<PoolRequest<T>> {
        if let Some(place) = self.ahead.iter().position(|request| request.ticket == ticket) {
            return self.ahead.remove(place);
        }
        let place = self.in_flight.iter().position(|one| one.request.ticket == ticket)?;
        let taken = self.in_flight.remove(place).request;
        self.begin_next(now);
        Some(taken)
    }

    fn begin_next(&mut self, now: Duration) {
        if let Some(ahead) = self.ahead.pop_front() {
            self.begin(ahead, now);
        }
    }

    fn learn(&mut self, took: Duration) {
        self.pace = if took > self.pace { took } else { self.pace - (self.pace - took) / 8 };
    }

    pub(super) fn is_collecting(&self) -> bool {
        self.in_flight.iter().any(|one| one.progress == Progress::Collecting)
    }

    /// The request that it has finished stays with it until it has collected garbage.
    pub(super) fn collect(&mut self, now: Duration) {
        self.collected = self.begun;
        self.in_flight.iter_mut().for_each(|one| {
            one.began = now;
            one.enter(Progress::Collecting, now);
        });
    }
}

/// More than so many ahead do not make a worker quicker: it has one in hand while the next ones are sent (bench/apps).
pub(super) const MAX_AHEAD: usize = 4;

/// How long a request may wait in a worker's socket. Taking it back and sending it to another worker costs some ten
/// microseconds; a wait of this length goes unnoticed.
pub(super) const SLOW: Duration = Duration::from_micros(500);
