//! The state that the connections of a worker thread share.

use std::{cell::Cell, rc::Rc, sync::Arc, time::Duration};

use serow_net::{Buffers, Clock, Deadlines, TICK, WarningPace};
use tokio::time::{Instant, timeout};

use crate::{
    AccessLog,
    client_rules::ClientPolicy,
    connection_counter::{ConnectionCounter, ConnectionGuard},
    quic_handshakes::Handshakes,
    settings::Settings,
    status::Counters,
};

/// Creates the access log of a worker, on its thread.
pub(crate) type LogMaker = Arc<dyn Fn() -> Rc<dyn AccessLog> + Send + Sync>;

/// A worker: its clone of the handler, and the other state that its connections share.
pub(crate) struct Worker<H> {
    pub(crate) handler: H,
    pub(crate) settings: Settings,
    pub(crate) buffers: Buffers,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) log: Option<Rc<dyn AccessLog>>,
    /// Which clients may connect.
    pub(crate) clients: ClientPolicy,
    /// Its counters.
    pub(crate) counters: Arc<Counters>,
    /// The connections of all workers, if their number is limited; see [`ConnectionCounter::enter`].
    limited: Option<Arc<ConnectionCounter>>,
    /// Warns that none of the connections is idle, and new ones wait.
    full_warning: WarningPace,
    draining: Cell<bool>,
    drain_began: Cell<Option<Instant>>,
    /// When the time for a graceful shutdown is over.
    drain_ends: Cell<Option<Instant>>,
    /// The handshakes of QUIC in progress.
    pub(crate) handshakes: Handshakes,
}

impl<H> Worker<H> {
    /// Call it on the worker's thread. `limited` counts the connections of all workers, if their number is limited.
    pub(crate) fn new(
        handler: H,
        settings: Settings,
        clients: ClientPolicy,
        limited: Option<ConnectionCounter>,
        log: Option<&LogMaker>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            handler,
            settings,
            buffers: Buffers::new(),
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            log: log.map(|make| make()),
            clients,
            counters,
            limited: limited.map(Arc::new),
            full_warning: WarningPace::new(),
            draining: Cell::new(false),
            drain_began: Cell::new(None),
            drain_ends: Cell::new(None),
            handshakes: Handshakes::default(),
        }
    }

    /// Counts one more connection.
    pub(crate) fn enter(&self) -> ConnectionGuard {
        self.counters.connections.enter(self.limited.as_ref())
    }

    /// Whether the number of connections has reached the limit.
    pub(crate) fn is_full(&self) -> bool {
        self.limited.as_ref().is_some_and(|all| all.count() >= self.settings.limits.connections)
    }

    /// Closes the connection of this worker that has been idle for the longest; returns whether there was one.
    pub(crate) fn close_longest_idle(&self) -> bool {
        self.deadlines.expire_longest_idle(LEAST_IDLE)
    }

    /// Waits until there is room for another connection. Closes for it the one that has been idle for the longest, here
    /// or in another worker; otherwise a client that keeps as many as the limit allows would lock out all others.
    pub(crate) async fn make_room(&self) {
        let Some(all) = &self.limited else { return };
        let has_room = |count| count < self.settings.limits.connections;
        let mut ticks = 0;
        while !has_room(all.count()) {
            ticks += 1;
            if ticks == TICKS_UNTIL_WARNING && self.full_warning.is_due() {
                tracing::warn!(
                    "requests use all {} connections: new ones wait until one is free; `max-connections` sets the number, \
                     by default derived from the limit of open files (ulimit -n)",
                    self.settings.limits.connections
                );
            }
            if !self.close_longest_idle() {
                all.ask_for_room();
            }
            // One may become idle meanwhile, or not be closed since its next request had just come.
            let _ = timeout(TICK, all.wait_until(has_room)).await;
        }
    }

    /// Closes an idle connection whenever another worker wants room.
    pub(crate) async fn make_room_for_others(&self) {
        let Some(all) = &self.limited else { return };
        loop {
            all.room_wanted().await;
            if self.is_full() {
                self.close_longest_idle();
            }
        }
    }

    /// Whether the server is stopping: connections end with the current response.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Whether the server is stopping, and what arrives cannot have been on its way when it began to.
    pub(crate) fn refuses_new_clients(&self) -> bool {
        self.drain_began.get().is_some_and(|began| began.elapsed() > STILL_QUEUED)
    }

    /// The graceful shutdown has to be over after this time.
    pub(crate) fn limit_drain(&self, time: Duration) {
        self.drain_ends.set(Instant::now().checked_add(time));
    }

    /// How long a connection without requests may stay open while the server is stopping: half of what is left, so that it
    /// is closed properly, and not by the end of the process.
    pub(crate) fn max_linger(&self) -> Duration {
        self.drain_ends.get().map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()) / 2)
    }

    /// From now on connections end with the current response; wakes the idle ones.
    pub(crate) fn begin_draining(&self) {
        self.draining.set(true);
        self.drain_began.set(Some(Instant::now()));
        self.deadlines.wake_all();
    }
}

/// Ticks that a connection has to its next request, and to a first one, before it is closed for another: a second. A
/// first request whose packet is lost is sent again after that (RFC 6298 §2.1).
const LEAST_IDLE: u32 = 4;

/// Ticks for which a new connection waits before a warning: twice the time after which an idle one would have been closed.
const TICKS_UNTIL_WARNING: u32 = 2 * LEAST_IDLE;

/// How long the first packet of a QUIC client may lie in the queue of a socket: those that arrived before another generation
/// got the new ones are still served.
const STILL_QUEUED: Duration = Duration::from_millis(250);
