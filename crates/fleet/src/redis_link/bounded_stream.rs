//! A connection that ends if it receives more than was expected.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection that ends if it receives more than [`MAX_RECEIVED`] bytes in one exchange: something that claims to be
/// Redis cannot fill the memory.
pub(super) struct BoundedStream<S> {
    stream: S,
    received: Received,
}

/// How many bytes a connection has received in this exchange.
#[derive(Clone, Debug, Default)]
pub(super) struct Received(Arc<AtomicU64>);

impl Received {
    /// Another exchange begins.
    pub(super) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl<S> BoundedStream<S> {
    pub(super) fn new(stream: S) -> (Self, Received) {
        let received = Received::default();
        (Self { stream, received: received.clone() }, received)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for BoundedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let more = (buffer.filled().len() - before) as u64;
        if self.received.0.fetch_add(more, Ordering::Relaxed).saturating_add(more) > MAX_RECEIVED {
            return Poll::Ready(Err(io::Error::other("it sends far more than it was asked for")));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for BoundedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Several times the answers to one exchange: 4,096 keys and 500 events of 4 KiB.
const MAX_RECEIVED: u64 = 8 * 1024 * 1024;
