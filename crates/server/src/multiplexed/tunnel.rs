//! A stream that has become a tunnel (CONNECT, RFC 9113 §8.5; extended CONNECT, RFC 8441).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{Handler, PendingUpgrade, Request, Response};
use serow_streams::StreamId;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::{Machine, Multiplexed, exchange::Stage};

/// The server's end of a tunnel; the handler has the other.
pub(crate) struct Tunnel {
    ours: DuplexStream,
    /// Bytes from the handler that wait to be sent.
    outgoing: BytesMut,
    outgoing_ended: bool,
    incoming_ended: bool,
}

impl Tunnel {
    /// Gives the other end to the handler.
    pub(super) fn new(pending: PendingUpgrade) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFERED);
        pending.fulfil(theirs, Bytes::new());
        Self { ours, outgoing: BytesMut::new(), outgoing_ended: false, incoming_ended: false }
    }

    /// Takes the bytes that the handler has written.
    fn poll_outgoing(&mut self, context: &mut Context<'_>) {
        if !self.outgoing.is_empty() || self.outgoing_ended {
            return;
        }
        let mut room = vec![0; BUFFERED];
        let mut buffer = ReadBuf::new(&mut room);
        if let Poll::Ready(read) = Pin::new(&mut self.ours).poll_read(context, &mut buffer) {
            self.outgoing_ended = read.is_err() || buffer.filled().is_empty();
            self.outgoing.extend_from_slice(buffer.filled());
        }
    }

    /// Passes a piece to the handler; returns how much of it was taken. If the handler is gone, everything is
    /// discarded.
    fn poll_incoming(&mut self, data: &[u8], context: &mut Context<'_>) -> Poll<usize> {
        Pin::new(&mut self.ours).poll_write(context, data).map(|written| written.unwrap_or(data.len()))
    }
}

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Forwards the waiting bytes in both directions.
    pub(super) fn poll_tunnel(&mut self, index: usize, context: &mut Context<'_>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let stream = exchange.stream;
        let Stage::Tunnel(tunnel) = &mut exchange.stage else { return };
        while let Some(mut data) = exchange.received.pop() {
            let Poll::Ready(taken) = tunnel.poll_incoming(&data, context) else {
                exchange.received.put_back(data);
                break;
            };
            self.machine.note_consumed(stream, taken);
            data.advance(taken);
            if !data.is_empty() {
                exchange.received.put_back(data);
            }
        }
        if exchange.received.is_empty() && exchange.ended.is_some() && !tunnel.incoming_ended {
            tunnel.incoming_ended = Pin::new(&mut tunnel.ours).poll_shutdown(context).is_ready();
        }
        tunnel.poll_outgoing(context);
        let ready = !tunnel.outgoing.is_empty() || tunnel.outgoing_ended;
        self.machine.set_ready(stream, ready);
    }

    /// Sends the bytes that the handler has written.
    pub(super) fn send_tunnelled(&mut self, index: usize, stream: StreamId, bytes: usize, output: &mut Vec<u8>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let Stage::Tunnel(tunnel) = &mut exchange.stage else { return };
        let length = tunnel.outgoing.len().min(bytes);
        let end = tunnel.outgoing_ended && length == tunnel.outgoing.len();
        if length > 0 || end {
            match self.machine.write_data(stream, &tunnel.outgoing[..length], end, output) {
                Ok(follows) => self.follows = follows,
                Err(_) => return self.give_up(index, M::INTERNAL_ERROR),
            }
        }
        tunnel.outgoing.advance(length);
        exchange.note_sent(length, &self.worker);
        if !end {
            return self.poll_exchange(index);
        }
        if exchange.ended.is_none() {
            // The handler is done with the tunnel: what still comes is for nobody.
            self.machine.abandon_body(stream);
        }
        self.conclude(index);
    }
}

/// Bytes that may wait on each side: back-pressure begins there.
const BUFFERED: usize = 16 * 1024;
