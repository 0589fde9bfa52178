//! Receiving: what arrived on the client's streams is passed to the machine, and its events to the exchanges.

use std::{collections::VecDeque, future::Future};

use bytes::Bytes;
use serow_http3::{ErrorCode, ProtocolError, StreamOrder};
use serow_message::{Handler, Request, Response};
use serow_quic::{Dir, Event, ReadError, StreamEvent, StreamId as QuicStream, VarInt};
use serow_streams::StreamId;

use super::{
    connection::{End, Http3},
    waiting::Waiting,
};

/// Streams that may have something to read, in the order in which they got it.
#[derive(Default)]
pub(super) struct Readable {
    streams: VecDeque<QuicStream>,
    /// Those whose readers have to catch up first.
    paused: Vec<QuicStream>,
}

impl Readable {
    fn add(&mut self, stream: QuicStream) {
        if !self.streams.contains(&stream) && !self.paused.contains(&stream) {
            self.streams.push_back(stream);
        }
    }
}

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Handles what QUIC tells; returns the connection's end.
    pub(super) fn handle_quic_events(&mut self) -> Option<End> {
        while let Some(event) = self.quic.next_event() {
            let handled = match event {
                Event::Stream(StreamEvent::Opened { dir }) => {
                    self.accept_streams(dir);
                    Ok(())
                }
                Event::Stream(StreamEvent::Readable { id }) => {
                    self.readable.add(id);
                    Ok(())
                }
                Event::Stream(StreamEvent::Writable { id }) => {
                    self.note_writable(id);
                    Ok(())
                }
                Event::Stream(StreamEvent::Finished { id }) => {
                    self.undelivered.forget(of_quic(id));
                    self.waiting = Waiting::Undecided;
                    Ok(())
                }
                Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    let (stream, code) = (of_quic(id), ErrorCode(error_code.into_inner()));
                    self.unwritten.forget(stream);
                    self.undelivered.forget(stream);
                    self.requests.machine.receive_stop(stream, code, self.now())
                }
                Event::ConnectionLost { reason } => {
                    tracing::debug!(peer = ?self.requests.connection.peer(), %reason, "a connection has ended");
                    return Some(End::Lost);
                }
                _ => Ok(()),
            };
            if let Err(error) = handled {
                return self.fail(error);
            }
        }
        self.handle_events();
        None
    }

    /// Whether there are streams to be read whose readers have room.
    pub(super) fn has_readable(&mut self) -> bool {
        let mut paused = std::mem::take(&mut self.readable.paused);
        paused.retain(|id| {
            let has_room = self.has_room(of_quic(*id));
            if has_room {
                self.readable.streams.push_back(*id);
            }
            !has_room
        });
        self.readable.paused = paused;
        !self.readable.streams.is_empty()
    }

    /// Reads all streams that have something and whose readers have room; returns the connection's end.
    pub(super) fn read_streams(&mut self) -> Option<End> {
        while let Some(id) = self.readable.streams.pop_front() {
            if let Err(error) = self.read_stream(id) {
                return self.fail(error);
            }
            self.handle_events();
            if let Some(error) = self.requests.machine.failure() {
                return self.fail(error);
            }
        }
        None
    }

    fn accept_streams(&mut self, dir: Dir) {
        while let Some(id) = self.quic.machine().streams().accept(dir) {
            self.readable.add(id);
        }
    }

    fn read_stream(&mut self, id: QuicStream) -> Result<(), ProtocolError> {
        let stream = of_quic(id);
        loop {
            if !self.has_room(stream) {
                self.readable.paused.push(id);
                return Ok(());
            }
            let now = self.now();
            let mut receiver = self.quic.machine().recv_stream(id);
            // It has been stopped or read to its end.
            let Ok(mut chunks) = receiver.read(true) else { return Ok(()) };
            let next = chunks.next(usize::MAX);
            // The packet that opens windows is sent with the next ones.
            let _ = chunks.finalize();
            let machine = &mut self.requests.machine;
            match next {
                Ok(Some(chunk)) => machine.receive(stream, chunk.bytes, false, now)?,
                Ok(None) => return machine.receive(stream, Bytes::new(), true, now),
                Err(ReadError::Blocked) => return Ok(()),
                Err(ReadError::Reset(code)) => {
                    return machine.receive_reset(stream, ErrorCode(code.into_inner()), now);
                }
            }
            self.handle_events();
        }
    }

    /// Whether what arrives on a stream has a place to go: back-pressure of handlers reaches the client as windows that stay
    /// shut.
    fn has_room(&mut self, stream: StreamId) -> bool {
        if to_quic(stream).dir() == Dir::Uni {
            return true;
        }
        if !self.requests.machine.wants_data(stream) {
            return false;
        }
        let Some(index) = self.requests.exchanges.find(stream) else { return true };
        self.requests.exchanges.get(index).is_none_or(|exchange| exchange.received.len() < PIECES_HELD)
    }

    /// Passes the machine's events to the exchanges, and its orders to QUIC.
    pub(super) fn handle_events(&mut self) {
        while let Some(event) = self.requests.machine.next_event() {
            if let serow_http3::Event::Request(_) = event {
                self.waiting = Waiting::Undecided;
            }
            self.requests.handle(event);
        }
        self.obey();
    }

    /// Does to QUIC's streams what the machine orders.
    pub(super) fn obey(&mut self) {
        while let Some(order) = self.requests.machine.next_order() {
            let quic = self.quic.machine();
            // Streams that have ended meanwhile need neither.
            match order {
                StreamOrder::Reset { stream, code } => {
                    self.unwritten.forget(stream);
                    self.undelivered.forget(stream);
                    let _ = quic.send_stream(to_quic(stream)).reset(code_of(code));
                }
                StreamOrder::Stop { stream, code } => {
                    let _ = quic.recv_stream(to_quic(stream)).stop(code_of(code));
                }
            }
        }
    }

    /// The client has violated the protocol.
    fn fail(&mut self, error: ProtocolError) -> Option<End> {
        tracing::debug!(peer = ?self.requests.connection.peer(), %error, "closed a connection");
        match error {
            ProtocolError::Connection { code, reason } => {
                self.requests.worker.counters.note_http3_error(code);
                Some(End::Close { code, reason })
            }
            // Errors of one stream became events.
            ProtocolError::Stream { .. } => None,
        }
    }
}

pub(super) fn of_quic(id: QuicStream) -> StreamId {
    StreamId::of_quic(VarInt::from(id).into_inner())
}

pub(super) fn to_quic(stream: StreamId) -> QuicStream {
    // It came from there.
    VarInt::from_u64(stream.get()).unwrap_or(VarInt::MAX).into()
}

pub(super) fn code_of(code: ErrorCode) -> VarInt {
    VarInt::from_u64(code.0).unwrap_or(VarInt::MAX)
}

/// Pieces of a body that wait for their reader. Each is the content of a packet, or less: about 64 KiB.
const PIECES_HELD: usize = 48;
