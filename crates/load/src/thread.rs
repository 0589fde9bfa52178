//! The state that the connections of one thread share.

use std::{
    cell::{Cell, OnceCell, RefCell},
    rc::Rc,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_client::{ClientError, DialError, Dialer, Http3, Http3Dialer};
use serow_net::{Buffers, Deadline, Deadlines, Wire, monotonic};
use tokio::{
    sync::{Notify, Semaphore},
    time::sleep,
};

use crate::{
    Batch, LoadError, Plan,
    schedule::{Moments, Schedule},
    source::{Kept, Source},
    statistics::{Fault, Statistics},
};

/// The state that the connections of one thread share, by `Rc`.
pub(crate) struct Thread {
    pub(crate) plan: Plan,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) deadlines: Deadlines,
    pub(crate) statistics: Statistics,
    pub(crate) schedule: Schedule,
    source: RefCell<Source>,
    /// Whether a script wants to see the responses.
    pub(crate) keeps_responses: bool,
    /// Whether a script wants to wait before each request.
    pub(crate) delays: bool,
    dialer: Dialer,
    /// Once there was a connection of HTTP/3.
    http3_dialer: OnceCell<Http3Dialer>,
    shared: Arc<RunState>,
    /// Connections being opened: more at once only make the backlog overflow.
    opening: Semaphore,
    failure: RefCell<Option<LoadError>>,
    /// Connections that still send.
    active: Cell<usize>,
    pub(crate) finished: Notify,
    /// Whether nothing more is sent at all, not even what may be.
    ended: Cell<bool>,
    ending: Notify,
}

/// The state that all threads share.
#[derive(Debug, Default)]
pub(crate) struct RunState {
    /// How many requests may still be sent, where that is limited.
    left: Option<Arc<AtomicU64>>,
    /// Whether the server has given a response that is one.
    answered: AtomicBool,
    /// Whether the run is to end now.
    stopped: AtomicBool,
    /// When the first request is due.
    start: OnceLock<Duration>,
}

impl Thread {
    /// To be made on its thread. `number` says which of the threads it is.
    pub(crate) fn new(
        plan: &Plan,
        dialer: Dialer,
        source: Source,
        shared: Arc<RunState>,
        number: usize,
        start: Duration,
    ) -> Self {
        let schedule = match plan.rate {
            None => Schedule::unplanned(shared.left.clone()),
            Some(rate) => {
                // The threads take turns: the moments of all together have equal distances.
                let offset = Duration::from_secs_f64(number as f64 / rate);
                let counted = start + plan.warm_up;
                let moments = Moments {
                    start: start + offset,
                    per_second: rate / plan.threads as f64,
                    counted,
                    end: plan.duration.map(|duration| counted + duration),
                };
                Schedule::planned(moments, shared.left.clone())
            }
        };
        Self {
            buffers: Rc::new(Buffers::new()),
            deadlines: Deadlines::new(),
            statistics: Statistics::default(),
            schedule,
            keeps_responses: source.wants_responses(),
            delays: source.has_delay(),
            source: RefCell::new(source),
            dialer,
            http3_dialer: OnceCell::new(),
            shared,
            opening: Semaphore::new(OPENED_AT_ONCE),
            failure: RefCell::new(None),
            active: Cell::new(0),
            finished: Notify::new(),
            ended: Cell::new(false),
            ending: Notify::new(),
            plan: plan.clone(),
        }
    }

    /// A response may take as long as the plan says from now on. Whether it is a second or a quarter more matters to
    /// nobody, and a look at the clock for each request would.
    pub(crate) fn begin_timeout(&self, deadline: &Deadline) {
        match self.plan.timeout {
            short if short < Duration::from_secs(1) => deadline.set(short),
            long => deadline.set_roughly(long),
        }
    }

    /// The next requests to send; `None` at the end.
    #[inline]
    pub(crate) fn next_batch(&self) -> Option<Rc<Batch>> {
        let next = self.source.borrow_mut().next();
        next.unwrap_or_else(|failure| {
            self.fail(failure);
            None
        })
    }

    /// Waits as long as the script wants to before the next request; says whether it is to be sent then.
    pub(crate) async fn delay(&self) -> bool {
        let delay = self.source.borrow_mut().delay();
        match delay {
            Ok(time) if !self.ended.get() => tokio::select! {
                () = sleep(time) => true,
                () = self.ending.notified() => false,
            },
            Ok(_) => false,
            Err(error) => {
                self.fail(error.into());
                false
            }
        }
    }

