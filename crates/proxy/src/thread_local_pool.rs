//! The connections of one thread to the servers of an upstream. Nothing here is behind a lock.

use std::{
    cell::RefCell,
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    rc::Rc,
    sync::Arc,
};

use serow_client::{ClientEncryption, DialError, Dialer, Http1, Protocol};
use serow_message::Scheme;
use serow_net::{Moment, Wire};

use crate::{pool::Pool, server::Server, thread::ThreadContext, upstream::Upstream};

/// The connections of one thread to the servers of an upstream: opens them, and keeps idle ones of HTTP/1.1.
pub(crate) struct ThreadLocalPool {
    pub(crate) upstream: Upstream,
    pub(crate) thread: Rc<ThreadContext>,
    /// The servers as this thread knows them.
    servers: RefCell<Arc<[Arc<Server>]>>,
    idle: RefCell<ByServer<ServerPool>>,
}

/// The idle connections to one server.
struct ServerPool {
    server: Arc<Server>,
    pool: Pool,
}

/// A map whose keys are the numbers of servers. Serow counts these itself, so they need no other hash.
pub(crate) type ByServer<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;

/// A number as its own hash.
#[derive(Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        // The table uses the highest bits as well.
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.0 << 8 | u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

impl ThreadLocalPool {
    /// Without connections so far.
    pub(crate) fn new(upstream: Upstream, thread: Rc<ThreadContext>, servers: Arc<[Arc<Server>]>) -> Self {
        Self { upstream, thread, servers: RefCell::new(servers), idle: RefCell::default() }
    }

    /// Closes the idle connections to servers that are not among these.
    pub(crate) fn replace_servers(&self, servers: &Arc<[Arc<Server>]>) {
        self.idle.borrow_mut().retain(|number, _| servers.iter().any(|server| server.number() == *number));
        self.servers.replace(Arc::clone(servers));
    }

    /// The time when this thread began its current work.
    pub(crate) fn now(&self) -> Moment {
        self.thread.clock.now()
    }

    /// Opens a connection to this server for this protocol, or for the one that ALPN selects where none is given. The
    /// connection begins with this PROXY header.
    pub(crate) async fn dial(
        &self,
        server: &Server,
        protocol: Option<Protocol>,
        header: &[u8],
    ) -> Result<Wire, DialError> {
        let settings = self.upstream.settings();
        let address = &server.settings().address;
        let encryption = match (address.scheme, &settings.encryption) {
            (Scheme::Https, Some(connector)) => Some(ClientEncryption {
                connector: match protocol {
                    Some(protocol) => connector.offering(&[protocol]),
                    None => connector.offering(&[Protocol::Http2, Protocol::Http1]),
                },
                server_name: address.server_name(),
                // A server without ALPN speaks HTTP/1.1.
                protocol: protocol.filter(|protocol| *protocol == Protocol::Http2),
            }),
            _ => None,
        };
        let dialer =
            Dialer { destination: server.destination().clone(), encryption, timeout: settings.timeouts.connect };
        let wire = dialer.dial_with_preamble(&self.thread.buffers, header).await?;
        server.load.counters.connections.add(1);
        Ok(wire)
    }

    /// An idle connection to this server.
    pub(crate) fn idle_connection(&self, server: &Arc<Server>) -> Option<Box<Http1>> {
        self.idle.borrow_mut().get_mut(&server.number())?.pool.take(&self.upstream, server, self.now())
    }

    /// Keeps a connection for the next request, if it can serve one.
    pub(crate) fn keep_connection(&self, server: &Arc<Server>, connection: Box<Http1>) {
        let connection = match connection.into_idle() {
            Ok(connection) => connection,
            Err(why) => return self.upstream.note_unusable(server, why, self.now()),
        };
        let is_there = self.servers.borrow().iter().any(|other| other.number() == server.number());
        // A connection with a PROXY header is for one client only.
        if is_there && self.upstream.settings().proxy_header.is_none() {
            if connection.may_be_overrun() {
                // The clock may be stale at the end of a long exchange.
                self.thread.clock.update();
            }
            let mut idle = self.idle.borrow_mut();
            let server_pool = idle.entry(server.number()).or_insert_with(|| ServerPool::new(server));
            server_pool.pool.give(&self.upstream, connection, self.now());
        }
    }

    /// Closes connections that nobody needed.
    pub(crate) fn sweep(&self) {
        self.idle.borrow_mut().retain(|_, ServerPool { server, pool }| {
            pool.sweep(&self.upstream, server, self.now());
            !pool.is_empty()
        });
    }

    /// Logs how many warnings were suppressed, if none followed that reported it.
    pub(crate) fn log_suppressed(&self) {
        let (upstream, now) = (&self.upstream.settings().name, self.now());
        for server in &**self.servers.borrow() {
            if let Some(suppressed) = server.warnings.take_suppressed(now) {
                tracing::warn!(upstream, server = server.name(), "and {suppressed} more warnings");
            }
        }
        if let Some(suppressed) = self.upstream.refusals().take_suppressed(now) {
            tracing::warn!(upstream, "and {suppressed} more warnings");
        }
    }
}

impl ServerPool {
    fn new(server: &Arc<Server>) -> Self {
        Self { server: Arc::clone(server), pool: Pool::default() }
    }
}
