//! The pace of warnings: one a minute about what may happen thousands of times in a second.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::monotonic;

/// Whether a warning of one kind is due: once a minute. Threads share it, without a lock.
#[derive(Debug, Default)]
pub struct WarningPace {
    /// The second of the last warning, and one; 0 before the first.
    last: AtomicU64,
}

impl WarningPace {
    /// One that has not warned yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: AtomicU64::new(0) }
    }

    /// Whether to warn now. The next time is a minute later at the earliest.
    pub fn is_due(&self) -> bool {
        self.is_due_at(monotonic())
    }

    /// The same at this moment.
    fn is_due_at(&self, now: Duration) -> bool {
        let (now, last) = (now.as_secs() + 1, self.last.load(Ordering::Relaxed));
        // Of the threads that come at once, one warns.
        (last == 0 || now >= last + INTERVAL)
            && self.last.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// In seconds: a kind of warning has a line a minute, whatever happens.
const INTERVAL: u64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_warning_a_minute_is_due() {
        let pace = WarningPace::new();
        // Not each minute of the clock: two warnings might have a second between them.
        let due = [0, 0, 59, 60, 119, 179, 180, 239].map(|second| pace.is_due_at(Duration::from_secs(second)));
        assert_eq!(due, [true, false, false, true, false, true, false, true]);
    }
}
