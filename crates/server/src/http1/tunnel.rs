//! A connection that no longer speaks HTTP, counted until it is dropped.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::BytesMut;
use serow_net::Wire;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection_counter::ConnectionGuard;

/// The wire, counted as a connection of its worker until it is dropped, so that a stopping server waits for it.
pub(super) struct Tunnel {
    tunnel: serow_net::Tunnel,
    _guard: ConnectionGuard,
}

impl Tunnel {
    pub(super) fn new(wire: Wire, guard: ConnectionGuard) -> Self {
        Self { tunnel: serow_net::Tunnel::new(wire, BytesMut::new()), _guard: guard }
    }
}

impl AsyncRead for Tunnel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tunnel).poll_read(context, buffer)
    }
}

impl AsyncWrite for Tunnel {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tunnel).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tunnel).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tunnel).poll_shutdown(context)
    }
}
