//! The fleet as one server sees it, and the thread that talks to Redis.

use std::{
    fmt, io,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, atomic::Ordering},
    thread::{self, JoinHandle},
};

use redis::Cmd;
use tokio::sync::oneshot;

use crate::{
    Consumption, Events, FleetReport, FleetSettings, Peers, RedisCommands, SharedJournal, SharedKey, SharedTable,
    clock, redis_link, report::FleetState,
};

/// The fleet as one server sees it.
pub struct Fleet {
    pub(crate) settings: Arc<FleetSettings>,
    pub(crate) peers: Arc<Peers>,
    pub(crate) events: Events,
    pub(crate) state: FleetState,
    commands: RedisCommands,
    tables: RwLock<Vec<Arc<SharedTable>>>,
    journal: RwLock<Option<Arc<SharedJournal>>>,
}

/// The thread that talks to Redis. It ends when this is dropped, after a last exchange.
#[derive(Debug)]
pub struct FleetThread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Fleet {
    /// A fleet that shares no limit yet.
    #[must_use]
    pub fn new(settings: FleetSettings) -> Self {
        Self {
            commands: RedisCommands::new(settings.timeout),
            peers: Arc::new(Peers::new(settings.instances)),
            settings: Arc::new(settings),
            events: Events::default(),
            state: FleetState::default(),
            tables: RwLock::default(),
            journal: RwLock::default(),
        }
    }

    /// This server's knowledge of the others, for [`SharedTable::new`].
    #[must_use]
    pub fn peers(&self) -> &Arc<Peers> {
        &self.peers
    }

    /// Has the keys of a table exchanged.
    pub fn add(&self, table: Arc<SharedTable>) {
        self.tables.write().unwrap_or_else(PoisonError::into_inner).push(table);
    }

    /// Has the commands of a journal exchanged from now on. Of all processes of a server, only the one that serves has it.
    pub fn attach(&self, journal: Arc<SharedJournal>) {
        *self.journal.write().unwrap_or_else(PoisonError::into_inner) = Some(journal);
    }

    /// Exchanges no commands any more: another process does.
    pub fn detach(&self) {
        *self.journal.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The journal, while this process has it.
    #[must_use]
    pub fn journal(&self) -> Option<Arc<SharedJournal>> {
        self.journal.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Events that reach all servers.
    #[must_use]
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The sender of commands from scripts to Redis, while the thread runs.
    #[must_use]
    pub fn commands(&self) -> &RedisCommands {
        &self.commands
    }

    /// Starts the thread that talks to Redis.
    ///
    /// # Errors
    ///
    /// The system provides no thread.
    pub fn start(self: &Arc<Self>) -> io::Result<FleetThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let fleet = Arc::clone(self);
        let work = move || {
            runtime.block_on(redis_link::run(&fleet, stopped));
            // A name lookup may still be under way.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new().name("fleet".to_owned()).spawn(work)?;
        Ok(FleetThread { stop: Some(stop), thread: Some(thread) })
    }

    /// How it is.
    #[must_use]
    pub fn report(&self) -> FleetReport {
        let (now, instances) = (clock::now(), self.peers.instances());
        let counts = self.events.counts();
        let mut report = FleetReport {
            place: self.settings.place(),
            is_connected: false,
            lag: None,
            round_trip: std::time::Duration::ZERO,
            instances,
            share: if self.peers.are_in_contact(now) { 1.0 } else { 1.0 / f64::from(instances) },
            exchanges: 0,
            errors: 0,
            last_error: None,
            events_published: counts.published.load(Ordering::Relaxed),
            events_received: counts.received.load(Ordering::Relaxed),
            events_lost: counts.lost.load(Ordering::Relaxed),
            journal: None,
            servers: Vec::new(),
        };
        if let Some(journal) = self.journal() {
            (report.journal, report.servers) = (Some(journal.lock().counts()), journal.servers());
        }
        self.state.fill(&mut report, now);
        report
    }

    /// The name of this server that the settings give it.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.settings.name.as_deref()
    }

    /// How many servers are in contact through Redis, this one included; `None` where this one is not.
    #[must_use]
    pub fn contacts(&self) -> Option<u32> {
        self.peers.are_in_contact(clock::now()).then(|| self.peers.instances())
    }

    /// Whether there is something for Redis.
    pub(crate) fn is_waiting(&self) -> bool {
        self.events.is_waiting()
            || self.tables().iter().any(|table| table.is_waiting())
            || self.journal().is_some_and(|journal| journal.lock().has_more())
    }

    pub(crate) fn tables(&self) -> RwLockReadGuard<'_, Vec<Arc<SharedTable>>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call of a script that exchanges these keys.
    pub(crate) fn exchange_command(&self, table: &SharedTable, keys: &[(SharedKey, Consumption)]) -> Cmd {
        redis_link::exchange_command(&self.settings, table, keys)
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Drop for FleetThread {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}
