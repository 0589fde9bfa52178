//! Packets to a worker that its socket has no room for: they wait, in order, until it has taken others.
//!
//! A worker that answers one request at a time has never so many. One that answers a thousand may be sent them all at once.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serow_net::channel::{AsyncChannel, Channel};
use tokio::sync::Notify;

/// Packets that wait for a worker.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    /// Something begins to wait, or it is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    is_closed: bool,
}

impl Outbox {
    /// Sends a packet, or keeps it behind those that wait already.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::send`]; the worker is gone then.
    pub(crate) fn send(&self, channel: &Channel, packet: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            match channel.send(packet, &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
        }
        state.waiting.push_back(packet.to_vec());
        self.changed.notify_one();
        Ok(())
    }

    /// Sends waiting packets as soon as there is room, until the outbox is closed or the worker is gone.
    pub(crate) async fn empty(&self, mut channel: Channel) -> io::Result<()> {
        loop {
            self.changed.notified().await;
            // Only now: a task that waits for room in a unix socket is woken by each packet that the other end reads.
            let waiting = AsyncChannel::for_sending(channel)?;
            waiting.send_with(|channel| self.send_waiting(channel)).await?;
            channel = waiting.into_channel();
            if self.lock().is_closed {
                return Ok(());
            }
        }
    }

    fn send_waiting(&self, channel: &Channel) -> io::Result<()> {
        let mut state = self.lock();
        while let Some(packet) = state.waiting.front() {
            channel.send(packet, &[])?;
            state.waiting.pop_front();
        }
        Ok(())
    }

    /// The worker is gone: returns the packets that were never sent.
    pub(crate) fn close(&self) -> VecDeque<Vec<u8>> {
        let mut state = self.lock();
        state.is_closed = true;
        self.changed.notify_one();
        std::mem::take(&mut state.waiting)
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Empties an outbox in a task of this thread.
pub(crate) fn keep_empty(outbox: &Arc<Outbox>, channel: Channel) {
    let outbox = Arc::clone(outbox);
    tokio::task::spawn_local(async move {
        // The worker manager notices that a worker is gone.
        let _ = outbox.empty(channel).await;
    });
}
