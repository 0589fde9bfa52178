//! The actions of the generations' machine.

use super::{control::Reloaded, ending::Ending};

/// An action for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Spawn the generation with this number; [`Event::Spawned`](super::event::Event::Spawned) or
    /// [`Event::NotSpawned`](super::event::Event::NotSpawned) must be the next event.
    Spawn(u64, Source),
    /// A reload has begun, with a new process.
    Reloading,
    /// A reload has begun: have the serving generation, with this process id, adopt the settings of the file. The
    /// adoption has this number; [`Event::Adopted`](super::event::Event::Adopted) or
    /// [`Event::NotAdopted`](super::event::Event::NotAdopted) follows.
    Adopt(u64, u32),
    /// This generation, with this process id, has adopted the settings.
    Adopted(u64, u32),
    /// The reload that has begun needs a new process, for this reason.
    NeedsProcess(String),
    /// The serving generation has refused the settings, for this reason.
    NotAdopted(String),
    /// This generation, with this process id, serves from now on; the one before may still accept connections.
    Serving(u64, u32),
    /// The serving generation is the only one that accepts connections.
    Alone(u64, u32),
    /// This generation, which was replaced, has not reported the end of accepting in time.
    StillAccepts(u64, u32),
    /// Tell the process to drain and exit.
    Leave(u32, Way),
    /// Kill the process.
    Kill(u32),
    /// This generation has exited.
    Left(u64, u32, Ending),
    /// The serving generation has crashed.
    Crashed(u64, u32, Ending),
    /// This generation could not start, for this reason.
    NotStarted(u64, String),
    /// Answer a reload request with its outcome, or the error.
    Answer(u64, Result<Reloaded, String>),
    /// Close the sockets.
    Close,
    /// End the master.
    Exit,
}

/// The source of a generation's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The current file.
    File,
    /// The settings of the last serving generation: the file may have become invalid since.
    Accepted,
}

/// How a generation has to exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Gracefully: another one serves.
    Replaced,
    /// Gracefully: the server ends.
    Stopped,
    /// At once, without finishing requests.
    AtOnce,
}
