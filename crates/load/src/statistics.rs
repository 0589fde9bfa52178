//! The counts of a thread while it sends.

use std::{
    cell::{Cell, RefCell},
    time::Duration,
};

use serow_net::monotonic;

use crate::{Distribution, Errors};

/// The counts of a thread, of the stretch since they were taken last.
#[derive(Default)]
pub(crate) struct Statistics {
    requests: Cell<u64>,
    bytes: Cell<u64>,
    connections: Cell<u64>,
    sent_again: Cell<u64>,
    errors: Cell<Errors>,
    latencies: RefCell<Distribution>,
    connect_times: RefCell<Distribution>,
    statuses: RefCell<Statuses>,
    /// When the last response was whole.
    last_response: Cell<Duration>,
    /// When the last request was answered or given up.
    last: Cell<Duration>,
}

/// The counts of one thread in a stretch of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) connections: u64,
    pub(crate) sent_again: u64,
    pub(crate) errors: Errors,
    pub(crate) latencies: Distribution,
    pub(crate) connect_times: Distribution,
    /// Pairs of a status and how many responses had it.
    pub(crate) statuses: Vec<(u16, u64)>,
}

/// The error of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Connect,
    Read,
    Write,
    Timeout,
    Protocol,
}

/// Few statuses, the same again and again: found at the first place nearly always.
#[derive(Default)]
struct Statuses(Vec<(u16, u64)>);

impl Statistics {
    /// A whole response.
    #[inline]
    pub(crate) fn note_response(&self, status: u16, latency: Duration, now: Duration) {
        self.requests.set(self.requests.get() + 1);
        self.latencies.borrow_mut().record_duration(latency);
        self.statuses.borrow_mut().count(status);
        self.last_response.set(now);
        self.last.set(now);
        if status >= 400 {
            self.errors.set(Errors { status: self.errors.get().status + 1, ..self.errors.get() });
        }
    }

    /// So many requests without one.
    #[cold]
    pub(crate) fn note_faults(&self, fault: Fault, requests: usize) {
        if requests == 0 {
            return;
        }
        let mut errors = self.errors.get();
        let kind = match fault {
            Fault::Connect => &mut errors.connect,
            Fault::Read => &mut errors.read,
            Fault::Write => &mut errors.write,
            Fault::Timeout => &mut errors.timeout,
            Fault::Protocol => &mut errors.protocol,
        };
        *kind += requests as u64;
        self.errors.set(errors);
        self.last.set(monotonic());
    }

    /// Bytes received.
    #[inline]
    pub(crate) fn note_bytes(&self, bytes: u64) {
        self.bytes.set(self.bytes.get() + bytes);
    }

    /// A connection was opened.
    pub(crate) fn note_connection(&self, time: Duration) {
        self.connections.set(self.connections.get() + 1);
        self.connect_times.borrow_mut().record_duration(time);
    }

    /// A request that the server refused is sent again.
    #[cold]
    pub(crate) fn note_sent_again(&self) {
        self.sent_again.set(self.sent_again.get() + 1);
    }

    /// Responses in this stretch.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// When the last response was whole; zero before any.
    pub(crate) fn last_response(&self) -> Duration {
        self.last_response.get()
    }

    /// When the last request was answered or given up; zero before any.
    pub(crate) fn last(&self) -> Duration {
        self.last.get()
    }

    /// The warm-up is over: of its bytes and connections nothing is kept. Its requests were never counted.
    pub(crate) fn begin(&self) {
        self.bytes.take();
        self.connections.take();
        self.connect_times.take();
    }

    /// Begins a new stretch; what was counted in the one before.
    pub(crate) fn take(&self) -> Stretch {
        Stretch {
            requests: self.requests.take(),
            bytes: self.bytes.take(),
            connections: self.connections.take(),
            sent_again: self.sent_again.take(),
            errors: self.errors.take(),
            latencies: self.latencies.take(),
            connect_times: self.connect_times.take(),
            statuses: self.statuses.take().0,
        }
    }
}

impl Stretch {
    /// Takes in another one.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.connections += other.connections;
        self.sent_again += other.sent_again;
        self.errors = self.errors.with(other.errors);
        self.latencies.merge(&other.latencies);
        self.connect_times.merge(&other.connect_times);
        for (status, count) in &other.statuses {
            match self.statuses.iter_mut().find(|(known, _)| known == status) {
                Some((_, known)) => *known += count,
                None => self.statuses.push((*status, *count)),
            }
        }
    }
}

impl Statuses {
    #[inline]
    fn count(&mut self, status: u16) {
        match self.0.iter_mut().find(|(known, _)| *known == status) {
            Some((_, count)) => *count += 1,
            None => self.0.push((status, 1)),
        }
    }
}
