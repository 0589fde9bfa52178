//! How a worker is reached.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use serow_net::channel::Channel;
use tokio::sync::watch;

use crate::{
    messages,
    outbox::Outbox,
    pool::{Ticket, WorkerNumber},
};

/// The sockets between this process and a worker.
#[derive(Debug)]
pub(crate) struct WorkerLink {
    pub(crate) number: WorkerNumber,
    /// Its index among the workers, from 1.
    pub(crate) place: usize,
    /// Its process, as soon as it is there.
    process: OnceLock<WorkerProcess>,
    /// Requests of all threads are sent here; messages of the worker about itself are received here.
    pub(crate) requests: Channel,
    /// The worker's end: requests that it has not read can be taken back.
    pub(crate) untaken: Channel,
    /// The worker's replies to each thread.
    pub(crate) replies: Vec<Channel>,
    /// Packets for which the socket for requests has no room.
    pub(crate) outbox: Arc<Outbox>,
    life: Mutex<Life>,
    /// Notifies long-lived connections that the worker gets no more requests.
    draining: watch::Sender<bool>,
}

/// The process of a worker.
#[derive(Debug)]
struct WorkerProcess {
    pid: i32,
    /// Its name in the access log.
    name: Arc<str>,
}

/// All replies of a worker are read before its requests are given to others.
#[derive(Debug, Default)]
struct Life {
    readers: usize,
    is_over: bool,
}

/// The worker's ends of the sockets.
#[derive(Debug)]
pub(crate) struct WorkerEnds {
    pub(crate) requests: Channel,
    /// Its channel as a template process, should it become one.
    pub(crate) control: Option<Channel>,
    pub(crate) replies: Vec<Channel>,
}

impl WorkerLink {
    /// Creates the sockets of a worker, with replies for this number of threads.
    ///
    /// # Errors
    ///
    /// When the process may open no more descriptors.
    pub(crate) fn new(number: WorkerNumber, place: usize, threads: usize) -> io::Result<(Self, WorkerEnds)> {
        let (requests, theirs) = Channel::pair()?;
        let pairs = (0..threads).map(|_| Channel::pair()).collect::<io::Result<Vec<_>>>()?;
        let (replies, their_replies) = pairs.into_iter().unzip();
        let untaken = theirs.try_clone()?;
        let (outbox, life) = (Arc::default(), Mutex::default());
        let (process, draining) = (OnceLock::new(), watch::Sender::new(false));
        let link = Self { number, place, process, requests, untaken, replies, outbox, life, draining };
        Ok((link, WorkerEnds { requests: theirs, control: None, replies: their_replies }))
    }

    /// Its process has this id.
    pub(crate) fn set_process(&self, pid: i32, application: &str) {
        self.process.get_or_init(|| WorkerProcess { pid, name: format!("{application}[{pid}]").into() });
    }

    /// The id of its process, once that is known.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.process.get().map(|process| process.pid)
    }

    /// Its name in the access log: the application and the process id, as syslog has it.
    pub(crate) fn name(&self) -> Arc<str> {
        self.process.get().map_or_else(|| Arc::from("-"), |process| Arc::clone(&process.name))
    }

    /// Sends a packet. If that fails the worker is about to exit, and the worker manager gives its requests to others.
    pub(crate) fn send(&self, packet: &[u8]) {
        if let Err(error) = self.outbox.send(&self.requests, packet) {
            tracing::debug!(worker = self.place, %error, "cannot send to a worker");
        }
    }

    /// Sends a message about a request.
    pub(crate) fn send_message(&self, kind: u8, ticket: Ticket, content: &[u8]) {
        let mut packet = Vec::with_capacity(messages::TICKET_LENGTH + content.len());
        messages::write_ticket(kind, 0, ticket, &mut packet);
        packet.extend_from_slice(content);
        self.send(&packet);
    }

    /// The worker gets no more requests.
    pub(crate) fn retire(&self) {
        self.draining.send_replace(true);
    }

    /// Notifies when the worker gets no more requests.
    pub(crate) fn draining(&self) -> watch::Receiver<bool> {
        self.draining.subscribe()
    }

    /// The worker exits when it has finished its requests.
    pub(crate) fn dismiss(&self) {
        self.requests.shut();
    }

    /// A thread starts to receive its replies.
    pub(crate) fn begin_reading(&self) {
        self.life().readers += 1;
    }

    /// A thread has read all of its replies; returns whether that was the last one of a worker that is gone.
    pub(crate) fn end_reading(&self) -> bool {
        let mut life = self.life();
        life.readers -= 1;
        life.readers == 0 && life.is_over
    }

    /// The process has exited, even if others hold its sockets; returns whether all replies have been read.
    pub(crate) fn end(&self) -> bool {
        self.replies.iter().for_each(Channel::shut);
        let mut life = self.life();
        life.is_over = true;
        life.readers == 0
    }

    /// Whether the process is gone.
    pub(crate) fn is_over(&self) -> bool {
        self.life().is_over
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
