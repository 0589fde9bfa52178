//! The state of the watch, for the status.

use std::sync::{Arc, Mutex, PoisonError};

/// How the containers and their routes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainersReport {
    /// Where the API is.
    pub api: String,
    /// Whether its events arrive.
    pub is_connected: bool,
    /// Addresses of running containers that have routes.
    pub servers: usize,
    /// Hosts of containers.
    pub hosts: usize,
    /// Routes to containers.
    pub routes: usize,
    /// Changes of the settings that were made.
    pub changes: u64,
    /// Errors of the API, and connections that were lost.
    pub errors: u64,
    /// The last of them.
    pub last_error: Option<String>,
    /// Labels, and files of hosts, that are refused, and why: the first of them.
    pub refused: Vec<String>,
}

/// A report that a thread keeps up to date. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub struct SharedReport(Arc<Mutex<ContainersReport>>);

impl SharedReport {
    /// The report as it is now.
    #[must_use]
    pub fn get(&self) -> ContainersReport {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut ContainersReport)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
