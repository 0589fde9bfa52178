//! What the generations' machine is told.

use super::{ending::Ending, generations::StopTimeouts};

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The generation that [`Action::Spawn`](super::action::Action::Spawn) asked for has this process id.
    Spawned(u32),
    /// It could not be spawned, for this reason.
    NotSpawned(String),
    /// The process is ready to serve, and takes so long to leave one day.
    Ready(u32, StopTimeouts),
    /// The process says why it cannot serve. It ends now.
    Failed(u32, String),
    /// The process has ended.
    Exited(u32, Ending),
    /// A reload is wanted; somebody with this number wants to know what becomes of it.
    Reload(Option<u64>),
    /// The end is wanted. A second time: in haste.
    Stop,
    /// Time passed.
    Tick,
}
