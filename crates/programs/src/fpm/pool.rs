//! One child, in a pool of its own: when it gets requests, when it is idle, when it is replaced.

use std::{io, path::Path, sync::Arc, time::Duration};

use rustix::process::Signal;
use serow_client::Protocol;
use serow_message::Scheme;
use serow_processes::{Lifetime, Process};
use serow_proxy::{Server, ServerAddress, ServerLocation, ServerSettings};
use tokio::time::Instant;

use crate::fpm::{
    master::Master,
    pool_sockets::{Hold, PoolSocket},
    settings::FpmSettings,
};

/// A pool with one child.
#[derive(Debug)]
pub(crate) struct Pool {
    /// Its index among those of its master, from 0.
    index: usize,
    socket: PoolSocket,
    stage: ChildStage,
    since: Instant,
    /// Whether a connection waited in the socket at the last look.
    had_waiting: bool,
    /// The settings of its server in the proxy.
    settings: ServerSettings,
    /// The proxy's entry for it, while it gets requests.
    server: Option<Arc<Server>>,
    /// Requests of the child at earlier entries.
    requests_before: u64,
    /// After how many requests the child is replaced.
    lifetime: Option<u64>,
    process: Option<Process>,
}

/// How far it is.
#[derive(Debug)]
enum ChildStage {
    /// The child is idle, and gets requests as soon as it may.
    Ready,
    /// It gets requests.
    Serving,
    /// It gets no more requests, and finishes those that it has.
    Draining(Purpose),
    /// A connection waits until the child is idle.
    Holding(Purpose, #[expect(dead_code, reason = "it is open as long as this is there")] Hold),
    /// The child is idle, and gets no more requests.
    Idle,
}

/// The reason to wait until a child is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It gets requests then: it has just been started, or went on after its response.
    Serve,
    /// It is replaced then.
    Replace,
    /// It is stopped then, with its master.
    Stop,
}

impl Pool {
    pub(crate) fn new(index: usize, socket: PoolSocket, settings: &FpmSettings) -> io::Result<Self> {
        let address = ServerAddress {
            location: ServerLocation::Unix(socket.path().to_owned()),
            scheme: Scheme::Http,
            protocol: Some(Protocol::Http1),
        };
        Ok(Self {
            index,
            stage: ChildStage::Holding(Purpose::Serve, socket.hold()?),
            socket,
            since: Instant::now(),
            had_waiting: false,
            settings: ServerSettings { max_requests: Some(1), ..ServerSettings::new(address) },
            server: None,
            requests_before: 0,
            lifetime: settings.run.lifetime.map(Lifetime::random),
            process: None,
        })
    }

    /// The path of its socket.
    pub(crate) fn path(&self) -> &Path {
        self.socket.path()
    }

    /// Its server, if it gets requests.
    pub(crate) fn serving(&self) -> Option<&ServerSettings> {
        matches!(self.stage, ChildStage::Serving).then_some(&self.settings)
    }

