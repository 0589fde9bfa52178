//! The streams of an HTTP/3 connection: what arrives goes to the machine, and what that writes goes to QUIC.
//!
//! A driver polls the connection, then calls, in this order and until nothing is left:
//! [`Http3Streams::handle_events`], [`Http3Streams::receive_next`], what the machine's events lead to,
//! [`Http3Streams::obey`], [`Http3Streams::write_own`] and [`Http3Streams::write`], and [`Connection::send`].

mod receiving;
mod sending;

use quinn_proto::{ConnectionError, Dir, StreamId as QuicStream, VarInt};
use serow_http3::{Endpoint, ErrorCode, OwnStream, ProtocolError, StreamId, StreamOrder};

pub use self::{receiving::Delivery, sending::Piece};
use self::{
    receiving::Readable,
    sending::{StreamAdmission, Undelivered, Unwritten},
};
use crate::Connection;

/// The streams of an HTTP/3 connection, of either role.
#[derive(Debug)]
pub struct Http3Streams {
    quic: Connection,
    /// Streams that may have something to read.
    readable: Readable,
    /// Pieces that the machine wrote, and QUIC had no room for.
    unwritten: Unwritten,
    /// Streams that were written to their end, and that the peer has not wholly received.
    undelivered: Undelivered,
    /// Our unidirectional streams, once the peer lets us open them.
    own: [Option<QuicStream>; OwnStream::ALL.len()],
    /// The stream of the next request, where QUIC has opened it.
    next: Option<QuicStream>,
    /// Streams of requests that the peer has opened.
    accepted: u64,
    /// Whether QUIC had no room for any stream.
    admission: StreamAdmission,
    /// Bytes that it took nevertheless.
    beyond: u64,
    /// Bytes received on all streams.
    received: u64,
    /// Bytes of messages that QUIC has taken since somebody asked.
    written: u64,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub enum Http3StreamsError {
    /// The peer has violated HTTP/3: the connection is to be closed.
    Protocol(ProtocolError),
    /// The peer has ended it, or is gone.
    Lost(ConnectionError),
}

impl Http3Streams {
    /// Of a connection whose handshake is complete; of a server's, one that [has begun](Connection::knows_client_hello) is
    /// enough.
    #[must_use]
    pub fn new(quic: Connection) -> Self {
        let mut streams = Self {
            quic,
            readable: Readable::default(),
            unwritten: Unwritten::default(),
            undelivered: Undelivered::default(),
            own: [None; OwnStream::ALL.len()],
            next: None,
            accepted: 0,
            admission: StreamAdmission::Open,
            beyond: 0,
            received: 0,
            written: 0,
        };
        // Those of early data may have been opened during the handshake.
        streams.accept(Dir::Bi);
        streams.accept(Dir::Uni);
        streams
    }

    /// The connection.
    pub fn quic(&mut self) -> &mut Connection {
        &mut self.quic
    }

    /// The connection, without its streams.
    #[must_use]
    pub fn into_quic(self) -> Connection {
        self.quic
    }

    /// Bytes received on all streams so far.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Bytes of messages that QUIC has taken since this was called last.
    pub fn take_written(&mut self) -> u64 {
        std::mem::take(&mut self.written)
    }

    /// Whether QUIC takes messages of every urgency. It does not while the peer has yet to receive what it holds, or allows
    /// no more data.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.admission == StreamAdmission::Open
    }

    /// Whether the peer has received all messages.
    #[must_use]
    pub fn has_delivered_all(&self) -> bool {
        self.unwritten.is_empty() && self.undelivered.is_empty()
    }

    /// Whether QUIC had no room for something that the machine wrote.
    #[must_use]
    pub fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// A server: how many streams of requests the client may have opened since the beginning, at most: the last MAX_STREAMS
    /// (RFC 9000 §19.11), which may not have been sent yet.
    pub fn request_credit(&mut self) -> u64 {
        let machine = self.quic.machine();
        let may_be_open = machine.max_concurrent_streams(Dir::Bi);
        let ended = self.accepted.saturating_sub(machine.streams().remote_open_streams(Dir::Bi));
        ended + may_be_open
    }

    /// A client: whether the server allows one more request. The next stream that the machine begins is open then.
    pub fn can_open(&mut self) -> bool {
        // The peer sees a stream when something is sent on it, so one that is not used yet does no harm.
        self.next = self.next.or_else(|| self.quic.machine().streams().open(Dir::Bi));
        self.next.is_some()
    }

    /// A client: the machine has begun a request on the stream that was open.
    pub fn note_opened(&mut self) {
        self.next = None;
    }

    /// Does to QUIC's streams what the machine orders.
    pub fn obey<Role>(&mut self, machine: &mut Endpoint<Role>) {
        while let Some(order) = machine.next_order() {
            // Streams that have ended meanwhile need neither.
            match order {
                StreamOrder::Reset { stream, code } => {
                    self.forget(stream);
                    let _ = self.quic.machine().send_stream(to_quic(stream)).reset(code_of(code));
                }
                StreamOrder::Stop { stream, code } => {
                    let _ = self.quic.machine().recv_stream(to_quic(stream)).stop(code_of(code));
                }
            }
        }
    }

    /// A stream was cut off. If QUIC was full, no event may say of another one that it has room again.
    fn forget(&mut self, stream: StreamId) {
        self.unwritten.forget(stream);
        self.undelivered.forget(stream);
        self.admission = StreamAdmission::Open;
    }
}

fn of_quic(id: QuicStream) -> StreamId {
    StreamId::of_quic(VarInt::from(id).into_inner())
}

fn to_quic(stream: StreamId) -> QuicStream {
    // It came from there.
    VarInt::from_u64(stream.get()).unwrap_or(VarInt::MAX).into()
}

fn code_of(code: ErrorCode) -> VarInt {
    VarInt::from_u64(code.0).unwrap_or(VarInt::MAX)
}
