//! The events of a run, as clients, servers and the log see them.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fmt::Write as _,
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};

use serow::{AccessLog, Served};

use crate::plan::Id;

/// Everything that happened.
#[derive(Debug, Default)]
pub(crate) struct Observations {
    /// Requests, as their clients know them.
    pub(crate) requests: RefCell<BTreeMap<Id, Requested>>,
    /// The requests that have reached servers, in order.
    pub(crate) seen: RefCell<Vec<Seen>>,
    /// When clients that stayed saw the end of their connection.
    pub(crate) closed: RefCell<BTreeMap<usize, Duration>>,
    /// Violations that are evident without a comparison of observations.
    pub(crate) violations: RefCell<Vec<String>>,
    /// Lines for people who read the trace.
    trace: RefCell<String>,
    is_traced: Cell<bool>,
    pub(crate) log: Arc<Mutex<Vec<Line>>>,
}

/// A request, as its client knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requested {
    /// When its first byte was sent.
    pub(crate) began: Option<Duration>,
    /// When its last byte was sent.
    pub(crate) sent: Option<Duration>,
    pub(crate) received: Received,
    pub(crate) end: Option<(End, Duration)>,
}

/// A response, as far as it has come.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    pub(crate) hints: usize,
    pub(crate) status: Option<u16>,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// How an exchange ended for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The response is whole.
    Whole,
    /// The connection ended in order, before the response was whole.
    Closed,
    /// The connection was reset, before the response was whole.
    Reset,
    /// The stream was reset with this code of HTTP/2.
    StreamReset(u32),
    /// The client has left.
    Left,
    /// It was not sent: the connection had ended.
    Unsent,
}

/// A request, as a server sees it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) id: Id,
    /// The attempt, from 0.
    pub(crate) attempt: usize,
    /// Whether its connection had requests before.
    pub(crate) is_reused: bool,
    pub(crate) method: String,
    pub(crate) body: Vec<u8>,
    pub(crate) is_whole: bool,
    pub(crate) at: Duration,
}

/// A line of the access log.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) id: Option<Id>,
    pub(crate) status: u16,
}

impl Received {
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }
}

impl Observations {
    pub(crate) fn new(is_traced: bool) -> Rc<Self> {
        let observations = Self::default();
        observations.is_traced.set(is_traced);
        Rc::new(observations)
    }

    /// Changes what is known of a request.
    pub(crate) fn note(&self, id: Id, change: impl FnOnce(&mut Requested)) {
        change(self.requests.borrow_mut().entry(id).or_default());
    }

    /// Whether a request was not sent to its end.
    pub(crate) fn is_unsent(&self, id: Id) -> bool {
        self.requests.borrow().get(&id).is_none_or(|requested| requested.sent.is_none())
    }

    /// Notes how a request ended; the first end counts.
    pub(crate) fn end(&self, id: Id, end: End) {
        self.note(id, |requested| {
            requested.end.get_or_insert((end, now()));
        });
        self.trace(|| format!("client {id}: {end:?}"));
    }

    pub(crate) fn trace(&self, line: impl FnOnce() -> String) {
        if self.is_traced.get() {
            let (time, line) = (now(), line());
            let _ = writeln!(self.trace.borrow_mut(), "{:9.3} {line}", time.as_secs_f64() * 1_000.0);
        }
    }

    pub(crate) fn violate(&self, violation: String) {
        self.trace(|| format!("VIOLATION {violation}"));
        self.violations.borrow_mut().push(violation);
    }

    pub(crate) fn take_trace(&self) -> String {
        self.trace.take()
    }
}

/// The time since the run began.
pub(crate) fn now() -> Duration {
    serow_net::monotonic().saturating_sub(BEGIN)
}

/// As the simulated clock begins.
const BEGIN: Duration = Duration::from_secs(1000);

/// An access log that is kept in memory.
pub(crate) struct KeptLog(pub(crate) Arc<Mutex<Vec<Line>>>);

impl AccessLog for KeptLog {
    fn log(&self, served: &Served<'_>) {
        let id = served.request.and_then(|head| head.headers.get("x-id"));
        let id = id.and_then(|id| std::str::from_utf8(id).ok()?.parse().ok());
        let line = Line { id, status: served.status.as_u16() };
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(line);
    }
}
