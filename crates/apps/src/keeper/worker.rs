//! A worker process, as its keeper sees it.

use std::{
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use serow_net::channel::AsyncChannel;
use tokio::{sync::mpsc::UnboundedSender, task::spawn_local};

use super::Happening;
use crate::link::Link;

/// A worker process.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) link: Arc<Link>,
    pub(super) pid: Option<i32>,
    /// Stays this process's, also when its number has become another's.
    process: Option<OwnedFd>,
    pub(super) stage: Stage,
    pub(super) born: Instant,
    /// Who takes over when it has retired.
    pub(super) is_replaced: bool,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The application is being loaded.
    Loading,
    /// It could begin.
    Ready,
    /// It takes requests.
    Serving,
    /// It finishes what it has.
    Leaving,
}

/// What a worker says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum WorkerWord {
    /// The application is loaded.
    Ready,
    /// It cannot be; why.
    Failed(String),
}

impl Worker {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self { link, pid: None, process: None, stage: Stage::Loading, born: Instant::now(), is_replaced: false }
    }

    /// It is this process.
    pub(super) fn forked(&mut self, pid: i32) {
        self.pid = Some(pid);
        self.process = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    }

    /// Sends it a signal; one that is gone gets none.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            let _ = pidfd_send_signal(process, signal);
        }
    }

    /// Whether its process has ended.
    pub(super) fn is_gone(&self) -> bool {
        let Some(process) = &self.process else { return false };
        let mut wanted = [PollFd::new(process, PollFlags::IN)];
        poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }

    /// Bytes of memory it has (resident).
    pub(super) fn memory(&self) -> Option<u64> {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.pid?)).ok()?;
        let resident: u64 = pages.split(' ').nth(1)?.parse().ok()?;
        Some(resident * rustix::param::page_size() as u64)
    }

    pub(super) fn age(&self) -> Duration {
        self.born.elapsed()
    }
}

/// Listens to what a worker says of itself.
pub(super) fn listen(link: &Link, happenings: &UnboundedSender<Happening>) -> std::io::Result<()> {
    let channel = AsyncChannel::new(link.requests.try_clone()?)?;
    let (number, happenings) = (link.number, happenings.clone());
    spawn_local(async move {
        while let Ok(Some(message)) = channel.receive().await {
            let text = String::from_utf8_lossy(&message.bytes);
            let word = match text.split_once('\0') {
                None if text == "ready" => WorkerWord::Ready,
                Some(("failed", why)) => WorkerWord::Failed(why.to_owned()),
                _ => continue,
            };
            // Nobody listens any more when all is over.
            let _ = happenings.send(Happening::Worker { number, word });
        }
    });
    Ok(())
}
