//! What the generations' machine says.

use super::ending::Ending;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A generation of this number is to be spawned; [`Event::Spawned`](super::event::Event::Spawned) or
    /// [`Event::NotSpawned`](super::event::Event::NotSpawned) is to follow before anything else.
    Spawn(u64, Source),
    /// A reload has begun.
    Reloading,
    /// This generation, with this process id, serves from now on.
    Serving(u64, u32),
    /// The process is to be told to leave.
    Leave(u32, Way),
    /// The process is to be killed.
    Kill(u32),
    /// This generation has left.
    Left(u64, u32, Ending),
    /// The generation that served is gone.
    Crashed(u64, u32, Ending),
    /// This generation could not start, for this reason.
    NotStarted(u64, String),
    /// Who asked for a reload is to know what became of it: the number of the generation that serves now, or what is wrong.
    Answer(u64, Result<u64, String>),
    /// Nobody is to connect any more.
    Close,
    /// The master is to end.
    Exit,
}

/// Where a generation's settings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The file, as it is now.
    File,
    /// What the generation had that served last: the file may have become wrong in the meantime.
    Accepted,
}

/// How a generation is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Another one serves.
    Replaced,
    /// The server ends.
    Stopped,
    /// The server ends, and nothing is finished.
    AtOnce,
}
