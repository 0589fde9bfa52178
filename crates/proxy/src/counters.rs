//! Counters of a server.

use std::sync::atomic::{AtomicU64, Ordering};

/// Events at a server since it was added.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Attempts, those that failed included.
    pub(crate) requests: Counter,
    /// Attempts that failed, or were answered with 502, 503 or 504.
    pub(crate) failures: Counter,
    /// Requests that went to another server, or here once more.
    pub(crate) retries: Counter,
    /// Connections that were opened.
    pub(crate) connections: Counter,
    /// Responses that were cut off.
    pub(crate) cut: Counter,
    /// Connections that were closed because the server sent bytes that were not part of a response.
    pub(crate) unsolicited: Counter,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
