//! A group of servers that answer the same requests.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serow_client::{Destination, NotReusable};
use serow_gateway::{CrashingRequests, LogLimit, WaitingQueue};
use serow_message::ServerLocation;
use serow_net::{Moment, SlotNumber};
use tokio::sync::{Notify, futures::Notified};

use crate::{
    outlier::{Ejection, EjectionChange, Outcome},
    retry::Budget,
    server::Server,
    settings::{ServerSettings, UpstreamSettings},
    warnings::warn_of_server,
};

/// A group of servers that answer the same requests, shared by all threads. Clones are handles to the same upstream.
#[derive(Clone, Debug)]
pub struct Upstream {
    shared: Arc<UpstreamState>,
}

#[derive(Debug)]
struct UpstreamState {
    /// By which threads find their connections.
    number: SlotNumber,
    /// Whether no settings have it any more.
    is_retired: AtomicBool,
    settings: UpstreamSettings,
    servers: Mutex<Arc<[Arc<Server>]>>,
    /// Servers given by name, each of which stands for all addresses of the name.
    named: Mutex<Vec<Arc<ServerSettings>>>,
    /// Counts the changes of the servers, so that threads look only after a change.
    version: AtomicU64,
    /// Notifies of these changes.
    changed: Notify,
    room: Arc<WaitingQueue>,
    budget: Budget,
    /// The limit for warnings about requests without an available server.
    refusals: LogLimit,
    /// Requests that crashed two servers each. Looked at when one crashes only.
    crashing: Mutex<CrashingRequests>,
}

impl Upstream {
    /// An upstream with the servers of its settings. Names are looked up by [`crate::BackgroundTasks`]; until then they
    /// have no server.
    #[must_use]
    pub fn new(settings: UpstreamSettings) -> Self {
        let room = Arc::<WaitingQueue>::default();
        let servers = settings.servers.iter().filter_map(|server| {
            let destination = known_destination(server)?;
            Some(Arc::new(Server::new(server.clone(), destination, &settings, Arc::clone(&room))))
        });
        let servers = Mutex::new(servers.collect());
        let named = settings.servers.iter().filter(|server| known_destination(server).is_none());
        let named = Mutex::new(named.cloned().map(Arc::new).collect());
        let (number, is_retired) = (SlotNumber::new(), AtomicBool::new(false));
        let (version, changed, budget) = (AtomicU64::new(1), Notify::new(), Budget::default());
        let (refusals, crashing) = (LogLimit::default(), Mutex::default());
        Self {
            shared: Arc::new(UpstreamState {
                number,
                is_retired,
                settings,
                servers,
                named,
                version,
                changed,
                room,
                budget,
                refusals,
                crashing,
            }),
        }
    }

    /// By which threads find their connections.
    pub(crate) fn number(&self) -> &SlotNumber {
        &self.shared.number
    }

    /// The same for all handles to the same upstream, and for no others at that time.
    #[must_use]
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// The settings that are in effect have it no more: threads close its idle connections within some seconds. Requests that
    /// it has already go on.
    pub fn retire(&self) {
        self.shared.is_retired.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.shared.is_retired.load(Ordering::Relaxed)
    }

    /// Requests that crashed two servers each.
    pub(crate) fn crashing(&self) -> MutexGuard<'_, CrashingRequests> {
        self.shared.crashing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &UpstreamSettings {
        &self.shared.settings
    }

    /// Its servers as they are now.
    #[must_use]
    pub fn servers(&self) -> Arc<[Arc<Server>]> {
        Arc::clone(&self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Its servers that are given by name.
    pub(crate) fn named(&self) -> Vec<Arc<ServerSettings>> {
        self.shared.named.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the servers that are given by name. The servers of a removed name are removed; those of a new one appear
    /// after its first lookup.
    pub(crate) fn change_named(&self, change: impl FnOnce(&mut Vec<Arc<ServerSettings>>)) {
        change(&mut self.shared.named.lock().unwrap_or_else(PoisonError::into_inner));
        let named = self.named();
        self.change_servers(|servers| {
            let stays = |server: &&Arc<Server>| {
                let settings = server.settings();
                known_destination(settings).is_some() || named.iter().any(|named| named.address == settings.address)
            };
            servers.iter().filter(stays).cloned().collect()
        });
    }

    /// The limit for warnings about requests without an available server.
    pub(crate) fn refusals(&self) -> &LogLimit {
        &self.shared.refusals
    }

    /// Creates a server for this upstream.
    pub(crate) fn new_server(&self, settings: ServerSettings, destination: Destination) -> Arc<Server> {
        Arc::new(Server::new(settings, destination, self.settings(), Arc::clone(self.room())))
    }

    /// The position of a server in the settings; later servers come after all of them.
    pub(crate) fn rank(&self, settings: &ServerSettings) -> usize {
        let servers = &self.settings().servers;
        servers.iter().position(|server| server.address == settings.address).unwrap_or(servers.len())
    }

    /// Changes with the servers and their weights.
    pub(crate) fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }

    /// Changes the servers: the function gets the current list and returns the new one, in order.
    pub(crate) fn change_servers(&self, change: impl FnOnce(&[Arc<Server>]) -> Vec<Arc<Server>>) {
        let mut servers = self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner);
        *servers = change(&servers).into();
        self.shared.version.fetch_add(1, Ordering::Release);
        drop(servers);
        self.shared.changed.notify_waiters();
        self.room().note_servers();
    }

    /// Ready when the servers have changed since this was made and enabled.
    pub(crate) fn changed(&self) -> Notified<'_> {
        self.shared.changed.notified()
    }

    /// Records the outcome of a request to one of its servers. At most half of the servers, rounded up, are ejected at
    /// once: if more fail, the cause is probably not theirs, and the others could not take the load.
    #[inline]
    pub(crate) fn note_outcome(&self, server: &Server, outcome: Outcome, now: Moment) {
        let may_eject = || {
            let servers = self.servers();
            let ejected = servers.iter().filter(|server| server.outlier.is_out()).count();
            ejected < servers.len().div_ceil(2)
        };
        let upstream = &self.settings().name;
        match server.outlier.note(outcome, now, &self.settings().passive, may_eject) {
            None => {}
            Some(EjectionChange::Ejected(Ejection { reason, length, .. })) => {
                tracing::warn!(upstream, "{} is ejected for {length:?}: {reason}", server.name());
            }
            Some(EjectionChange::Recovered) => {
                server.note_up(now);
                tracing::warn!(upstream, "{} is back in rotation", server.name());
            }
        }
    }

    /// An idle connection to one of its servers was closed. That servers close them is usual.
    #[cold]
    pub(crate) fn note_unusable(&self, server: &Server, why: NotReusable, now: Moment) {
        if why == NotReusable::Unsolicited {
            server.load.counters.unsolicited.add(1);
            warn_of_server(&self.settings().name, server, now, format_args!("closed a connection: {why}"));
        }
    }

    /// The queue of requests that wait for a server.
    pub(crate) fn room(&self) -> &Arc<WaitingQueue> {
        &self.shared.room
    }

    /// How many requests may be sent again.
    pub(crate) fn budget(&self) -> &Budget {
        &self.shared.budget
    }
}

/// The destination of a server, if it needs no DNS lookup.
pub(crate) fn known_destination(server: &ServerSettings) -> Option<Destination> {
    match &server.address.location {
        ServerLocation::Tcp(address) => Some(Destination::Tcp(*address)),
        ServerLocation::Unix(path) => Some(Destination::Unix(path.clone())),
        ServerLocation::Name { .. } | ServerLocation::Service(_) => None,
    }
}
