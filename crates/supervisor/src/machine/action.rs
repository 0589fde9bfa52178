//! The actions of a supervisor's machine.

/// An action for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Spawn a worker; the next event must be [`Event::Spawned`](super::Event::Spawned) or
    /// [`Event::NotSpawned`](super::Event::NotSpawned).
    Spawn(u64),
    /// Send this signal to these processes.
    Kill(String, Vec<u32>),
    /// Write this line to the log.
    Log(String),
    /// Write these workers to the status file, in this order.
    WriteStatus(Vec<(u64, u32)>),
    /// Record that the start of this generation failed, with this status of wait(2).
    WriteFailure(u64, i32),
    /// Report that all workers are up.
    Ready,
    /// End the supervisor.
    Exit,
}
