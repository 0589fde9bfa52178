//! How a worker is reached.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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
    /// Which of the places for workers it has, from 1.
    pub(crate) place: usize,
    /// Requests go in here, from all threads. What the worker says of itself comes out.
    pub(crate) requests: Channel,
    /// The worker's end: what it has not taken can be taken back.
    pub(crate) untaken: Channel,
    /// What the worker replies to each thread.
    pub(crate) replies: Vec<Channel>,
    /// What the socket for requests has no room for.
    pub(crate) outbox: Arc<Outbox>,
    life: Mutex<Life>,
    /// Whether it gets no more requests, for those who would otherwise stay with it for ever.
    leaving: watch::Sender<bool>,
}

/// A worker's replies are read to their end before its requests are given to others.
#[derive(Debug, Default)]
struct Life {
    readers: usize,
    is_over: bool,
}

/// The worker's ends, to be sent to it.
#[derive(Debug)]
pub(crate) struct WorkerEnds {
    pub(crate) requests: Channel,
    /// Where it hears and speaks as a mold, should it become one.
    pub(crate) control: Option<Channel>,
    pub(crate) replies: Vec<Channel>,
}

impl WorkerLink {
    /// Makes the sockets for a worker, with replies for so many threads.
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
        let link = Self { number, place, requests, untaken, replies, outbox, life, leaving: watch::Sender::new(false) };
        Ok((link, WorkerEnds { requests: theirs, control: None, replies: their_replies }))
    }

    /// Sends a packet. Where that fails the worker is about to end, and its keeper gives its requests to others.
    pub(crate) fn send(&self, packet: &[u8]) {
        if let Err(error) = self.outbox.send(&self.requests, packet) {
            tracing::debug!(worker = self.place, %error, "cannot send to a worker");
        }
    }

    /// Sends what it is to know of a request.
    pub(crate) fn tell(&self, kind: u8, ticket: Ticket, content: &[u8]) {
        let mut packet = Vec::with_capacity(messages::TICKET_LENGTH + content.len());
        messages::write_ticket(kind, 0, ticket, &mut packet);
        packet.extend_from_slice(content);
        self.send(&packet);
    }

    /// The worker gets no more requests.
    pub(crate) fn retire(&self) {
        self.leaving.send_replace(true);
    }

    /// Where it is told that the worker gets no more requests.
    pub(crate) fn leaving(&self) -> watch::Receiver<bool> {
        self.leaving.subscribe()
    }

    /// The worker ends when it has done what it was sent.
    pub(crate) fn dismiss(&self) {
        self.requests.shut();
    }

    /// A thread begins to read its replies.
    pub(crate) fn begin_reading(&self) {
        self.life().readers += 1;
    }

    /// A thread has read all of them; says whether that was the last of a worker that is gone.
    pub(crate) fn end_reading(&self) -> bool {
        let mut life = self.life();
        life.readers -= 1;
        life.readers == 0 && life.is_over
    }

    /// The process is gone, whoever still holds its sockets; says whether all replies have been read.
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
