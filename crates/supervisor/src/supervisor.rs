//! Running a supervisor.

use std::{fs::File, io, process};

use rustix::{process::setsid, stdio::dup2_stdin};
use serow_net::process::{Side, fork};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::{
    Settings, SupervisorError,
    driver::Driver,
    log,
    pid_file::{self, PidFile},
    signals::Signals,
    sockets::Sockets,
    status_file::StatusFile,
};

/// Runs a supervisor until a signal stops it and its workers have ended; with [`Settings::daemonize`], this process
/// ends at once and another continues.
///
/// # Errors
///
/// If it cannot start. Once it runs, it restarts workers that fail to start.
pub fn run(settings: &Settings) -> Result<(), SupervisorError> {
    if let Some(path) = &settings.pid_file
        && let Ok((_, pid)) = pid_file::open(path)
    {
        return Err(SupervisorError::Running(path.clone(), pid.to_string()));
    }
    log::line(&format!("start_server (pid:{}) starting now...", process::id()));
    // First of all, so that the numbers of their descriptors are free.
    let mut sockets = Sockets::bind(settings)?;
    if let Some(destination) = &settings.log {
        let opened = destination.open().and_then(|opened| log::redirect(&opened));
        opened.map_err(|error| SupervisorError::System("failed to open the log of --log-file", error))?;
    }
    sockets.hand_over().map_err(|error| SupervisorError::System("failed to hand over the sockets", error))?;
    if settings.daemonize && go_into_background(&sockets)? == Side::Parent {
        sockets.keep_files();
        return Ok(());
    }
    let (runtime, signals) = prepare()
        .map_err(|error| SupervisorError::System("the system refused a resource that the supervisor needs", error))?;
    // Not before signals are handled: a process that finds the file may send some.
    let pid_file = settings.pid_file.as_deref().map(PidFile::create).transpose()?;
    let status_file = settings.status_file.as_deref().map(StatusFile::new).transpose();
    let status_file = status_file.map_err(|error| SupervisorError::System("failed to find the status file", error))?;
    runtime.block_on(Driver::new(settings, &sockets, status_file, signals).run());
    // A process that waits for the end waits for the lock on the pid file, and finds all else gone.
    drop(sockets);
    drop(pid_file);
    Ok(())
}

fn prepare() -> io::Result<(LocalRuntime, Signals)> {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let context = runtime.enter();
    let signals = Signals::with_alarm()?;
    drop(context);
    Ok((runtime, signals))
}

/// Forks twice, so that the daemon has no controlling terminal and cannot acquire one.
fn go_into_background(sockets: &Sockets) -> Result<Side, SupervisorError> {
    let detach = || -> io::Result<Side> {
        if fork()? == Side::Parent {
            return Ok(Side::Parent);
        }
        setsid()?;
        if fork()? == Side::Parent {
            return Ok(Side::Parent);
        }
        if !sockets.have_standard_input() {
            dup2_stdin(File::open("/dev/null")?)?;
        }
        Ok(Side::Child)
    };
    detach().map_err(|error| SupervisorError::System("failed to go into the background", error))
}
