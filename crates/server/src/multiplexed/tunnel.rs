//! A stream that has become a tunnel (CONNECT, RFC 9113 §8.5; extended CONNECT, RFC 8441).

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{Handler, PendingUpgrade, Request, Response};
use serow_streams::StreamId;
use tokio::{
    io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf},
    sync::oneshot,
};

use super::{Machine, Multiplexed, exchange::ResponseStage};
use crate::guarded_io::GuardedIo;

/// The server's end of a tunnel; the handler has the other. Each direction ends by itself, like one of TCP (RFC 8441 §5).
pub(crate) struct Tunnel {
    ours: DuplexStream,
    /// The other end lives as long; `None` once the handler has dropped it.
    theirs: Option<oneshot::Receiver<()>>,
    /// Bytes from the handler that wait to be sent.
    waiting: BytesMut,
    outgoing: Direction,
    incoming: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Open,
    /// Nothing more comes; the other end does not know yet.
    Ending,
    Ended,
}

impl Tunnel {
    /// Gives the other end to the handler.
    pub(super) fn new(pending: PendingUpgrade) -> Self {
        let (ours, theirs) = tokio::io::duplex(BUFFERED);
        let (guard, dropped) = oneshot::channel::<()>();
        pending.fulfil(GuardedIo::new(theirs, guard), Bytes::new());
        let (waiting, direction) = (BytesMut::new(), Direction::Open);
        Self { ours, theirs: Some(dropped), waiting, outgoing: direction, incoming: direction }
    }

    /// Whether nothing more is to be done: the client knows that the handler sends no more, and what the client still
    /// sends is for nobody.
    fn poll_over(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(theirs) = &mut self.theirs
            && Pin::new(theirs).poll(context).is_ready()
        {
            self.theirs = None;
        }
        self.outgoing == Direction::Ended && (self.incoming == Direction::Ended || self.theirs.is_none())
    }

    /// Takes the bytes that the handler has written.
    fn poll_outgoing(&mut self, context: &mut Context<'_>) {
        if !self.waiting.is_empty() || self.outgoing != Direction::Open {
            return;
        }
        let mut room = vec![0; BUFFERED];
        let mut buffer = ReadBuf::new(&mut room);
        if let Poll::Ready(read) = Pin::new(&mut self.ours).poll_read(context, &mut buffer) {
            if read.is_err() || buffer.filled().is_empty() {
                self.outgoing = Direction::Ending;
            }
            self.waiting.extend_from_slice(buffer.filled());
        }
    }

    /// Passes a piece to the handler; returns how much of it was taken. If the handler is gone, everything is
    /// discarded.
    fn poll_incoming(&mut self, data: &[u8], context: &mut Context<'_>) -> Poll<usize> {
        Pin::new(&mut self.ours).poll_write(context, data).map(|written| written.unwrap_or(data.len()))
    }

    /// Tells the handler that the client sends no more.
    fn end_incoming(&mut self, context: &mut Context<'_>) {
        if self.incoming != Direction::Ended && Pin::new(&mut self.ours).poll_shutdown(context).is_ready() {
            self.incoming = Direction::Ended;
        }
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
        let ResponseStage::Tunnel(tunnel) = &mut exchange.stage else { return };
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
        if exchange.received.is_empty() && exchange.ended.is_some() {
            tunnel.end_incoming(context);
        }
        tunnel.poll_outgoing(context);
        let ready = !tunnel.waiting.is_empty() || tunnel.outgoing == Direction::Ending;
        let is_over = tunnel.poll_over(context);
        self.machine.set_ready(stream, ready);
        if is_over {
            self.end_tunnel(index);
        }
    }

    /// Both directions have ended, or the handler has dropped its end.
    fn end_tunnel(&mut self, index: usize) {
        if let Some(exchange) = self.exchanges.get(index)
            && exchange.ended.is_none()
        {
            self.machine.abandon_body(exchange.stream);
        }
        self.conclude(index);
    }

    /// Sends the bytes that the handler has written.
    pub(super) fn send_tunnelled(&mut self, index: usize, stream: StreamId, bytes: usize, output: &mut Vec<u8>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let ResponseStage::Tunnel(tunnel) = &mut exchange.stage else { return };
        let length = tunnel.waiting.len().min(bytes);
        let end = tunnel.outgoing == Direction::Ending && length == tunnel.waiting.len();
        if length > 0 || end {
            match self.machine.write_data(stream, &tunnel.waiting[..length], end, output) {
                Ok(follows) => self.follows = follows,
                Err(_) => return self.give_up(index, M::INTERNAL_ERROR),
            }
        }
        tunnel.waiting.advance(length);
        if end {
            tunnel.outgoing = Direction::Ended;
        }
        exchange.note_sent(length, &self.worker);
        self.poll_exchange(index);
    }
}

/// Bytes that may wait on each side: back-pressure begins there.
const BUFFERED: usize = 16 * 1024;
