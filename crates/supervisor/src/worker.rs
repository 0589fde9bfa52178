//! Spawning a worker, and becoming one.

use std::{
    env,
    ffi::OsString,
    io,
    os::unix::process::CommandExt,
    path::Path,
    process::{self, Command},
};

use crate::{Settings, environment::Variables, log, sockets::Sockets};

/// Spawns a worker and says its process id.
pub(crate) fn spawn(
    settings: &Settings,
    sockets: &Sockets,
    variables: Variables,
    generation: u64,
    notifications: Option<&str>,
) -> io::Result<u32> {
    let mut words = settings.launcher.iter().chain(&settings.command);
    let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
    command.args(words).envs(variables);
    command.env("SERVER_STARTER_PORT", sockets.description());
    command.env("SERVER_STARTER_GENERATION", generation.to_string());
    // What this process was given by systemd is not for the worker.
    for name in [LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, "LISTEN_PIDFDID", NOTIFY_SOCKET] {
        command.env_remove(name);
    }
    let names = sockets.names_from_three();
    if !names.is_empty() {
        command.env(LISTEN_FDS, names.len().to_string()).env(LISTEN_FDNAMES, names.join(":"));
    }
    if let Some(address) = notifications {
        command.env(NOTIFY_SOCKET, address);
    }
    command.spawn().map(|child| child.id())
}

/// Turns this process into the worker: goes into the folder, says in `LISTEN_PID` which process is meant by `LISTEN_FDS`
/// (only the process itself knows that in time), and executes the command. Where that fails, it says why and ends with 255.
pub fn become_worker(folder: Option<&Path>, command: &[OsString]) -> process::ExitCode {
    if let Some(folder) = folder
        && let Err(error) = env::set_current_dir(folder)
    {
        log::line(&format!("failed to chdir:{}:{error}", folder.display()));
        return FAILED.into();
    }
    let Some((program, arguments)) = command.split_first() else { return FAILED.into() };
    let mut next = Command::new(program);
    next.args(arguments);
    if env::var_os(LISTEN_FDS).is_some() {
        next.env(LISTEN_PID, process::id().to_string());
    }
    let error = next.exec();
    log::line(&format!("failed to exec {}: {error}", program.display()));
    FAILED.into()
}

/// Server::Starter's.
const FAILED: u8 = 255;

// sd_listen_fds(3) and sd_notify(3).
const LISTEN_PID: &str = "LISTEN_PID";
const LISTEN_FDS: &str = "LISTEN_FDS";
const LISTEN_FDNAMES: &str = "LISTEN_FDNAMES";
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
