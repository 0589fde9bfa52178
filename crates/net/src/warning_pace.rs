//! The pace of warnings: one a minute about what may happen thousands of times in a second.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use crate::monotonic;

/// Whether a warning of one kind is due: once a minute. Threads share it, without a lock.
#[derive(Debug, Default)]
pub struct WarningPace {
    /// The minute of the last warning, and one; 0 before the first.
    minute: AtomicU64,
}

impl WarningPace {
    /// One that has not warned yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { minute: AtomicU64::new(0) }
    }

    /// Whether to warn now. The next time is in the next minute at the earliest.
    pub fn is_due(&self) -> bool {
        self.is_due_at(monotonic())
    }

    /// The same at this moment.
    fn is_due_at(&self, now: Duration) -> bool {
        let minute = now.as_secs() / 60 + 1;
        self.minute.load(Ordering::Relaxed) != minute && self.minute.swap(minute, Ordering::Relaxed) != minute
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_warning_a_minute_is_due() {
        let pace = WarningPace::new();
        let due = [0, 0, 59, 60, 119, 120, 240].map(|second| pace.is_due_at(Duration::from_secs(second)));
        assert_eq!(due, [true, false, false, true, false, true, true]);
    }
}
