//! What a machine is told.

/// What happened.
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
    /// A worker said READY=1.
    Notified(u32),
    /// A worker answered as it should.
    Healthy(u32),
    /// A process ended, with the status of wait(2).
    Exited(u32, i32),
    /// A new generation is wanted.
    Hangup,
    /// The end is wanted, by the signal of this name.
    Stop(&'static str),
    /// Time passed.
    Tick,
}
