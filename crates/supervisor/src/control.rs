//! Telling a supervisor that runs what to do: `--restart` and `--stop`.

use std::{io, path::Path, process, thread::sleep, time::Duration};

use rustix::process::{Pid, Signal, kill_process};

use crate::{SupervisorError, log, pid_file, status_file};

/// Has the supervisor replace its workers, and waits until the old ones are gone.
///
/// # Errors
///
/// When no supervisor runs, when it ends, and when the new workers failed to start five times; the supervisor
/// goes on trying.
pub fn restart(pid_file: &Path, status_file: &Path) -> Result<(), SupervisorError> {
    let (file, pid) = pid_file::open(pid_file)?;
    let generations = || match status_file::read_generations(status_file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(|error| SupervisorError::File("--status-file", status_file.to_owned(), error)),
    };
    let newest = generations()?.into_iter().max();
    let newest = newest.ok_or_else(|| SupervisorError::NoGeneration(status_file.to_owned()))?;
    signal(pid, Signal::HUP)?;
    loop {
        let running = generations()?;
        if !running.is_empty() && running.iter().all(|generation| *generation > newest) {
            return Ok(());
        }
        if !pid_file::is_held(&file) {
            return Err(SupervisorError::Ended(pid));
        }
        // Each start has a number of its own, so the number says how often it failed.
        if let Ok(Some((generation, status))) = status_file::read_failure(status_file)
            && let times = generation.saturating_sub(newest)
            && times >= MAX_FAILURES
        {
            return Err(SupervisorError::NotStarted(times, status));
        }
        sleep(PAUSE);
    }
}

/// Has the supervisor stop, and waits until it and its workers have ended.
///
/// # Errors
///
/// When no supervisor runs.
pub fn stop(pid_file: &Path) -> Result<(), SupervisorError> {
    let (file, pid) = pid_file::open(pid_file)?;
    log::line(&format!("stop_server (pid:{}) stopping now (pid:{pid})...", process::id()));
    signal(pid, Signal::TERM)?;
    pid_file::wait(&file).map_err(|error| SupervisorError::File("--pid-file", pid_file.to_owned(), error))
}

fn signal(pid: i32, signal: Signal) -> Result<(), SupervisorError> {
    let sent = Pid::from_raw(pid).map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, signal));
    sent.map_err(|errno| SupervisorError::Signal(pid, errno.into()))
}

/// A worker may fail because the old one still holds something; one that fails so often will go on to.
const MAX_FAILURES: u64 = 5;

/// Between two looks at the status file.
const PAUSE: Duration = Duration::from_millis(100);