    /// Ends sending, and wakes the tasks that wait to send.
    pub(crate) fn end(&self) {
        self.schedule.end();
        self.ended.set(true);
        self.ending.notify_waiters();
    }

    /// Shows a response to the script; and does what that wants.
    pub(crate) fn show(&self, response: &Kept) {
        let shown = self.source.borrow_mut().show(response);
        if let Err(error) = shown {
            self.fail(error.into());
        } else if self.source.borrow().is_stopped() {
            self.end();
        }
    }

    /// Where the requests came from.
    pub(crate) fn into_source(self) -> Source {
        self.source.into_inner()
    }

    /// Opens a connection and counts it.
    pub(crate) async fn dial(&self) -> Result<Wire, DialError> {
        let _turn = self.opening.acquire().await;
        let began = monotonic();
        let wire = self.dialer.dial(&self.buffers).await?;
        self.statistics.note_connection(monotonic() - began);
        Ok(wire)
    }

    /// Opens a connection of HTTP/3 and counts it.
    pub(crate) async fn dial_http3(&self, limits: serow_http3::Limits) -> Result<Http3, DialError> {
        let _turn = self.opening.acquire().await;
        let dialer = match self.http3_dialer.get() {
            Some(dialer) => dialer,
            None => {
                let dialer = Http3Dialer::new(&self.dialer)?;
                self.http3_dialer.get_or_init(|| dialer)
            }
        };
        let began = monotonic();
        let connection = dialer.dial(limits, began).await?;
        self.statistics.note_connection(monotonic() - began);
        Ok(connection)
    }

    /// So many requests have no connection; then waits until the next may be tried.
    pub(crate) async fn note_unconnected(&self, requests: usize) {
        self.statistics.note_faults(Fault::Connect, requests);
        sleep(RECONNECT_PAUSE).await;
    }

    /// A whole response has come, to a request that counts or does not.
    #[inline]
    pub(crate) fn note_response(&self, counts: bool, status: u16, latency: Duration, now: Duration) {
        if self.statistics.last_response().is_zero() {
            self.shared.answered.store(true, Ordering::Relaxed);
        }
        if counts {
            self.statistics.note_response(status, latency, now);
        }
    }

    /// A connection is of no more use, and had received `not_understood` last; what that is to the requests on it.
    #[cold]
    pub(crate) fn judge(&self, broken: &ClientError, not_understood: &[u8]) -> Fault {
        let fault = match broken {
            ClientError::Lost(_) | ClientError::Closed | ClientError::Truncated => Fault::Read,
            ClientError::Unsent(_) => Fault::Write,
            ClientError::Http1(_)
            | ClientError::Http2(_)
            | ClientError::Http3(_)
            | ClientError::Fastcgi(_)
            | ClientError::Cgi(_) => Fault::Protocol,
        };
        if fault == Fault::Protocol && !self.shared.answered.load(Ordering::Relaxed) {
            let beginning = not_understood[..not_understood.len().min(SHOWN)].escape_ascii().to_string();
            self.fail(LoadError::NotHttp { version: self.plan.version, reason: broken.to_string(), beginning });
        }
        fault
    }

    /// The run cannot go on.
    pub(crate) fn fail(&self, failure: LoadError) {
        self.failure.borrow_mut().get_or_insert(failure);
        self.shared.stop();
        self.end();
    }

    /// Why it could not, if so.
    pub(crate) fn failure(&self) -> Option<LoadError> {
        self.failure.borrow_mut().take()
    }

    /// Whether the run is to end now.
    pub(crate) fn is_stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// One more connection sends.
    pub(crate) fn enter(&self) {
        self.active.set(self.active.get() + 1);
    }

    /// One sends no more.
    pub(crate) fn leave(&self) {
        self.active.set(self.active.get() - 1);
        if self.active.get() == 0 {
            self.finished.notify_one();
        }
    }
}

impl RunState {
    pub(crate) fn new(left: Option<Arc<AtomicU64>>) -> Self {
        Self { left, answered: AtomicBool::new(false), stopped: AtomicBool::new(false), start: OnceLock::new() }
    }

    /// When the run begins; now, if that was not decided before.
    pub(crate) fn start(&self) -> Duration {
        *self.start.get_or_init(monotonic)
    }

    /// Ends the run.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Fewer than the shortest usual backlog: 511, of nginx and redis.
const OPENED_AT_ONCE: usize = 256;

/// The pause after a failed connect: short enough to notice when a restarting server is back, long enough not to spin.
const RECONNECT_PAUSE: Duration = Duration::from_millis(10);

/// Bytes of an answer that is none that are shown: enough to recognise what it is.
const SHOWN: usize = 40;
