//! How requests wait while nobody has room for them.

use std::time::Duration;

/// How requests wait while all servers, or all workers of an application, have as many as they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSettings {
    /// How many may wait in all threads together; 1,024. Those beyond are refused at once.
    pub length: usize,
    /// How long each waits; 5 s.
    pub timeout: Duration,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { length: 1024, timeout: Duration::from_secs(5) }
    }
}
