//! What a machine says.

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A worker is to be spawned; [`Event::Spawned`](super::Event::Spawned) or
    /// [`Event::NotSpawned`](super::Event::NotSpawned) is to follow before anything else.
    Spawn(u64),
    /// These processes are to get this signal.
    Kill(String, Vec<u32>),
    /// This is to be written into the log.
    Log(String),
    /// These workers are the ones that count, in the order of the status file.
    WriteStatus(Vec<(u64, u32)>),
    /// The start of this generation failed, with this status of wait(2).
    WriteFailure(u64, i32),
    /// All workers that are wanted are up.
    Ready,
    /// The supervisor is to end.
    Exit,
}
