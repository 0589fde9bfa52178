//! What a machine is to keep to.

use std::time::Duration;

/// What does not change while the supervisor runs.
#[derive(Clone, Debug)]
pub struct MachineSettings {
    /// How many workers there are at a time.
    pub workers: usize,
    /// How long a new worker has to live to count as started, and how far apart two starts are at least.
    pub interval: Duration,
    /// By what a worker counts as started.
    pub readiness: Readiness,
    /// The signal that ends a worker that was replaced, without `SIG`.
    pub signal_on_hup: String,
    /// The signal that ends the workers when TERM ends the supervisor, without `SIG`.
    pub signal_on_term: String,
}

/// By what a worker counts as started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It lives for the interval, or says before that it is ready.
    Interval,
    /// It answers as it should, within this time; otherwise it is killed.
    Health(Duration),
}

/// What may change at any time, since it stands in environment files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// How long a generation lives, if that is limited.
    pub auto_restart: Option<Duration>,
    /// How long the old workers go on beside the new ones.
    pub kill_old_delay: Duration,
}
