//! Spawning a worker, and becoming one.

use std::{
    env,
    ffi::OsString,
    io,
    path::Path,
    process::{self, Command},
};

use rustix::process::set_parent_process_death_signal;
use serow_net::inheritance;

use crate::{Settings, SignalName, environment::Variables, log, sockets::Sockets};

/// Spawns a worker and returns its process id.
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
    inheritance::remove_variables(&mut command);
    inheritance::describe_sockets(&mut command, &sockets.description(), &sockets.names_from_three(), generation);
    if let Some(address) = notifications {
        command.env(NOTIFY_SOCKET, address);
    }
    command.spawn().map(|child| child.id())
}

/// Replaces this process by a program that ends with the one that started it: where `LISTEN_FDS` announces a socket,
/// standard input is moved to its number. As [`become_worker`] otherwise.
pub fn become_program(command: &[OsString]) -> process::ExitCode {
    if let Err(error) = inheritance::take_from_standard_input() {
        log::line(&format!("the socket cannot be passed on: {error}"));
        return FAILED.into();
    }
    become_worker(None, &SignalName::term(), command)
}

/// Replaces this process by the worker: changes to the folder, names this process in `LISTEN_PID`, and executes the command.
/// Where that fails, it writes why to the log and returns 255.
///
/// The worker gets this signal when the process that started it is killed: otherwise it would hold the port, and no
/// supervisor could start again. The kernel forgets that where the worker becomes another user (prctl(2)).
pub fn become_worker(folder: Option<&Path>, at_parents_end: &SignalName, command: &[OsString]) -> process::ExitCode {
    if let Err(error) = set_parent_process_death_signal(Some(at_parents_end.signal())) {
        log::line(&format!("the worker cannot end with its supervisor: {error}"));
        return FAILED.into();
    }
    if let Some(folder) = folder
        && let Err(error) = env::set_current_dir(folder)
    {
        log::line(&format!("failed to chdir:{}:{error}", folder.display()));
        return FAILED.into();
    }
    let Some((program, arguments)) = command.split_first() else { return FAILED.into() };
    let error = inheritance::execute(program, arguments);
    log::line(&format!("failed to exec {}: {error}", program.display()));
    FAILED.into()
}

/// Server::Starter's.
const FAILED: u8 = 255;

/// sd_notify(3)
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
