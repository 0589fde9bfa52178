//! Counters of an application: times of requests, changes of workers.

use std::sync::atomic::{AtomicU64, Ordering};

use serow_pacing::DelayHistogram;

use crate::pool::RequestTimes;

/// How long requests waited, and how long workers took.
#[derive(Debug, Default)]
pub(crate) struct Times {
    pub(crate) queued: DelayHistogram,
    pub(crate) worked: DelayHistogram,
}

impl Times {
    /// A worker has finished a request.
    pub(crate) fn count(&self, times: RequestTimes) {
        self.queued.record(times.queued, 1);
        self.worked.record(times.worked, 1);
    }
}

/// The changes of workers, as the worker manager counts them.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) replaced: AtomicU64,
    pub(crate) deaths: AtomicU64,
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
