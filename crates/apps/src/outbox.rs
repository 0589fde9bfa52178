//! Packets for which a worker's socket has no room: they wait, in order, until the worker has read others.
//!
//! A worker with one request at a time never has so many. A concurrent worker may get a thousand at once.

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
    /// Notifies when a packet begins to wait, or the outbox is closed.
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    is_closed: bool,
}

impl Outbox {
    /// Sends a packet, or queues it after those that wait already.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::send`]; the worker is gone.
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
