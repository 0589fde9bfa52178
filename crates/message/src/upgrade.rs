//! Upgrades: passing a connection to the handler, for `Upgrade` (RFC 9110 §7.8) and CONNECT.

use core::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    boxed::Box,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that no longer speaks HTTP: bytes in, bytes out.
pub struct Upgraded {
    io: Box<dyn UpgradedIo>,
    /// The bytes received behind the request's head, which belong to the new protocol.
    received: Bytes,
}

/// A byte stream that can become an [`Upgraded`] connection.
pub trait UpgradedIo: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> UpgradedIo for T {}

/// The future of the connection, from [`Request::upgrade`](crate::Request::upgrade): ready when the response that
/// accepts the upgrade (101, or 2xx to CONNECT) has been sent.
#[derive(Debug)]
pub struct OnUpgrade {
    slot: Arc<Mutex<Slot>>,
}

/// The server's end of an [`OnUpgrade`]: fulfilled once, or dropped if the response did not accept the upgrade.
#[derive(Debug)]
pub struct PendingUpgrade {
    slot: Arc<Mutex<Slot>>,
}

#[derive(Debug)]
struct Slot {
    state: UpgradeState,
    waiting: Option<Waker>,
}

#[derive(Debug)]
enum UpgradeState {
    Waiting,
    Ready(Upgraded),
    Refused,
}

/// The error of an [`OnUpgrade`]: the response did not accept the upgrade, or the connection was lost before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UpgradeRefused;

impl PendingUpgrade {
    /// Creates both ends.
    #[must_use]
    pub fn channel() -> (Self, OnUpgrade) {
        let slot = Arc::new(Mutex::new(Slot { state: UpgradeState::Waiting, waiting: None }));
        (Self { slot: Arc::clone(&slot) }, OnUpgrade { slot })
    }

    /// Passes the connection to the handler; `received`: the bytes of the new protocol that were read already.
    pub fn fulfil(self, io: impl UpgradedIo + 'static, received: Bytes) {
        self.settle(UpgradeState::Ready(Upgraded { io: Box::new(io), received }));
    }

    /// Whether the handler has dropped its end, so that nothing would take the connection.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        Arc::strong_count(&self.slot) == 1
    }

    fn settle(&self, state: UpgradeState) {
        let mut slot = lock(&self.slot);
        if matches!(slot.state, UpgradeState::Waiting) {
            slot.state = state;
        }
        if let Some(waiting) = slot.waiting.take() {
            waiting.wake();
        }
    }
}

impl Drop for PendingUpgrade {
    fn drop(&mut self) {
        self.settle(UpgradeState::Refused);
    }
}

impl Future for OnUpgrade {
    type Output = Result<Upgraded, UpgradeRefused>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = lock(&self.slot);
        match core::mem::replace(&mut slot.state, UpgradeState::Refused) {
            UpgradeState::Ready(upgraded) => Poll::Ready(Ok(upgraded)),
            UpgradeState::Refused => Poll::Ready(Err(UpgradeRefused)),
            UpgradeState::Waiting => {
                slot.state = UpgradeState::Waiting;
                slot.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncRead for Upgraded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.received.is_empty() {
            return Pin::new(&mut self.io).poll_read(context, buffer);
        }
        let count = self.received.len().min(buffer.remaining());
        buffer.put_slice(&self.received[..count]);
        self.received.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Upgraded {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Upgraded").field("received", &self.received.len()).finish_non_exhaustive()
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for UpgradeRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for UpgradeRefused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the response did not accept the upgrade, or the connection was lost")
    }
}

impl core::error::Error for UpgradeRefused {}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
