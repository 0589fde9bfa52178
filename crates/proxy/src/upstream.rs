//! A group of servers that answer the same requests.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use serow_client::Destination;

use crate::{
    address::Place,
    queue::Room,
    retry::Budget,
    server::Server,
    settings::{ServerSettings, UpstreamSettings},
};

/// A group of servers that answer the same requests: what all threads share of it. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Upstream {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Different for every upstream of this process.
    number: usize,
    settings: UpstreamSettings,
    servers: Mutex<Arc<[Arc<Server>]>>,
    /// Counts the changes of the servers, so that threads look only when there is something to see.
    version: AtomicU64,
    room: Arc<Room>,
    budget: Budget,
}

impl Upstream {
    /// An upstream with the servers of its settings. Names are looked up by [`crate::Upkeep`]; until then they have no server.
    #[must_use]
    pub fn new(settings: UpstreamSettings) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let room = Arc::<Room>::default();
        let servers = settings.servers.iter().filter_map(|server| {
            let destination = known_destination(server)?;
            Some(Arc::new(Server::new(server.clone(), destination, &settings, Arc::clone(&room))))
        });
        let servers = Mutex::new(servers.collect());
        let number = NEXT.fetch_add(1, Ordering::Relaxed) as usize;
        let (version, budget) = (AtomicU64::new(1), Budget::default());
        Self { shared: Arc::new(Shared { number, settings, servers, version, room, budget }) }
    }

    /// Different for every upstream of this process, and small.
    pub(crate) fn number(&self) -> usize {
        self.shared.number
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

    /// Changes with the servers and their weights.
    pub(crate) fn version(&self) -> u64 {
        self.shared.version.load(Ordering::Acquire)
    }

    /// Changes the servers: the function gets those that there are, and gives those that there are to be, in their order.
    pub(crate) fn change_servers(&self, change: impl FnOnce(&[Arc<Server>]) -> Vec<Arc<Server>>) {
        let mut servers = self.shared.servers.lock().unwrap_or_else(PoisonError::into_inner);
        *servers = change(&servers).into();
        self.shared.version.fetch_add(1, Ordering::Release);
    }

    /// Where requests wait for a server to have room.
    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.shared.room
    }

    /// How many requests may be sent again.
    pub(crate) fn budget(&self) -> &Budget {
        &self.shared.budget
    }
}

/// Where a server is, if that is known without asking.
fn known_destination(server: &ServerSettings) -> Option<Destination> {
    match &server.address.place {
        Place::Tcp(address) => Some(Destination::Tcp(*address)),
        Place::Unix(path) => Some(Destination::Unix(path.clone())),
        Place::Name { .. } | Place::Service(_) => None,
    }
}
