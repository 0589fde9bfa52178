//! The journal of the process that serves: one thread exchanges it with Redis, another one executes its commands.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{FleetJournal, JournalCounts, ServerId};

/// The journal of the process that serves.
pub struct SharedJournal {
    journal: Mutex<FleetJournal>,
    functions: JournalFunctions,
    servers: Mutex<Vec<ServerReport>>,
}

/// The functions that the journal needs of its process. The thread that talks to Redis calls these: they must not block.
pub struct JournalFunctions {
    /// The time, in microseconds since 1970.
    pub clock: fn() -> u64,
    /// Called when there are commands to execute.
    pub notify: Box<dyn Fn() + Send + Sync>,
    /// Returns the text that this server tells the others about itself, on one line of at most [`MAX_REPORT`] bytes.
    pub report: Box<dyn Fn(&JournalCounts) -> String + Send + Sync>,
}

/// The text that a server of the fleet has told about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerReport {
    /// The server.
    pub server: ServerId,
    /// How long ago it was.
    pub age: Duration,
    /// Its text. Any program that can write to Redis may have written it.
    pub text: String,
}

impl SharedJournal {
    /// This journal.
    #[must_use]
    pub fn new(journal: FleetJournal, functions: JournalFunctions) -> Self {
        Self { journal: Mutex::new(journal), functions, servers: Mutex::default() }
    }

    /// The journal, for the moment.
    pub fn lock(&self) -> MutexGuard<'_, FleetJournal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time, in microseconds since 1970.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.functions.clock)()
    }

    /// The servers that have told about themselves within an hour, this one included, the latest first.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerReport> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says that there are commands to execute, if there are any.
    pub(crate) fn notify(&self) {
        let is_waiting = self.lock().next_waiting().is_some();
        if is_waiting {
            (self.functions.notify)();
        }
    }

    /// The server, and what it tells the others.
    pub(crate) fn report(&self) -> (ServerId, String) {
        let (server, counts) = {
            let journal = self.lock();
            (journal.server(), journal.counts())
        };
        (server, (self.functions.report)(&counts))
    }

    pub(crate) fn set_servers(&self, mut servers: Vec<ServerReport>) {
        servers.sort_by_key(|report| (report.age, report.server));
        *self.servers.lock().unwrap_or_else(PoisonError::into_inner) = servers;
    }
}

impl fmt::Debug for SharedJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedJournal").finish_non_exhaustive()
    }
}

/// The longest report, in bytes: all of them are received by all servers.
pub const MAX_REPORT: usize = 2048;
