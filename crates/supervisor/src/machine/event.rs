//! The events of a supervisor's machine.

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A worker that [`Action::Spawn`](super::Action::Spawn) asked for has this process id.
    Spawned {
        /// As in the action.
        generation: u64,
        /// The process id.
        pid: u32,
    },
    /// A worker could not be spawned, for this reason.
    NotSpawned(String),
    /// A worker sent READY=1.
    Notified(u32),
    /// A worker passed its health check.
    Healthy(u32),
    /// A process ended, with the status of wait(2).
    Exited(u32, i32),
    /// A restart was requested.
    Hangup,
    /// The signal of this name stops the supervisor.
    Stop(&'static str),
    /// Time passed.
    Tick,
}
