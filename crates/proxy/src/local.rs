//! What a thread has of an upstream: its connections, and its part of the balancing. Nothing here is behind a lock.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use serow_client::{Buffers, ClientEncryption, DialError, Dialer, Http1, Protocol};
use serow_message::Scheme;
use serow_net::{Clock, Deadlines, Moment, Wire};
use tokio::task::JoinHandle;

use crate::{balancing::Balancer, http2, pool::Pool, server::Server, sticky::Sticky, upstream::Upstream};

/// What a thread has of an upstream.
pub(crate) struct Local {
    pub(crate) upstream: Upstream,
    pub(crate) thread: Rc<Thread>,
    pub(crate) members: RefCell<Members>,
    pools: RefCell<ByServer<Kept>>,
    /// Of servers that speak HTTP/2, or may.
    multiplexed: RefCell<ByServer<Rc<http2::Connections>>>,
}

/// The connections that are kept to a server.
struct Kept {
    server: Arc<Server>,
    pool: Pool,
}

/// The servers as this thread knows them.
pub(crate) struct Members {
    version: u64,
    pub(crate) servers: Arc<[Arc<Server>]>,
    pub(crate) balancer: Balancer,
    /// Where sessions are kept together.
    pub(crate) sticky: Option<Rc<Sticky>>,
}

/// By the numbers of servers. They are given out one after the other by ourselves, so they are as good as any hash of them.
type ByServer<T> = HashMap<u64, T, BuildHasherDefault<Itself>>;

/// A number as its own hash.
#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        // The table goes by the highest bits as well.
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

/// What all upstreams share in a thread.
pub(crate) struct Thread {
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) buffers: Rc<Buffers>,
    locals: RefCell<Vec<Option<Rc<Local>>>>,
    upkeep: RefCell<Option<JoinHandle<()>>>,
    seed: Cell<u64>,
}

thread_local! {
    static THREAD: Rc<Thread> = Rc::new(Thread::new());
}

impl Local {
    /// What this thread has of the upstream, made with the first request.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of one thread (`LocalRuntime`).
    pub(crate) fn of(upstream: &Upstream) -> Rc<Self> {
        let thread = THREAD.with(Rc::clone);
        thread.clock.update();
        thread.keep_up();
        let number = upstream.number();
        if let Some(Some(local)) = thread.locals.borrow().get(number) {
            local.look_for_changes();
            return Rc::clone(local);
        }
        let local = Rc::new(Self {
            upstream: upstream.clone(),
            members: RefCell::new(Members::new(upstream, thread.next_seed())),
            pools: RefCell::default(),
            multiplexed: RefCell::default(),
            thread: Rc::clone(&thread),
        });
        let mut locals = thread.locals.borrow_mut();
        if locals.len() <= number {
            locals.resize_with(number + 1, || None);
        }
        locals[number] = Some(Rc::clone(&local));
        local
    }

    /// Takes notice of servers that came and went.
    pub(crate) fn look_for_changes(&self) {
        if self.members.borrow().version == self.upstream.version() {
            return;
        }
        *self.members.borrow_mut() = Members::new(&self.upstream, self.thread.next_seed());
        let members = self.members.borrow();
        let is_there = |number: &u64| members.servers.iter().any(|server| server.number() == *number);
        self.pools.borrow_mut().retain(|number, _| is_there(number));
        self.multiplexed.borrow_mut().retain(|number, connections| {
            let stays = is_there(number);
            if !stays {
                connections.retire();
            }
            stays
        });
    }

    /// The moment of the request that is being worked at.
    pub(crate) fn now(&self) -> Moment {
        self.thread.clock.now()
    }

