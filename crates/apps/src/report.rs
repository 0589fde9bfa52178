//! How an application is doing.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{pool::WorkerCounts, shared_state::Shared};

/// How an application is doing, since its first workers were started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationReport {
    /// How it is called.
    pub name: String,
    /// How many workers it is to have.
    pub wanted: usize,
    /// Its workers and what they do, just now.
    pub counts: WorkerCounts,
    /// Requests that have asked for a worker.
    pub requests: u64,
    /// Workers that gave way to others, for their age or their memory, or since they wished to.
    pub replaced: u64,
    /// Workers that ended unasked, those included that took too long.
    pub deaths: u64,
}

/// What becomes of workers, as their keeper counts it.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    replaced: AtomicU64,
    deaths: AtomicU64,
}

impl Changes {
    /// A worker gives way to another one.
    pub(crate) fn count_replaced(&self) {
        self.replaced.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker ended unasked.
    pub(crate) fn count_death(&self) {
        self.deaths.fetch_add(1, Ordering::Relaxed);
    }
}

impl ApplicationReport {
    /// How it is now.
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            name: shared.settings.run.name.clone(),
            wanted: shared.settings.run.processes.get(),
            counts: shared.counts(),
            requests: shared.requests(),
            replaced: shared.changes.replaced.load(Ordering::Relaxed),
            deaths: shared.changes.deaths.load(Ordering::Relaxed),
        }
    }
}
