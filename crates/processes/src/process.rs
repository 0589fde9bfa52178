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
pub struct Process {
    id: Pid,
    /// Stays this process's, also when its number has become another's.
    descriptor: OwnedFd,
}

impl Process {
    /// The process with this id; `None` if it has exited already.
    pub fn of(id: i32) -> Option<Self> {
        let id = Pid::from_raw(id)?;
        Some(Self { id, descriptor: pidfd_open(id, PidfdFlags::empty()).ok()? })
    }

    /// Sends it a signal; one that is gone gets none.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.descriptor, signal);
    }

    /// Kills it. If its parent has exited and this process is PID 1, as in containers, it has to be reaped here.
    pub fn kill(&self) {
        self.signal(Signal::KILL);
        // Fails at once for children of others.
        let _ = waitid(WaitId::PidFd(self.descriptor.as_fd()), WaitIdOptions::EXITED);
    }

    /// Whether it has exited.
    pub fn is_gone(&self) -> bool {
        let mut wanted = [PollFd::new(&self.descriptor, PollFlags::IN)];
        poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Its resident memory in bytes.
    pub fn memory(&self) -> Option<u64> {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.id)).ok()?;
        let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
        Some(resident * rustix::param::page_size() as u64)
    }

    /// Its resident memory in bytes without the part that it shares with others, or has from files.
    pub fn own_memory(&self) -> Option<u64> {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.id)).ok()?;
        let mut pages = pages.split(' ').skip(1).map(|count| count.parse::<u64>().ok());
        let (resident, shared) = (pages.next()??, pages.next()??);
        Some(resident.saturating_sub(shared) * rustix::param::page_size() as u64)
    }

    /// Sets its soft limit of open files: the raised limit of this process is not suitable for programs that call
    /// select(2) or close all possible descriptors.
    pub fn limit_files(&self, limit: Option<u64>) {
        let Some(limit) = limit else { return };
        let maximum = getrlimit(Resource::Nofile).maximum;
        // It does as well with a higher one, as a rule.
        let _ = prlimit(Some(self.id), Resource::Nofile, Rlimit { current: Some(limit), maximum });
    }
}

/// Readable once it has exited.
impl AsFd for Process {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}