    /// Opens a connection to this server, on which this is spoken; or what TLS agrees upon, where nothing is said. It begins
    /// with this PROXY header.
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
                // A server that knows nothing of ALPN speaks HTTP/1.1.
                protocol: protocol.filter(|protocol| *protocol == Protocol::Http2),
            }),
            _ => None,
        };
        let dialer =
            Dialer { destination: server.destination().clone(), encryption, timeout: settings.timeouts.connect };
        let wire = dialer.dial_with_preamble(&self.thread.buffers, header).await?;
        server.counters.connections.add(1);
        Ok(wire)
    }

    /// The connections to this server that carry many requests at a time; `None` where it speaks HTTP/1.1.
    pub(crate) fn multiplexed(&self, server: &Arc<Server>) -> Option<Rc<http2::Connections>> {
        if server.settings().address.protocol == Some(Protocol::Http1) {
            return None;
        }
        let mut multiplexed = self.multiplexed.borrow_mut();
        let connections =
            multiplexed.entry(server.number()).or_insert_with(|| Rc::new(http2::Connections::new(Arc::clone(server))));
        (connections.protocol() != Some(Protocol::Http1)).then(|| Rc::clone(connections))
    }

    /// An idle connection to this server.
    pub(crate) fn idle_connection(&self, server: &Arc<Server>) -> Option<Box<Http1>> {
        self.pools.borrow_mut().get_mut(&server.number())?.pool.take(&self.upstream, server, self.now())
    }

    /// Keeps a connection for the next request, if it can serve one.
    pub(crate) fn keep_connection(&self, server: &Arc<Server>, connection: Box<Http1>) {
        let connection = match connection.into_idle() {
            Ok(connection) => connection,
            Err(why) => return self.upstream.note_unusable(server, why, self.now()),
        };
        let is_there = self.members.borrow().servers.iter().any(|other| other.number() == server.number());
        // What begins with a PROXY header is for one client.
        if is_there && self.upstream.settings().proxy_header.is_none() {
            if connection.may_be_overrun() {
                // What was read at the beginning of a long exchange would be too early.
                self.thread.clock.update();
            }
            let mut pools = self.pools.borrow_mut();
            let kept = pools.entry(server.number()).or_insert_with(|| Kept::new(server));
            kept.pool.give(&self.upstream, connection, self.now());
        }
    }

    /// Closes connections that nobody needed.
    fn sweep(&self) {
        self.pools.borrow_mut().retain(|_, Kept { server, pool }| {
            pool.sweep(&self.upstream, server, self.now());
            !pool.is_empty()
        });
    }

    /// Says how many warnings were left out, where no other came since.
    fn tell_left_out(&self) {
        let (upstream, now) = (&self.upstream.settings().name, self.now());
        for server in &*self.members.borrow().servers {
            if let Some(left_out) = server.warnings.take_left_out(now) {
                tracing::warn!(upstream, server = server.name(), "and {left_out} more warnings");
            }
        }
        if let Some(left_out) = self.upstream.refusals().take_left_out(now) {
            tracing::warn!(upstream, "and {left_out} more warnings");
        }
    }
}

impl Kept {
    fn new(server: &Arc<Server>) -> Self {
        Self { server: Arc::clone(server), pool: Pool::default() }
    }
}

impl Members {
    fn new(upstream: &Upstream, seed: u64) -> Self {
        // Before the servers: a change in between is found the next time.
        let version = upstream.version();
        let servers = upstream.servers();
        let balancer = Balancer::new(&upstream.settings().balancing, &servers, seed);
        let sticky = upstream.settings().sticky.as_ref().map(|settings| Rc::new(Sticky::new(settings, &servers)));
        Self { version, servers, balancer, sticky }
    }
}

impl Thread {
    fn new() -> Self {
        let seed = std::collections::hash_map::RandomState::new();
        Self {
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            buffers: Rc::default(),
            locals: RefCell::default(),
            upkeep: RefCell::default(),
            seed: Cell::new(std::hash::BuildHasher::hash_one(&seed, 0_u8)),
        }
    }

    /// Another seed each time.
    fn next_seed(&self) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.seed.get()
    }

    /// Lets time pass for this thread's deadlines and idle connections, as long as its runtime is there.
    fn keep_up(self: &Rc<Self>) {
        let runs = self.upkeep.borrow().as_ref().is_some_and(|task| !task.is_finished());
        if !runs {
            let (thread, sweeper) = (Rc::clone(self), Rc::clone(self));
            let task = tokio::task::spawn_local(async move {
                thread.deadlines.run(&thread.clock).await;
            });
            tokio::task::spawn_local(async move { sweeper.sweep_for_ever().await });
            *self.upkeep.borrow_mut() = Some(task);
        }
    }
}

impl Thread {
    async fn sweep_for_ever(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.clock.update();
            let locals: Vec<_> = self.locals.borrow().iter().flatten().cloned().collect();
            for local in &locals {
                local.sweep();
                local.tell_left_out();
            }
        }
    }
}

/// How often idle connections are looked at: a fraction of the time that they are kept.
const SWEEP: Duration = Duration::from_secs(5);
