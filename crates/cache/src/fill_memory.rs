//! The memory of contents that are arriving.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// The memory that all contents may take while they arrive: clients that read slowly must not collect contents of fast
/// origins without end.
#[derive(Debug)]
pub struct FillMemory {
    used: AtomicUsize,
    limit: usize,
}

impl FillMemory {
    /// So many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { used: AtomicUsize::new(0), limit })
    }

    /// Takes so many bytes, which have arrived already; whether there is memory for more.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        self.used.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.limit
    }

    /// Whether so many bytes can be taken.
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.limit
    }

    /// Gives so many bytes back.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes that are taken.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}
