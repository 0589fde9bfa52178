//! A process that was started here.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, PidfdFlags, Resource, Rlimit, Signal, WaitId, WaitIdOptions, getrlimit, pidfd_open, pidfd_send_signal,
        prlimit, waitid,
    },
};

/// A process that was started here.
#[derive(Debug)]
pub(crate) struct Process {
    id: Pid,
    /// Stays this process's, also when its number has become another's.
    descriptor: OwnedFd,
}

impl Process {
    /// The one with this number; nothing where it is gone already.
    pub(crate) fn of(id: i32) -> Option<Self> {
        let id = Pid::from_raw(id)?;
        Some(Self { id, descriptor: pidfd_open(id, PidfdFlags::empty()).ok()? })
    }

    /// Sends it a signal; one that is gone gets none.
    pub(crate) fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }

    /// Ends it. Where its parent has ended before and this process is PID 1, as in containers, it is ours to be waited for.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
        // Those of others are refused at once.
        let _ = waitid(WaitId::PidFd(self.descriptor.as_fd()), WaitIdOptions::EXITED);
    }

    /// Whether it has ended.
    pub(crate) fn is_gone(&self) -> bool {
        let mut wanted = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Bytes of memory it has (resident).
    pub(crate) fn memory(&self) -> Option<u64> {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.id)).ok()?;
        let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
        Some(resident * rustix::param::page_size() as u64)
    }

    /// Gives it this soft limit of open files: what this process raised for itself is not for programs that call select(2), or
    /// close all that they might have.
    pub(crate) fn limit_files(&self, limit: Option<u64>) {
        let Some(limit) = limit else { return };
        let maximum = getrlimit(Resource::Nofile).maximum;
        // It does as well with a higher one, as a rule.
        let _ = prlimit(Some(self.id), Resource::Nofile, Rlimit { current: Some(limit), maximum });
    }
}

/// Can be read from when it has ended.
impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
