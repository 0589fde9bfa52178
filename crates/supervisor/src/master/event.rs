//! The events of the generations' machine.

use super::{control::WantedProcess, ending::Ending, server_generations::StopTimeouts};

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The generation that [`Action::Spawn`](super::action::Action::Spawn) asked for has this process id.
    Spawned(u32),
    /// It could not be spawned, for this reason.
    NotSpawned(String),
    /// The process is ready to serve. `adopts`: it may be asked to adopt other settings.
    Ready { pid: u32, timeouts: StopTimeouts, adopts: bool },
    /// The process, which leaves, accepts no more connections.
    StoppedAccepting(u32),
    /// The process cannot serve, for this reason, and ends.
    Failed(u32, String),
    /// The process has ended.
    Exited(u32, Ending),
    /// A reload was requested; the number of the request to answer, if any.
    Reload { asking: Option<u64>, process: WantedProcess },
    /// The process reads the settings of the adoption with this number.
    BeginsToAdopt(u32, u64),
    /// The process serves with the settings of the adoption with this number.
    Adopted(u32, u64),
    /// The process has not adopted them.
    NotAdopted(u32, u64, NotAdopted),
    /// Stop the server; a second time: at once.
    Stop,
    /// Time passed.
    Tick,
}

/// Why a generation has not adopted settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotAdopted {
    /// They need a process of their own, for this reason.
    NeedsProcess(String),
    /// They cannot be read, or are invalid.
    Refused(String),
}
