//! An upstream as one thread sees it: its servers, its connections and its share of the balancing. Nothing here is
//! behind a lock.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use serow_client::{Http1, Protocol};
use serow_net::{Moment, ThreadSlots};
use tokio::task::JoinHandle;

use crate::{
    balancing::Balancer,
    http2,
    server::Server,
    sticky::Sticky,
    thread::ThreadContext,
    thread_local_pool::{ByServer, ThreadLocalPool},
    upstream::Upstream,
};

/// An upstream as one thread sees it.
pub(crate) struct LocalUpstream {
    pub(crate) upstream: Upstream,
    pub(crate) pool: Rc<ThreadLocalPool>,
    pub(crate) members: RefCell<Members>,
    /// Connections to servers that speak HTTP/2, or may.
    multiplexed: RefCell<ByServer<Rc<http2::Connections>>>,
    /// Requests in progress whose clients have gone.
    pub(crate) clientless: Cell<usize>,
}

/// The servers of an upstream as this thread knows them.
pub(crate) struct Members {
    version: u64,
    pub(crate) servers: Arc<[Arc<Server>]>,
    pub(crate) balancer: Balancer,
    /// Session cookies, where they are set.
    pub(crate) sticky: Option<Rc<Sticky>>,
}

/// All upstreams of a thread.
struct LocalUpstreams {
    context: Rc<ThreadContext>,
    upstreams: RefCell<ThreadSlots<Rc<LocalUpstream>>>,
    background: RefCell<Option<JoinHandle<()>>>,
}

thread_local! {
    static UPSTREAMS: Rc<LocalUpstreams> = Rc::new(LocalUpstreams::new());
}

impl LocalUpstream {
    /// The upstream as this thread sees it, made with the first request.
    ///
    /// # Panics
    ///
    /// Outside of a runtime of one thread (`LocalRuntime`).
    pub(crate) fn of(upstream: &Upstream) -> Rc<Self> {
        let all = UPSTREAMS.with(Rc::clone);
        all.context.update_clock();
        all.run_in_background();
        let number = upstream.number();
        if let Some(local) = all.upstreams.borrow().get(number) {
            local.look_for_changes();
            return Rc::clone(local);
        }
        let members = Members::new(upstream, all.context.next_seed());
        let pool = ThreadLocalPool::new(upstream.clone(), Rc::clone(&all.context), Arc::clone(&members.servers));
        let local = Rc::new(Self {
            upstream: upstream.clone(),
            pool: Rc::new(pool),
            members: RefCell::new(members),
            multiplexed: RefCell::default(),
            clientless: Cell::default(),
        });
        all.upstreams.borrow_mut().set(number, Rc::clone(&local));
        local
    }

    /// Takes notice of servers that were added or removed, and of new weights.
    pub(crate) fn look_for_changes(&self) {
        if self.members.borrow().version == self.upstream.version() {
            return;
        }
        *self.members.borrow_mut() = Members::new(&self.upstream, self.pool.thread.next_seed());
        let members = self.members.borrow();
        self.pool.replace_servers(&members.servers);
        let is_there = |number: &u64| members.servers.iter().any(|server| server.number() == *number);
        self.multiplexed.borrow_mut().retain(|number, connections| {
            let stays = is_there(number);
            if !stays {
                connections.retire();
            }
            stays
        });
    }

    /// The time when this thread began its current work.
    pub(crate) fn now(&self) -> Moment {
        self.pool.now()
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

    /// An idle connection of HTTP/1.1 to this server.
    pub(crate) fn idle_connection(&self, server: &Arc<Server>) -> Option<Box<Http1>> {
        self.pool.idle_connection(server)
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

impl LocalUpstreams {
    fn new() -> Self {
        Self { context: Rc::new(ThreadContext::new()), upstreams: RefCell::default(), background: RefCell::default() }
    }

    /// Drives this thread's deadlines and closes idle connections, as long as its runtime exists.
    fn run_in_background(self: &Rc<Self>) {
        let runs = self.background.borrow().as_ref().is_some_and(|task| !task.is_finished());
        if !runs {
            let (context, all) = (Rc::clone(&self.context), Rc::clone(self));
            let task = tokio::task::spawn_local(async move {
                context.deadlines.run(&context.clock).await;
            });
            tokio::task::spawn_local(async move { all.sweep_forever().await });
            *self.background.borrow_mut() = Some(task);
        }
    }

    async fn sweep_forever(&self) {
        loop {
            tokio::time::sleep(SWEEP).await;
            self.context.clock.update();
            let retired = self.upstreams.borrow_mut().take_if(|local| local.upstream.is_retired());
            drop(retired);
            let upstreams: Vec<_> = self.upstreams.borrow().values().cloned().collect();
            for local in &upstreams {
                local.pool.sweep();
                local.pool.log_suppressed();
            }
        }
    }
}

/// How often idle connections are checked: a fraction of the time for which they are kept.
const SWEEP: Duration = Duration::from_secs(5);
