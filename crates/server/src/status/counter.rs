//! Numbers that one thread writes and any thread reads.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only its worker's thread changes. So a change is a plain load and store, without a lock prefix; who reads
/// from elsewhere sees it a moment later.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    /// So many more.
    #[inline]
    pub(crate) fn add(&self, number: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
    }

    /// So many fewer, of a number that says how many there are.
    #[inline]
    pub(crate) fn take_away(&self, number: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(number), Ordering::Relaxed);
    }

    /// One more until the guard is dropped.
    pub(crate) fn enter(&self) -> Present<'_> {
        self.add(1);
        Present(self)
    }

    /// The number.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One of those that a counter counts, as long as it lives.
#[derive(Debug)]
pub(crate) struct Present<'a>(&'a Counter);

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.take_away(1);
    }
}
