//! The events of the generations' machine.

use super::{ending::Ending, server_generations::StopTimeouts};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The generation that [`Action::Spawn`](super::action::Action::Spawn) asked for has this process id.
    Spawned(u32),
    /// It could not be spawned, for this reason.
    NotSpawned(String),
    /// The process is ready to serve; its stop timeouts.
    Ready(u32, StopTimeouts),
    /// The process, which leaves, accepts no more connections.
    StoppedAccepting(u32),
    /// The process cannot serve, for this reason, and ends.
    Failed(u32, String),
    /// The process has ended.
    Exited(u32, Ending),
    /// A reload was requested; the number of the request to answer, if any.
    Reload(Option<u64>),
    /// Stop the server; a second time: at once.
    Stop,
    /// Time passed.
    Tick,
}
