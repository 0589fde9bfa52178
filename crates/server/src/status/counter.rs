//! Counters that one thread writes and any thread reads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that only its worker's thread changes. So a change is a plain load and store, without a lock prefix; other
/// threads see it a moment later.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// Adds this many.
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
    }

    /// Subtracts this many, for a counter of things that exist now.
    #[inline]
    pub(crate) fn take_away(&self, number: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(number), Ordering::Relaxed);
    }

    /// Counts one more until the guard is dropped.
    pub(crate) fn enter(&self) -> Present<'_> {
        self.add(1);
        Present(self)
    }

    /// The current value.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts one until it is dropped.
#[derive(Debug)]
pub(crate) struct Present<'a>(&'a Counter);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.take_away(1);
    }
}
