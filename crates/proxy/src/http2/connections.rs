//! The connections of one thread to one server.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use serow_client::{DialError, Http1, Protocol};
use serow_http1::Limits;
use serow_http2::OpenError;
use serow_message::Scheme;
use serow_net::{Moment, Wire};
use serow_tls::TlsSession;
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use super::{StreamRequest, connection::Connection, stream::Stream};
use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    server::Server,
    settings::ProxyHeader,
    thread_local_pool::ThreadLocalPool,
};

/// The connections of one thread to one server. The first one with room takes a request; if none has room, a task opens
/// another one, so that waiting requests may be cancelled at any time.
pub(crate) struct Connections {
    server: Arc<Server>,
    open: RefCell<Vec<Rc<Connection>>>,
    /// The protocol that ALPN selected last.
    agreed: Cell<Option<Protocol>>,
    is_dialing: Cell<bool>,
    failure: RefCell<Option<LastFailure>>,
    /// Requests that wait for room.
    waiting: Cell<usize>,
    room: Notify,
}

/// Why the last connection that failed could not be opened.
struct LastFailure {
    error: Rc<DialError>,
    at: Moment,
    /// How many have failed.
    number: u64,
}

impl Connections {
    /// None so far.
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self {
            server,
            open: RefCell::default(),
            agreed: Cell::new(None),
            is_dialing: Cell::new(false),
            failure: RefCell::default(),
            waiting: Cell::new(0),
            room: Notify::new(),
        }
    }

    /// The protocol of the server; `None` until ALPN has selected it.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.server.settings().address.protocol.or(self.agreed.get())
    }

    /// Begins a request, if there is room for it now and nobody has waited for longer.
    pub(crate) fn begin(&self, asked: StreamRequest<'_>) -> Result<Option<Stream>, AttemptError> {
        if self.waiting.get() == 0 { self.begin_in_turn(asked) } else { Ok(None) }
    }

    /// Begins a request as soon as there is room for it: a connection is opened, or another request ends. `None` where
    /// the server turns out to speak HTTP/1.1.
    pub(crate) async fn begin_later(
        self: &Rc<Self>,
        pool: &Rc<ThreadLocalPool>,
        asked: StreamRequest<'_>,
    ) -> Result<Option<Stream>, AttemptError> {
        let settings = pool.upstream.settings();
        let timeout = settings.timeouts.connect + settings.queue.timeout;
        let until = Instant::now() + timeout;
        let failures = self.failures();
        let queued = Queued::enter(self);
        loop {
            self.dial_if_needed(pool);
            if timeout_at(until, self.room.notified()).await.is_err() {
                return Err(AttemptError::of_exchange(Cause::Busy(timeout), Processed::Never));
            }
            if let Some(failure) = &*self.failure.borrow()
                && failure.number != failures
                && self.open.borrow().is_empty()
            {
                return Err(AttemptError::dial(Rc::clone(&failure.error)));
            }
            if self.protocol() == Some(Protocol::Http1) {
                return Ok(None);
            }
            let begun = self.begin_in_turn(asked);
            if !matches!(begun, Ok(None)) {
                drop(queued);
                // There may be room for the next as well; or there is none, and they need another connection.
                self.pass_on();
                if self.waiting.get() > 0 {
                    self.dial_if_needed(pool);
                }
                return begun;
            }
        }
    }

    /// Begins a request on the first connection that has room, if any has.
    fn begin_in_turn(&self, asked: StreamRequest<'_>) -> Result<Option<Stream>, AttemptError> {
        let scheme = match self.server.settings().address.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        for connection in &*self.open.borrow() {
            match connection.open(asked, scheme) {
                Ok(stream) => return Ok(Some(stream)),
                Err(OpenError::WouldBlock | OpenError::GoAway) => {}
                Err(error @ OpenError::Usage) => return Err(AttemptError::unsendable(error.to_string())),
            }
        }
        Ok(None)
    }

    /// Opens a connection, if there may be another.
    fn dial_if_needed(self: &Rc<Self>, pool: &Rc<ThreadLocalPool>) {
        let open = self.open.borrow().len();
        // Earlier requests have their turn first; or the server's settings have not arrived yet.
        if self.has_room() || self.open.borrow().iter().any(|connection| connection.is_untold()) {
            return;
        }
        let failed = self.failure.borrow().as_ref().is_some_and(|failure| pool.now().since(failure.at) < PAUSE);
        // With at least one connection, waiting requests wait for that one.
        if open >= MAX_CONNECTIONS || open > 0 && failed || self.is_dialing.replace(true) {
            return;
        }
        let (connections, pool) = (Rc::clone(self), Rc::clone(pool));
        tokio::task::spawn_local(async move {
            let protocol = connections.server.settings().address.protocol;
            let header = pool.upstream.settings().proxy_header.map(ProxyHeader::for_itself).unwrap_or_default();
            let dialed = pool.dial(&connections.server, protocol, &header).await;
            connections.is_dialing.set(false);
            match dialed {
                Ok(wire) => connections.run(wire, &pool).await,
                Err(error) => connections.note_failure(error, pool.now()),
            }
        });
    }

    /// Lets a connection work until its end.
    async fn run(&self, wire: Wire, pool: &ThreadLocalPool) {
        if !self.speaks_http2(&wire) {
            let connection = Box::new(Http1::new(wire, Rc::clone(&pool.thread.buffers), Limits::default()));
            pool.keep_connection(&self.server, connection);
            return self.room.notify_waiters();
        }
        let connection = Rc::new(Connection::new(wire, &pool.thread));
        self.open.borrow_mut().push(Rc::clone(&connection));
        self.pass_on();
        let keep = pool.upstream.settings().keep;
        let time = if keep.idle == 0 { MIN_IDLE_TIME } else { keep.idle_time.max(MIN_IDLE_TIME) };
        connection.run(&pool.thread, time, || self.pass_on()).await;
        self.open.borrow_mut().retain(|other| !Rc::ptr_eq(other, &connection));
        // Wakes a waiting request, which may open another connection.
        self.room.notify_one();
    }

    /// Whether the connection speaks HTTP/2; remembers the selected protocol.
    fn speaks_http2(&self, wire: &Wire) -> bool {
        let said = self.server.settings().address.protocol;
        let agreed = || wire.session().and_then(TlsSession::protocol).unwrap_or(Protocol::Http1);
        let protocol = said.unwrap_or_else(agreed);
        self.agreed.set(Some(protocol));
        protocol == Protocol::Http2
    }

    /// Fails the requests that wait for a connection now, but not later ones.
    fn note_failure(&self, error: DialError, at: Moment) {
        let number = self.failures() + 1;
        self.failure.replace(Some(LastFailure { error: Rc::new(error), at, number }));
        self.room.notify_waiters();
    }

    fn failures(&self) -> u64 {
        self.failure.borrow().as_ref().map_or(0, |failure| failure.number)
    }

    /// Wakes the next waiting request if there is room.
    fn pass_on(&self) {
        if self.waiting.get() > 0 && self.has_room() {
            self.room.notify_one();
        }
    }

    fn has_room(&self) -> bool {
        self.open.borrow().iter().any(|connection| connection.check_room().is_ok())
    }

    /// Begins no more requests on the connections that there are.
    pub(crate) fn retire(&self) {
        self.open.borrow().iter().for_each(|connection| connection.begin_shutdown());
    }
}

/// A request that waits for room, until this is dropped.
struct Queued<'a>(&'a Connections);

impl<'a> Queued<'a> {
    fn enter(connections: &'a Connections) -> Self {
        connections.waiting.set(connections.waiting.get() + 1);
        Self(connections)
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}

/// Connections of one thread to one server. With those of all threads, servers that allow a hundred streams each get
/// some thousand requests at a time; more would not help them.
const MAX_CONNECTIONS: usize = 8;

/// How long a connection is kept at least: those it was opened for must have time to come to it.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

/// From one attempt to open a further connection to the next, where the first failed.
const PAUSE: Duration = Duration::from_secs(1);
