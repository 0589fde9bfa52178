//! The first process of a side. It starts the side's command, hands its exit status on, and takes every process of the side
//! with it when it ends: the kernel ends a process namespace with its first process.
//!
//! It is this program itself, started again with `keep` as its first argument, because only a process of its own can ask to
//! be ended with its parent.

use std::{
    ffi::OsString,
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Command, ExitStatus},
    time::Duration,
};

use nix::{
    errno::Errno,
    mount::{MsFlags, mount},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SigSet, Signal, kill},
        signalfd::{SfdFlags, SignalFd},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::relay::now;

/// The first argument that makes this program an init process. The second is the id of its parent.
pub(crate) const KEEP: &str = "keep";

/// The command that runs `command` below an init process, a child of this process.
pub(crate) fn kept(command: &[OsString]) -> Command {
    // /proc/self/exe is this program even when its file was replaced.
    let mut init = Command::new("/proc/self/exe");
    init.arg0("netlab").arg(KEEP).arg(std::process::id().to_string()).args(command);
    init
}

/// Runs the command, and returns its exit code as a shell does.
pub(crate) fn keep(parent: &OsString, command: &[OsString]) -> Result<u8, String> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.to_string())?;
    // Ours is not mounted yet: these are the numbers of the namespace we came from. The parent may have ended before.
    if !Path::new("/proc").join(parent).exists() {
        return Err("netlab is gone".to_owned());
    }
    show_own_processes();
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGCHLD);
    signals.add(Signal::SIGTERM);
    signals.thread_block().map_err(|error| error.to_string())?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK).map_err(|error| error.to_string())?;

    let (program, arguments) = command.split_first().ok_or("nothing to run")?;
    // The standard library gives the child an empty signal mask.
    let child = Command::new(program).args(arguments).spawn();
    let child = match child {
        Ok(child) => Pid::from_raw(child.id().cast_signed()),
        Err(error) => {
            eprintln!("netlab: {}: {error}", program.to_string_lossy());
            return Ok(NOT_FOUND);
        }
    };
    wait(child, &signals).map_err(|error| error.to_string())
}

fn wait(child: Pid, signals: &SignalFd) -> nix::Result<u8> {
    let mut until: Option<Duration> = None;
    loop {
        let timeout = match until.map(|until| until.saturating_sub(now())) {
            Some(Duration::ZERO) => return Ok(ENDED_BY_SIGNAL + Signal::SIGKILL as u8),
            Some(rest) => PollTimeout::try_from(rest + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX),
            None => PollTimeout::NONE,
        };
        poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout)?;
        let signal = signals.read_signal()?;
        let is_end = signal.is_some_and(|signal| signal.ssi_signo == Signal::SIGTERM as u32);
        if is_end && until.is_none() {
            until = Some(now() + GRACE);
            let _ = kill(child, Signal::SIGTERM);
        }
        if let Some(code) = reap(child)? {
            return Ok(code);
        }
    }
}

/// Reaps all processes that have ended; the end of the child is the end of this process.
fn reap(child: Pid) -> nix::Result<Option<u8>> {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) if pid == child => return Ok(Some(code as u8)),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                return Ok(Some(ENDED_BY_SIGNAL + signal as u8));
            }
            Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => return Ok(None),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// A /proc with the processes of this namespace. Where a container forbids it, the outer one does for most programs.
fn show_own_processes() {
    let nothing: Option<&str> = None;
    if mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).is_ok() {
        let _ = mount(Some("proc"), "/proc", Some("proc"), MsFlags::empty(), nothing);
    }
}

/// The exit code of an init process, as shells show it.
pub(crate) fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, Some(signal)) => ENDED_BY_SIGNAL.wrapping_add(signal as u8),
        (None, None) => 1,
    }
}

/// As in shells.
const NOT_FOUND: u8 = 127;
const ENDED_BY_SIGNAL: u8 = 128;
/// How long a command may take to end when asked to.
const GRACE: Duration = Duration::from_secs(1);
