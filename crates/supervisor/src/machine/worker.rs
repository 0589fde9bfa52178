//! A worker process.

use std::time::Duration;

/// A process that the supervisor started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The number of its start.
    pub generation: u64,
    /// Its process id.
    pub pid: u32,
    /// When it was started.
    pub since: Duration,
    /// Whether it got the signal that ends it.
    pub told_to_end: bool,
}

impl Worker {
    /// When another may be started in its place.
    pub(super) fn next_start(&self, interval: Duration) -> Duration {
        self.since.saturating_add(interval.max(LEAST_INTERVAL))
    }
}

/// With `--interval=0` a command that fails at once would otherwise be started some hundred times each second.
pub(super) const LEAST_INTERVAL: Duration = Duration::from_millis(100);
