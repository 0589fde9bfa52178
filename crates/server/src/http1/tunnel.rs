//! The socket of a connection that no longer speaks HTTP.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use serow_net::Socket;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::population::Inhabitant;

/// The socket, counted as a connection of its worker until it is dropped, so that a stopping server waits for it.
pub(super) struct Tunnel {
    socket: Socket,
    _inhabitant: Inhabitant,
}

impl Tunnel {
    pub(super) fn new(socket: Socket, inhabitant: Inhabitant) -> Self {
        Self { socket, _inhabitant: inhabitant }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}
