//! The settings of a supervisor's machine.

use std::time::Duration;

/// The settings that do not change while the supervisor runs.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// The number of workers.
    pub workers: usize,
    /// How long a new worker has to run before it counts as started, and the minimum interval between two starts.
    pub interval: Duration,
    /// The condition under which a worker counts as started.
    pub readiness: Readiness,
    /// The signal that ends a worker that was replaced, without `SIG`.
    pub signal_on_hup: String,
    /// The signal that ends the workers when TERM ends the supervisor, without `SIG`.
    pub signal_on_term: String,
}

/// The condition under which a worker counts as started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It runs for the interval, or reports earlier that it is ready.
    Interval,
    /// It passes the health check within this time; otherwise it is killed.
    Health(Duration),
}

/// The settings that may change at any time, since they are in environment files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The period after which a generation is replaced, if any.
    pub auto_restart: Option<Duration>,
    /// How long the old workers keep running beside the new ones.
    pub kill_old_delay: Duration,
}
