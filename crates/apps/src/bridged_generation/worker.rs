//! A worker process, as seen by the worker manager.

use std::{sync::Arc, time::Duration};

use rustix::process::Signal;
use serow_net::channel::{AsyncChannel, Channel};
use serow_processes::{MessageSender, Process};
use tokio::{task::spawn_local, time::Instant};

use super::BridgedMessage;
use crate::{outbox, worker_link::WorkerLink};

/// A worker process.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) link: Arc<WorkerLink>,
    /// The number of the template process that it was forked from.
    pub(super) template: u64,
    /// Where it is reached as a template process, should it become one.
    pub(super) control: Option<Channel>,
    pub(super) pid: Option<i32>,
    process: Option<Process>,
    pub(super) stage: WorkerStage,
    pub(super) born: Instant,
    /// When it was first seen to have finished while it leaves.
    pub(super) finished: Option<Instant>,
    /// Whether another worker will replace it.
    pub(super) is_replaced: bool,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkerStage {
    /// The application is being loaded.
    Loading,
    /// It is ready.
    Ready,
    /// It has not become ready in time, and was killed.
    Late,
    /// It serves requests.
    Serving,
    /// It finishes its requests.
    Draining,
}

/// A message of a worker about itself.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WorkerMessage {
    /// The application is loaded.
    Ready,
    /// The application cannot be loaded, for this reason.
    Failed(String),
    /// It exits on its own: it has answered its last request and accepts no other.
    Draining,
    /// Its process has exited, as its template process reports.
    Ended(String),
}

impl Worker {
    /// One that is forked from this template process.
    pub(super) fn new(link: Arc<WorkerLink>, template: u64, control: Option<Channel>) -> Self {
        Self {
            link,
            template,
            control,
            pid: None,
            process: None,
            stage: WorkerStage::Loading,
            born: Instant::now(),
            finished: None,
            is_replaced: false,
        }
    }

    /// Records its process id.
    pub(super) fn forked(&mut self, pid: i32) {
        self.pid = Some(pid);
        self.process = Process::of(pid);
    }

    /// Sends it a signal; one that is gone gets none.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }

    /// Whether its process has exited, or was never forked: a question about workers whose template process is gone.
    pub(super) fn is_gone(&self) -> bool {
        self.process.as_ref().is_none_or(Process::is_gone)
    }

    /// Its resident memory in bytes.
    pub(super) fn memory(&self) -> Option<u64> {
        self.process.as_ref().and_then(Process::memory)
    }

    /// Its process has exited. Its message about that may still be unread in its socket.
    pub(super) fn read_last_message(&mut self) {
        if self.link.requests.try_receive().ok().flatten().is_some_and(|message| message.bytes == DRAINING.as_bytes()) {
            self.stage = WorkerStage::Draining;
        }
    }

    pub(super) fn age(&self) -> Duration {
        self.born.elapsed()
    }
}

/// Receives the messages of a worker about itself.
pub(super) fn listen(link: &WorkerLink, messages: &MessageSender<BridgedMessage>) -> std::io::Result<()> {
    let channel = AsyncChannel::new(link.requests.try_clone()?)?;
    outbox::keep_empty(&link.outbox, link.requests.try_clone()?);
    let (number, messages) = (link.number, messages.clone());
    spawn_local(async move {
        while let Ok(Some(packet)) = channel.receive().await {
            let text = String::from_utf8_lossy(&packet.bytes);
            let message = match text.split_once('\0') {
                None if text == "ready" => WorkerMessage::Ready,
                None if text == DRAINING => WorkerMessage::Draining,
                Some(("failed", why)) => WorkerMessage::Failed(why.to_owned()),
                _ => continue,
            };
            messages.send(BridgedMessage::Worker { number, message });
        }
    });
    Ok(())
}

/// The message of a worker that exits on its own.
const DRAINING: &str = "draining";
