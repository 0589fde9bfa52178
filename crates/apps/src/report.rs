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
    /// Its current workers and requests.
    pub counts: WorkerCounts,
    /// Requests that were passed to the pool.
    pub requests: u64,
    /// Workers that were replaced for their age or memory, or that exited on their own.
    pub replaced: u64,
    /// Workers that ended unasked, those included that took too long.
    pub deaths: u64,
}

/// The changes of workers, as the worker manager counts them.
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