    /// Whether its child is idle but gets no requests yet.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.stage, ChildStage::Ready)
    }

    /// Whether its child is idle and gets no more requests.
    pub(crate) fn is_idle(&self) -> bool {
        matches!(self.stage, ChildStage::Idle)
    }

    /// Whether it is all there is to do, to serve.
    pub(crate) fn is_quiet(&self) -> bool {
        matches!(self.stage, ChildStage::Serving) && self.active() == 0
    }

    /// Whether it has waited in vain for the child to become idle, for this long.
    pub(crate) fn is_late(&self, limit: Duration) -> bool {
        matches!(self.stage, ChildStage::Holding(..)) && self.since.elapsed() >= limit
    }

    /// A ready child gets requests.
    pub(crate) fn serve(&mut self) {
        if let ChildStage::Ready = self.stage {
            self.enter(ChildStage::Serving);
        }
    }

    /// The entry of its server in the proxy, from this list.
    pub(crate) fn note_server(&mut self, servers: &[Arc<Server>]) {
        if self.server.is_none() && matches!(self.stage, ChildStage::Serving) {
            self.server = servers.iter().find(|server| *server.settings() == self.settings).cloned();
        }
    }

    /// It gets no more requests.
    pub(crate) fn retire(&mut self) {
        match &mut self.stage {
            ChildStage::Serving | ChildStage::Draining(_) => self.enter(ChildStage::Draining(Purpose::Stop)),
            ChildStage::Ready => self.enter(ChildStage::Idle),
            ChildStage::Holding(purpose, _) => *purpose = Purpose::Stop,
            ChildStage::Idle => {}
        }
    }

    /// A look at the child. Returns whether the list of servers has changed.
    pub(crate) fn look(&mut self, settings: &FpmSettings, master: &Master) -> bool {
        match self.stage {
            ChildStage::Serving => self.look_while_serving(settings, master),
            ChildStage::Draining(purpose) => {
                // It is not among the servers any more.
                self.socket.take_back();
                // A request that was just assigned may not be counted yet; if the child goes on, that does no harm.
                let is_over = purpose == Purpose::Serve || self.since.elapsed() >= MOMENT;
                if self.active() == 0 && is_over {
                    self.hold(purpose);
                }
                false
            }
            ChildStage::Holding(purpose, _) => {
                self.look_while_holding(purpose, settings, master);
                false
            }
            ChildStage::Ready | ChildStage::Idle => false,
        }
    }

    /// Takes back what came to an idle child before it stopped.
    pub(crate) fn take_back(&self) {
        self.socket.take_back();
    }

    fn look_while_serving(&mut self, settings: &FpmSettings, master: &Master) -> bool {
        if self.server.as_ref().is_some_and(|server| server.is_overdue()) {
            tracing::warn!("{} {}: killed, its response is overdue", settings.run.name, self.index + 1);
            self.kill_child(master);
            self.hold(Purpose::Serve);
            return true;
        }
        if self.is_stuck() {
            // First it leaves the servers, so that no request follows.
            self.enter(ChildStage::Draining(Purpose::Serve));
            return true;
        }
        if self.is_to_be_replaced(settings, master) {
            self.enter(ChildStage::Draining(Purpose::Replace));
            return true;
        }
        false
    }

    /// Whether connections have waited since the last look: an idle child would have accepted them.
    fn is_stuck(&mut self) -> bool {
        let has_waiting = self.socket.has_waiting();
        std::mem::replace(&mut self.had_waiting, has_waiting) && has_waiting
    }

    fn look_while_holding(&mut self, purpose: Purpose, settings: &FpmSettings, master: &Master) {
        if !self.socket.has_waiting() {
            self.note_idle(purpose, settings, master);
        } else if self.is_stuck() {
            // A request may have come before the connection that holds the child, or behind it.
            self.socket.take_back();
            self.hold(purpose);
        }
    }

    /// The child is idle, and held.
    fn note_idle(&mut self, purpose: Purpose, settings: &FpmSettings, master: &Master) {
        match purpose {
            Purpose::Serve => {
                self.process = master.child(self.index);
                self.enter(ChildStage::Ready);
            }
            Purpose::Replace => {
                self.kill_child(master);
                self.requests_before = 0;
                self.lifetime = settings.run.lifetime.map(Lifetime::random);
                self.hold(Purpose::Serve);
            }
            Purpose::Stop => self.enter(ChildStage::Idle),
        }
    }

    /// Whether the child has had enough requests, or uses too much memory.
    fn is_to_be_replaced(&mut self, settings: &FpmSettings, master: &Master) -> bool {
        let requests = self.server.as_ref().map_or(0, |server| server.requests());
        if self.lifetime.is_some_and(|most| self.requests_before.saturating_add(requests) >= most) {
            return true;
        }
        let Some(limit) = settings.run.memory_limit else { return false };
        if self.process.as_ref().is_none_or(Process::is_gone) {
            self.process = master.child(self.index);
        }
        let used = self.process.as_ref().and_then(Process::own_memory).filter(|used| *used > limit);
        if let Some(bytes) = used {
            tracing::info!("{} {}: replaced, it uses {} MB", settings.run.name, self.index + 1, bytes >> 20);
        }
        used.is_some()
    }

    fn kill_child(&mut self, master: &Master) {
        let process = self.process.take().filter(|process| !process.is_gone());
        if let Some(process) = process.or_else(|| master.child(self.index)) {
            // Not TERM, which a script may ignore. Its parent waits for it and starts another one.
            process.signal(Signal::KILL);
        }
    }

    fn hold(&mut self, purpose: Purpose) {
        match self.socket.hold() {
            Ok(hold) => self.enter(ChildStage::Holding(purpose, hold)),
            // Its folder was removed, or descriptors are used up: tried again at the next look.
            Err(error) => {
                tracing::warn!("php-fpm cannot be reached at {}: {error}", self.socket.path().display());
                self.enter(ChildStage::Draining(purpose));
            }
        }
    }

    fn enter(&mut self, stage: ChildStage) {
        // The time to wait for an idle child begins with the first connection that holds it.
        if !matches!((&self.stage, &stage), (ChildStage::Holding(..), ChildStage::Holding(..))) {
            self.since = Instant::now();
        }
        self.stage = stage;
        self.had_waiting = false;
        if !matches!(self.stage, ChildStage::Serving | ChildStage::Draining(_))
            && let Some(server) = self.server.take()
        {
            self.requests_before = self.requests_before.saturating_add(server.requests());
        }
    }

    fn active(&self) -> u32 {
        self.server.as_ref().map_or(0, |server| server.active())
    }
}

/// A thread that has chosen a child counts the request there within microseconds, but may be preempted for this long.
const MOMENT: Duration = Duration::from_millis(200);
