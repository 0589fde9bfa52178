//! A byte stream, and a guard that is dropped with it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A byte stream for a handler: dropping it drops the guard, so that the connection learns of it.
pub(crate) struct GuardedIo<I, G> {
    io: I,
    _guard: G,
}

impl<I, G> GuardedIo<I, G> {
    pub(crate) fn new(io: I, guard: G) -> Self {
        Self { io, _guard: guard }
    }
}

impl<I: AsyncRead + Unpin, G: Unpin> AsyncRead for GuardedIo<I, G> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(context, buffer)
    }
}

impl<I: AsyncWrite + Unpin, G: Unpin> AsyncWrite for GuardedIo<I, G> {
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
