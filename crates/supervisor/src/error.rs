//! Why a supervisor does not start, or cannot be told what to do.

use std::{
    error::Error,
    fmt, io,
    path::{Path, PathBuf},
};

/// Why a supervisor does not start, or cannot be told what to do. The message is one line that says what to do.
#[derive(Debug)]
pub enum SupervisorError {
    /// There is no such host.
    Unknown(String),
    /// A port cannot be listened at.
    Bind(String, io::Error),
    /// A unix socket cannot be listened at.
    Path(PathBuf, String),
    /// A socket cannot have this number.
    Place(String, i32, io::Error),
    /// A file cannot be read or written.
    File(&'static str, PathBuf, io::Error),
    /// Another supervisor, with this process id, holds the pid file.
    Running(PathBuf, String),
    /// No supervisor holds the pid file.
    NotRunning(PathBuf),
    /// The pid file does not say which process it is.
    NoProcess(PathBuf),
    /// The supervisor may not be signalled.
    Signal(i32, io::Error),
    /// The status file names no generation.
    NoGeneration(PathBuf),
    /// The new generation failed to start so often, the last time with this status of wait(2).
    NotStarted(u64, i32),
    /// The supervisor ended while a new generation was awaited.
    Ended(i32),
    /// The system refuses what every supervisor needs.
    System(&'static str, io::Error),
}

impl SupervisorError {
    pub(crate) fn path(path: &Path, reason: &str) -> Self {
        Self::Path(path.to_owned(), reason.to_owned())
    }
}

impl fmt::Display for SupervisorError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(formatter, "--port {name}: there is no such host; write its IPv4 address"),
            Self::Bind(name, error) => match error.kind() {
                io::ErrorKind::AddrInUse => {
                    write!(
                        formatter,
                        "failed to bind to {name}: it is in use by another program; choose another, or stop it"
                    )
                }
                _ => write!(formatter, "failed to bind to {name}: {error}"),
            },
            Self::Path(path, reason) => write!(formatter, "failed to listen to file {}: {reason}", path.display()),
            Self::Place(name, number, error) => {
                write!(formatter, "the socket of {name} cannot be descriptor {number}: {error}; choose another number")
            }
            Self::File(option, path, error) => write!(formatter, "{option} {}: {error}", path.display()),
            Self::Running(path, pid) => write!(
                formatter,
                "--pid-file {}: another supervisor runs, process {pid}; stop it with --stop, or name another file",
                path.display()
            ),
            Self::NotRunning(path) => write!(
                formatter,
                "--pid-file {}: no supervisor runs that wrote it; start one, or name the file of one that runs",
                path.display()
            ),
            Self::NoProcess(path) => write!(formatter, "--pid-file {}: there is no process id in it", path.display()),
            Self::Signal(pid, error) => write!(formatter, "cannot signal the supervisor, process {pid}: {error}"),
            Self::NoGeneration(path) => write!(
                formatter,
                "--status-file {}: no active process found in the status file; wait until the first worker is up",
                path.display()
            ),
            Self::NotStarted(times, status) => write!(
                formatter,
                "the new worker failed to start {times} times, the last time with exit status:{status}; \
                 the old one goes on; see the log for the reason"
            ),
            Self::Ended(pid) => {
                write!(formatter, "the supervisor, process {pid}, ended before the new worker was up; see its log")
            }
            Self::System(what, error) => write!(formatter, "{what}: {error}"),
        }
    }
}

impl Error for SupervisorError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Bind(_, error)
            | Self::Place(_, _, error)
            | Self::File(_, _, error)
            | Self::Signal(_, error)
            | Self::System(_, error) => Some(error),
            Self::Unknown(_)
            | Self::Path(..)
            | Self::Running(..)
            | Self::NotRunning(_)
            | Self::NoProcess(_)
            | Self::NoGeneration(_)
            | Self::NotStarted(..)
            | Self::Ended(_) => None,
        }
    }
}
