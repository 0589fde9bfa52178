//! The wire of a connection that no longer speaks HTTP.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{Buffers, More, Wire};

/// The wire of a connection that no longer speaks HTTP: bytes in, bytes out.
pub struct Tunnel {
    wire: Wire,
    /// Received and not read yet.
    input: BytesMut,
    /// Its own: the tunnel may be on another thread.
    buffers: Buffers,
}

impl Tunnel {
    /// Continues with this wire; `input` has already been received. The runtime of this thread drives it, wherever it is
    /// read and written.
    #[must_use]
    pub fn new(wire: Wire, input: BytesMut) -> Self {
        // Where this fails, so does the first read or write that would wait.
        let _ = wire.socket().register();
        Self { wire, input, buffers: Buffers::new() }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { wire, input, buffers } = &mut *self;
        if input.is_empty() {
            ready!(wire.poll_receive(context, input, buffers))?;
        }
        let count = input.len().min(buffer.remaining());
        buffer.put_slice(&input[..count]);
        input.advance(count);
        if input.is_empty() {
            buffers.give_input(std::mem::take(input));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { wire, buffers, .. } = &mut *self;
        wire.poll_send(context, bytes, More::Nothing, buffers)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wire.poll_shut_down(context)
    }
}
