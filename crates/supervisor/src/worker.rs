//! Spawning a worker, and becoming one.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{IntoRawFd, RawFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{self, Command},
};

use rustix::{
    io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd},
    process::{Signal, set_parent_process_death_signal},
    stdio::{dup2_stdin, stdin},
};
use serow_net::process::place;

use crate::{
    Settings,
    environment::Variables,
    log,
    sockets::{LOWEST, Sockets},
};

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
    keep_own_sockets(&mut command);
    tell_of_sockets(&mut command, &sockets.description(), &sockets.names_from_three(), generation);
    if let Some(address) = notifications {
        command.env(NOTIFY_SOCKET, address);
    }
    command.spawn().map(|child| child.id())
}

/// Removes the variables of systemd or a supervisor from a command's environment: they concern this process only.
pub fn keep_own_sockets(command: &mut Command) {
    let names = [LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, "LISTEN_PIDFDID", NOTIFY_SOCKET];
    for name in names.into_iter().chain([SERVER_STARTER_PORT, SERVER_STARTER_GENERATION]) {
        command.env_remove(name);
    }
}

/// Adds the variables of Server::Starter and systemd to a command for one socket, which [`become_program`] makes
/// descriptor 3; `name` is its port, as in `127.0.0.1:8080`, or its path.
pub fn tell_of_socket(command: &mut Command, name: &str, generation: u64) {
    tell_of_sockets(command, &format!("{name}={LOWEST}"), &[name.replace(':', "-")], generation);
}

fn tell_of_sockets(command: &mut Command, description: &str, names_from_three: &[String], generation: u64) {
    command.env(SERVER_STARTER_PORT, description);
    command.env(SERVER_STARTER_GENERATION, generation.to_string());
    if !names_from_three.is_empty() {
        command.env(LISTEN_FDS, names_from_three.len().to_string()).env(LISTEN_FDNAMES, names_from_three.join(":"));
    }
}

/// Turns this process into a program that ends with the one that started it: where `LISTEN_FDS` speaks of a socket,
/// standard input is put at its place. As [`become_worker`] otherwise.
pub fn become_program(command: &[OsString]) -> process::ExitCode {
    let prepared = set_parent_process_death_signal(Some(Signal::TERM)).map_err(io::Error::from);
    let prepared = match env::var_os(LISTEN_FDS) {
        Some(_) => prepared.and_then(|()| take_socket()),
        None => prepared,
    };
    if let Err(error) = prepared {
        log::line(&format!("cannot pass on the socket: {error}"));
        return FAILED.into();
    }
    become_worker(None, command)
}

/// Standard input becomes the first socket, and reads nothing from then on.
fn take_socket() -> io::Result<()> {
    let socket = place(fcntl_dupfd_cloexec(stdin(), ABOVE)?, LOWEST)?;
    fcntl_setfd(&socket, FdFlags::empty())?;
    // It stays open for the program.
    let _ = socket.into_raw_fd();
    dup2_stdin(File::open("/dev/null")?)?;
    Ok(())
}

/// Turns this process into the worker: goes into the folder, says in `LISTEN_PID` which process is meant by
/// `LISTEN_FDS` (only the process itself knows that in time), and executes the command. Where that fails, it says why
/// and ends with 255.
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

/// Out of the way of what is put at certain numbers.
const ABOVE: RawFd = 10;

// Server::Starter's.
const SERVER_STARTER_PORT: &str = "SERVER_STARTER_PORT";
const SERVER_STARTER_GENERATION: &str = "SERVER_STARTER_GENERATION";

// sd_listen_fds(3) and sd_notify(3).
const LISTEN_PID: &str = "LISTEN_PID";
const LISTEN_FDS: &str = "LISTEN_FDS";
const LISTEN_FDNAMES: &str = "LISTEN_FDNAMES";
const NOTIFY_SOCKET: &str = "NOTIFY_SOCKET";
