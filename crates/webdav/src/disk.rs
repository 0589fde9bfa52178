//! Whether the disk of a folder takes data at once.
//!
//! A write of some 10 KB is a copy to memory, which takes less time than to wake another thread twice. But when the kernel
//! has more data in memory than the disk takes, or the file system is at the other end of a network, a write waits.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// How fast the writes to a folder were, shared by all threads.
#[derive(Debug, Default)]
pub(crate) struct Disk {
    /// Until when writes are not made on the thread of the connections, in seconds since 1970.
    slow_until: AtomicU64,
}

impl Disk {
    /// Whether writes may be made on the thread of the connections.
    pub(crate) fn is_fast(&self, now: u64) -> bool {
        now >= self.slow_until.load(Ordering::Relaxed)
    }

    /// Notes how long a write took.
    pub(crate) fn note(&self, time: Duration, now: u64) {
        if time > SLOW {
            self.slow_until.store(now.saturating_add(SLOW_SECONDS), Ordering::Relaxed);
        }
    }
}

/// A hundred times as long as the copy takes. Other requests of the thread have waited so long.
const SLOW: Duration = Duration::from_millis(5);

/// So one request in ten seconds may meet a slow write, for each folder.
const SLOW_SECONDS: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_slow_write_other_threads_write_for_some_seconds() {
        let disk = Disk::default();
        disk.note(Duration::from_millis(1), 100);
        assert!(disk.is_fast(100));
        disk.note(Duration::from_millis(6), 100);
        disk.note(Duration::from_millis(1), 101);
        assert_eq!([100, 109, 110].map(|now| disk.is_fast(now)), [false, false, true]);
    }
}
