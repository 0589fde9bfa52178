//! The options of `serow supervise`: those of Server::Starter's start_server, and a few more.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use serow_config::values::{Count, Seconds};
use serow_supervisor::{HealthUrl, LogDestination, Port, SignalName};

/// The options of `serow supervise`.
#[derive(Debug, Args)]
// start_server takes the last one of an option that is given twice, and options that are cut short.
#[command(args_override_self = true, infer_long_args = true, disable_version_flag = true)]
pub(crate) struct SuperviseArguments {
    /// The server command and its arguments.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) sockets: SocketArguments,
    #[command(flatten)]
    pub(crate) workers: WorkerArguments,
    #[command(flatten)]
    pub(crate) replacement: ReplacementArguments,
    #[command(flatten)]
    pub(crate) files: SupervisorFiles,
    #[command(flatten)]
    pub(crate) control: ControlArguments,

    /// Print the version.
    #[arg(long)]
    pub(crate) version: bool,

    /// Internal: replace this process by the worker.
    #[arg(long, hide = true)]
    pub(crate) become_worker: bool,

    /// Internal: replace this process by the program of an application.
    #[arg(long, hide = true)]
    pub(crate) become_program: bool,
}

/// Listening sockets.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub(crate) struct SocketArguments {
    /// Listen on this port: PORT, HOST:PORT or [IPV6]:PORT, with u before the number for UDP, and =FD for a fixed
    /// descriptor (repeatable).
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<Port>,

    /// Listen on a unix socket at this path (repeatable).
    ///
    /// An existing socket file is removed first. All users may connect; to restrict access, put the socket
    /// into a folder with restricted permissions.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<PathBuf>,

    /// Maximum number of connections that wait to be accepted, for each socket.
    ///
    /// The kernel caps it at the sysctl net.core.somaxconn.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) backlog: Count<1, 0x7fff_ffff>,
}

/// The worker processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArguments {
    /// Number of processes of the command.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: Count<1, 1024>,

    /// Working directory of the command.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// Folder with a file for each environment variable of the command; it is read again before each start.
    #[arg(long, value_name = "DIR")]
    pub(crate) envdir: Option<PathBuf>,

    /// How long a new process must run until it counts as started; also the minimum time between two starts.
    #[arg(long, value_name = "TIME", default_value = "1")]
    pub(crate) interval: Seconds,

    /// URL for readiness checks: a new process counts as started only when this URL returns 200.
    ///
    /// {generation} and {pid} are replaced by those of the new process. If old and new processes listen on the same
    /// address, either may answer: the application can compare {generation} with SERVER_STARTER_GENERATION and return
    /// 503 if they differ. http://unix:/run/app.sock:/up uses a unix socket. The certificate of an https URL is not
    /// verified.
    #[arg(long, value_name = "URL")]
    pub(crate) health_url: Option<HealthUrl>,

    /// Time limit for --health-url to return 200; after that the new process is killed and started again.
    #[arg(long, value_name = "TIME", default_value = "60")]
    pub(crate) start_timeout: Seconds,
}

/// How workers are replaced and stopped.
#[derive(Debug, Args)]
#[command(next_help_heading = "Replacing")]
pub(crate) struct ReplacementArguments {
    /// Signal that stops a replaced process.
    #[arg(long, value_name = "SIGNAL", default_value = "TERM")]
    pub(crate) signal_on_hup: SignalName,

    /// Signal that stops the processes when the supervisor receives TERM.
    #[arg(long, value_name = "SIGNAL", default_value = "TERM")]
    pub(crate) signal_on_term: SignalName,

    /// How long old processes keep running beside the new ones [default: 5 with --enable-auto-restart, else 0]
    #[arg(long, value_name = "TIME")]
    pub(crate) kill_old_delay: Option<Seconds>,

    /// Replace the processes at regular intervals.
    #[arg(long)]
    pub(crate) enable_auto_restart: bool,

    /// Interval of --enable-auto-restart [default: 360]
    #[arg(long, value_name = "TIME")]
    pub(crate) auto_restart_interval: Option<Seconds>,
}

/// Files of the supervisor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Supervisor")]
pub(crate) struct SupervisorFiles {
    /// File for the process ID of the supervisor; locked while it runs.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,

    /// File with a line GENERATION:PID for each running process.
    ///
    /// While starts fail, a file of the same name with the suffix .failure contains GENERATION:STATUS of the last
    /// failure.
    #[arg(long, value_name = "FILE")]
    pub(crate) status_file: Option<PathBuf>,

    /// Append standard output and standard error to this file, or pipe them to a command: '| COMMAND'.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<LogDestination>,

    /// Run in the background; requires --log-file.
    #[arg(long)]
    pub(crate) daemonize: bool,
}

/// Control of a running supervisor.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control")]
pub(crate) struct ControlArguments {
    /// Make the supervisor of --pid-file replace its processes, and wait until it is done; requires --status-file.
    ///
    /// The command fails after five failed starts. The old process then keeps running, and the supervisor
    /// keeps trying.
    #[arg(long, conflicts_with = "stop")]
    pub(crate) restart: bool,

    /// Stop the supervisor of --pid-file, and wait until it has ended.
    #[arg(long)]
    pub(crate) stop: bool,
}
