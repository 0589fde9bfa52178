//! `serow supervise`: keeps a server running.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use serow_config::values::Seconds;
use serow_supervisor::{Settings, SignalName, SupervisorError, become_program, become_worker};

use crate::{
    arguments::{SuperviseArguments, SupervisorFiles},
    command_error::{CommandError, exit_code},
    descriptors,
};

/// Supervises a command, or tells a supervisor what to do.
pub(crate) fn run(arguments: SuperviseArguments) -> ExitCode {
    if arguments.become_worker {
        let (folder, signal) = (arguments.workers.dir.as_deref(), &arguments.replacement.signal_on_term);
        return become_worker(folder, signal, &arguments.command);
    }
    if arguments.become_program {
        return become_program(&arguments.command);
    }
    exit_code(carry_out(arguments))
}

fn carry_out(arguments: SuperviseArguments) -> Result<(), CommandError> {
    if arguments.version {
        let line = concat!("serow ", env!("CARGO_PKG_VERSION"), " (serow supervise; start_server's command line)\n");
        return io::stdout().write_all(line.as_bytes()).map_err(CommandError::output);
    }
    let outcome = match (arguments.control.restart, arguments.control.stop) {
        (true, _) => restart(&arguments.files)?,
        (_, true) => serow_supervisor::stop(needed(&arguments.files.pid_file, "--stop", "--pid-file")?),
        _ => {
            let settings = settings(arguments)?;
            descriptors::require(descriptors::OF_SUPERVISOR + settings.ports.len() + settings.paths.len())?;
            serow_supervisor::run(&settings)
        }
    };
    outcome.map_err(CommandError::from)
}

fn restart(files: &SupervisorFiles) -> Result<Result<(), SupervisorError>, CommandError> {
    let pid_file = needed(&files.pid_file, "--restart", "--pid-file")?;
    let status_file = needed(&files.status_file, "--restart", "--status-file")?;
    Ok(serow_supervisor::restart(pid_file, status_file))
}

fn needed<'a>(file: &'a Option<PathBuf>, by: &str, option: &str) -> Result<&'a PathBuf, CommandError> {
    let line = || format!("{by} needs {option} too: name the file that the supervisor was given there");
    file.as_ref().ok_or_else(|| CommandError::Usage(line()))
}

/// The settings that the options make.
fn settings(arguments: SuperviseArguments) -> Result<Settings, CommandError> {
    let SuperviseArguments { command, sockets, workers, replacement, files, .. } = arguments;
    if command.is_empty() {
        let line = "the command is missing; write it behind --, as in serow supervise --port 8080 -- ./server";
        return Err(CommandError::Usage(line.to_owned()));
    }
    if files.daemonize && files.log_file.is_none() {
        let line = "--daemonize needs --log-file too, since its messages would be lost";
        return Err(CommandError::Usage(line.to_owned()));
    }
    let time = |seconds: Option<Seconds>| seconds.map(|seconds| seconds.0);
    Ok(Settings {
        command,
        launcher: launcher(workers.dir, &replacement.signal_on_term),
        workers: workers.workers.in_memory(),
        ports: sockets.port,
        paths: sockets.path,
        backlog: sockets.backlog.get(),
        interval: workers.interval.0,
        health: workers.health_url,
        start_timeout: workers.start_timeout.0,
        signal_on_hup: replacement.signal_on_hup,
        signal_on_term: replacement.signal_on_term,
        kill_old_delay: time(replacement.kill_old_delay),
        auto_restart: replacement.enable_auto_restart,
        auto_restart_interval: time(replacement.auto_restart_interval),
        environment_folder: workers.envdir,
        pid_file: files.pid_file,
        status_file: files.status_file,
        log: files.log_file,
        daemonize: files.daemonize,
    })
}

/// This program again: as another process it can say its own process id before it executes the command. Its file may
/// have been replaced by then, which this name does not mind.
fn launcher(folder: Option<PathBuf>, signal: &SignalName) -> Vec<OsString> {
    let mut words = itself("--become-worker");
    words.extend(folder.into_iter().flat_map(|folder| ["--dir".into(), folder.into_os_string()]));
    words.extend(["--signal-on-term".into(), signal.name().into(), "--".into()]);
    words
}

/// The same for programs that end with this one.
pub(crate) fn program_launcher() -> Vec<OsString> {
    let mut words = itself("--become-program");
    words.push("--".into());
    words
}

fn itself(option: &str) -> Vec<OsString> {
    ["/proc/self/exe", "supervise", option].map(OsString::from).into()
}
