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
    /// The command that serves, and its arguments.
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

    /// Take the place of this process: how workers are begun.
    #[arg(long, hide = true)]
    pub(crate) become_worker: bool,

    /// Take the place of this process, as a program that an application is.
    #[arg(long, hide = true)]
    pub(crate) become_program: bool,
}

/// Where the server listens.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listening")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is help for a terminal: `[::1]` is an address")]
pub(crate) struct SocketArguments {
    /// Listen at this port: PORT, HOST:PORT, [IPV6]:PORT, with u before the number for UDP, =FD behind it (repeatable).
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Vec<Port>,

    /// Listen at a unix socket with this path (repeatable).
    ///
    /// A socket that is there is removed first. Everybody may connect; to change that, put it into a folder that not
    /// everybody may enter.
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<PathBuf>,

    /// Connections that may wait to be accepted, for each socket.
    ///
    /// The system lowers it to its own limit, the sysctl net.core.somaxconn.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) backlog: Count<1, 0x7fff_ffff>,
}

/// The processes that serve.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct WorkerArguments {
    /// How many processes of the command run at a time.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) workers: Count<1, 1024>,

    /// The folder in which the command is executed.
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,

    /// A folder with a file for each environment variable of the command; read again before each start.
    #[arg(long, value_name = "DIR")]
    pub(crate) envdir: Option<PathBuf>,

    /// How long a new process has to live to count as started, and how far apart two starts are at least.
    #[arg(long, value_name = "TIME", default_value = "1")]
    pub(crate) interval: Seconds,

    /// A new process counts as started when this URL answers 200, and not before.
    ///
    /// {generation} and {pid} in it stand for those of the new process. Where old and new ones listen at one address,
    /// either may be the one that answers: the application can compare {generation} with SERVER_STARTER_GENERATION and
    /// answer 503 if it is not meant. http://unix:/run/app.sock:/up asks at a unix socket. The certificate of https://
    /// is not checked.
    #[arg(long, value_name = "URL")]
    pub(crate) health_url: Option<HealthUrl>,

    /// How long --health-url may take to answer 200; then the new process is killed, and started again.
    #[arg(long, value_name = "TIME", default_value = "60")]
    pub(crate) start_timeout: Seconds,
}

/// How workers are replaced and ended.
#[derive(Debug, Args)]
#[command(next_help_heading = "Replacing")]
pub(crate) struct ReplacementArguments {
    /// The signal that ends a process that was replaced.
    #[arg(long, value_name = "SIGNAL", default_value = "TERM")]
    pub(crate) signal_on_hup: SignalName,

    /// The signal that ends the processes when the supervisor gets TERM.
    #[arg(long, value_name = "SIGNAL", default_value = "TERM")]
    pub(crate) signal_on_term: SignalName,

    /// How long the old processes go on beside the new ones [default: 5 with --enable-auto-restart, else 0]
    #[arg(long, value_name = "TIME")]
    pub(crate) kill_old_delay: Option<Seconds>,

    /// Replace the processes when some time has passed.
    #[arg(long)]
    pub(crate) enable_auto_restart: bool,

    /// After how long they are replaced [default: 360]
    #[arg(long, value_name = "TIME")]
    pub(crate) auto_restart_interval: Option<Seconds>,
}

/// What the supervisor writes, and where it runs.
#[derive(Debug, Args)]
#[command(next_help_heading = "Supervisor")]
pub(crate) struct SupervisorFiles {
    /// Write the supervisor's process id into this file, and keep it locked.
    #[arg(long, value_name = "FILE")]
    pub(crate) pid_file: Option<PathBuf>,

    /// Keep a line GENERATION:PID for each running process in this file.
    ///
    /// While starts fail, a file with .failure behind that name holds GENERATION:STATUS of the last one.
    #[arg(long, value_name = "FILE")]
    pub(crate) status_file: Option<PathBuf>,

    /// Append standard output and error to this file, or give them to a command: '| COMMAND'.
    #[arg(long, value_name = "FILE")]
    pub(crate) log_file: Option<LogDestination>,

    /// Go on in the background; takes --log-file.
    #[arg(long)]
    pub(crate) daemonize: bool,
}

/// Telling a supervisor that runs what to do.
#[derive(Debug, Args)]
#[command(next_help_heading = "Control")]
pub(crate) struct ControlArguments {
    /// Have the supervisor of --pid-file replace its processes, and wait for that; takes --status-file too.
    ///
    /// Fails when the new process failed to start five times. The old one goes on then, and the supervisor goes on trying.
    #[arg(long, conflicts_with = "stop")]
    pub(crate) restart: bool,

    /// Have the supervisor of --pid-file end, and wait for that.
    #[arg(long)]
    pub(crate) stop: bool,
}
