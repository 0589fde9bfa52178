//! The settings of a supervisor.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{HealthUrl, LogDestination, Port, SignalName};

/// The settings of a supervisor.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The command of the worker, and its arguments.
    pub command: Vec<OsString>,
    /// The prefix of the command when it is spawned: a program that calls [`become_worker`](crate::become_worker).
    pub launcher: Vec<OsString>,
    /// The number of workers.
    pub workers: usize,
    /// The TCP and UDP ports to listen on.
    pub ports: Vec<Port>,
    /// The unix sockets to listen on.
    pub paths: Vec<PathBuf>,
    /// The backlog of each socket; the kernel limits it to `net.core.somaxconn`.
    pub backlog: u32,
    /// How long a new worker has to run before it counts as started.
    pub interval: Duration,
    /// Instead: the health check that a new worker has to pass before it counts as started.
    pub health: Option<HealthUrl>,
    /// The timeout of that.
    pub start_timeout: Duration,
    /// The signal that ends a replaced worker.
    pub signal_on_hup: SignalName,
    /// The signal that ends the workers when the supervisor receives TERM.
    pub signal_on_term: SignalName,
    /// How long old workers keep running beside the new ones.
    pub kill_old_delay: Option<Duration>,
    /// Whether generations are replaced periodically.
    pub auto_restart: bool,
    /// The period.
    pub auto_restart_interval: Option<Duration>,
    /// A folder with a file for each environment variable.
    pub environment_folder: Option<PathBuf>,
    /// The file with the supervisor's process id.
    pub pid_file: Option<PathBuf>,
    /// The file with the workers' process ids.
    pub status_file: Option<PathBuf>,
    /// The destination of standard output and error.
    pub log: Option<LogDestination>,
    /// Whether the supervisor daemonizes.
    pub daemonize: bool,
}
