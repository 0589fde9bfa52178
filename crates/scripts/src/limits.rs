//! How much a script may use.

use std::time::Duration;

/// How much a script may use: a script that loops or grows must not take the server from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Bytes that a state may have: each thread has one per script, for all its requests.
    pub memory: usize,
    /// How long the functions of a script may compute for one request; waiting does not count.
    pub time: Duration,
}

impl Default for ScriptLimits {
    /// 16 MB, and 50 ms: a hundred times what the longest of the examples takes.
    fn default() -> Self {
        Self { memory: 16 << 20, time: Duration::from_millis(50) }
    }
}
