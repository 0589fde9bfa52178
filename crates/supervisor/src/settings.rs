//! What is wanted of a supervisor.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{HealthUrl, LogDestination, Port, SignalName};

/// What is wanted of a supervisor.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command of the worker, and its arguments.
    pub command: Vec<OsString>,
    /// What stands before the command when it is spawned: a program that ends with [`become_worker`](crate::become_worker).
    pub launcher: Vec<OsString>,
    /// How many workers there are at a time.
    pub workers: usize,
    /// Where it listens, TCP and UDP.
    pub ports: Vec<Port>,
    /// Where it listens, unix sockets.
    pub paths: Vec<PathBuf>,
    /// How many connections may wait to be accepted, for each socket; the kernel lowers it to `net.core.somaxconn`.
    pub backlog: u32,
    /// How long a new worker has to live to count as started.
    pub interval: Duration,
    /// What a new worker has to answer to count as started, instead.
    pub health: Option<HealthUrl>,
    /// How long it may take until it does.
    pub start_timeout: Duration,
    /// The signal for a worker that was replaced.
    pub signal_on_hup: SignalName,
    /// The signal for the workers when the supervisor gets TERM.
    pub signal_on_term: SignalName,
    /// How long old workers go on beside the new ones.
    pub kill_old_delay: Option<Duration>,
    /// Whether generations are replaced after some time.
    pub auto_restart: bool,
    /// After how long.
    pub auto_restart_interval: Option<Duration>,
    /// A folder with a file for each environment variable.
    pub environment_folder: Option<PathBuf>,
    /// The file with the supervisor's process id.
    pub pid_file: Option<PathBuf>,
    /// The file with the workers' process ids.
    pub status_file: Option<PathBuf>,
    /// Where standard output and error go.
    pub log: Option<LogDestination>,
    /// Whether it goes on in the background.
    pub daemonize: bool,
}
