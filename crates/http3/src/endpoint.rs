//! The operations that both sides of a connection share.

use alloc::vec::Vec;
use core::{marker::PhantomData, time::Duration};

use bytes::{Bytes, BytesMut};
use serow_message::{Headers, Priority, UsageError};

use crate::{
    Counters, ErrorCode, Follows, OwnStream, ProtocolError, Settings, StreamId, StreamOrder, Turn,
    connection::{Connection, Shutdown},
    stream::Stream,
};

/// One end of a connection (RFC 9114 §2): a [`Server`](crate::Server) or a [`Client`](crate::Client), which differ in what
/// they begin and receive.
///
/// A call for a stream that is over does nothing, or is out of turn: the peer may cut any stream off at any time.
#[derive(Debug)]
pub struct Endpoint<Role> {
    pub(crate) connection: Connection,
    pub(crate) role: PhantomData<Role>,
}

impl<Role> Endpoint<Role> {
    /// Takes in the next bytes of a stream, in pieces of any length; `fin`: no more follow. To be called for request
    /// streams and for the peer's unidirectional ones, the latter without regard to [`Self::wants_data`]. Then take what
    /// happened (`next_event`) and what the transport has to do ([`Self::next_order`]).
    ///
    /// # Errors
    ///
    /// The peer's error, where it ends the connection: close it with the code and the reason. Every later call returns
    /// it again. Mistakes within one stream are events.
    #[inline]
    pub fn receive(&mut self, stream: StreamId, data: Bytes, fin: bool, now: Duration) -> Result<(), ProtocolError> {
        self.connection.receive(stream, data, fin, now)
    }

    /// The peer has sent RESET_STREAM (RFC 9000 §19.4).
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub fn receive_reset(&mut self, stream: StreamId, code: ErrorCode, now: Duration) -> Result<(), ProtocolError> {
        self.connection.receive_reset(stream, code, now)
    }

    /// The peer has sent STOP_SENDING (RFC 9000 §19.5): also for our own unidirectional streams.
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub fn receive_stop(&mut self, stream: StreamId, code: ErrorCode, now: Duration) -> Result<(), ProtocolError> {
        self.connection.receive_stop(stream, code, now)
    }

    /// Whether more of the stream can be used now. It cannot while an event of the stream was not taken, or while its
    /// field section waits for QPACK's table: then leave what comes with the transport, whose flow control makes the peer
    /// wait. Ask again after events were taken, and after something came of the peer's unidirectional streams.
    #[must_use]
    #[inline]
    pub fn wants_data(&self, stream: StreamId) -> bool {
        self.connection.wants_data(stream)
    }

    /// Whether something waits to be sent on our unidirectional streams.
    #[must_use]
    #[inline]
    pub fn has_control(&self) -> bool {
        self.connection.has_control()
    }

    /// The bytes that wait to be sent on one of our unidirectional streams: its type first. Take from the front as much
    /// as flow control allows, and send it before what is written on other streams. A peer that does not read what it
    /// makes us write here is cut off.
    #[inline]
    pub fn control(&mut self, stream: OwnStream) -> &mut BytesMut {
        self.connection.control(stream)
    }

    /// Takes the next order to the transport about a stream. Call it until it returns `None`, after anything was
    /// received, and after [`Self::reset`] and other calls that end streams.
    #[inline]
    pub fn next_order(&mut self) -> Option<StreamOrder> {
        self.connection.orders.pop_front()
    }

    /// Whether a piece of the stream's body, or its end, is there to be sent. While it is, the stream gets turns.
    #[inline]
    pub fn set_ready(&mut self, stream: StreamId, ready: bool) {
        self.connection.set_ready(stream, ready);
    }

    /// Whether the transport takes bytes of the stream: there is room by its flow control (RFC 9000 §4.1), and in its
    /// buffer. While it does not, the stream gets no turns, not even for its head. Every stream begins with room.
    #[inline]
    pub fn set_writable(&mut self, stream: StreamId, writable: bool) {
        self.connection.set_writable(stream, writable);
    }

    /// The same for the connection: while there is no room for it, nobody gets a turn.
    #[inline]
    pub fn set_connection_writable(&mut self, writable: bool) {
        self.connection.writable = writable;
    }

    /// How many streams for requests the transport lets the peer open, counted from the beginning of the connection: its
    /// last MAX_STREAMS (RFC 9000 §19.11). The peer must not speak of others (RFC 9218 §7.2). Without it, no limit is
    /// known.
    pub fn set_stream_credit(&mut self, streams: u64) {
        self.connection.stream_credit = streams;
    }

    /// Whose turn it is to send, and how much: at most `room` bytes of body. A response's head gets its turn with `bytes`
    /// 0 where nothing is ready behind it. A stream that has nothing to send in its turn must be marked by
    /// [`Self::set_ready`], or [`Self::set_writable`]; otherwise it gets the next turn again.
    #[inline]
    #[must_use]
    pub fn next_turn(&self, room: usize) -> Option<Turn> {
        self.connection.next_turn(room)
    }

    /// Writes a piece of the body as one frame; `end` says that it is the last. An empty last one writes nothing, and
    /// needs no turn. Says whether the stream ends with it.
    ///
    /// # Errors
    ///
    /// Before the head, more bytes than the announced length, or an end before that: nothing was written. Then the
    /// stream must be [reset](Self::reset), so that the peer does not take the message for whole.
    #[inline]
    pub fn write_data(
        &mut self,
        stream: StreamId,
        data: &[u8],
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        let follows = self.begin_data(stream, data.len(), end, output)?;
        output.extend_from_slice(data);
        Ok(follows)
    }

    /// The same, without the data: the caller sends `length` bytes itself behind what is appended, at most 9 bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::write_data`].
    #[inline]
    pub fn begin_data(
        &mut self,
        stream: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        self.connection.begin_data(stream, length, end, output)
    }

    /// Ends the message with trailers; those of a response are left out where the client did not say `te: trailers`
    /// (RFC 9110 §6.5.1). Needs no turn. The stream ends with it.
    ///
    /// # Errors
    ///
    /// Before the head, or before the announced length.
    pub fn write_trailers(
        &mut self,
        stream: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        self.connection.write_trailers(stream, trailers, output)
    }

    /// Cuts a stream off, in both directions.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        self.connection.cut_off(stream, code);
    }

    /// Discards the rest of the stream's body, which the caller will not read, for 64 KiB; then, or when our message is
    /// complete, the peer receives STOP_SENDING, without an error (RFC 9114 §4.1).
    pub fn abandon_body(&mut self, stream: StreamId) {
        self.connection.abandon_body(stream);
    }

    /// How urgent the stream is: as the client said it, or the response, or `set_priority`.
    #[must_use]
    pub fn priority(&self, stream: StreamId) -> Priority {
        self.peek(stream).map_or(Priority::DEFAULT, |stream| stream.priority)
    }

    /// Whether the stream could send more at once if it were [writable](Self::set_writable) (as CVE-2019-9517,
    /// "internal data buffering"): how long one may wait is the driver's to say, as it knows whether the connection is.
    #[must_use]
    pub fn waits_for_window(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(Stream::waits_for_window)
    }

    /// The streams of which [`Self::waits_for_window`] is true.
    pub fn waiting_for_window(&self) -> impl Iterator<Item = StreamId> {
        self.connection.streams.iter().filter(|stream| stream.waits_for_window()).map(|stream| stream.id)
    }

    /// Leaves (RFC 9114 §5.2); streams that are open go on. A client opens no more of them, and says so by GOAWAY. A
    /// server tells the client to open no more: by a GOAWAY that allows all; then, a round trip or more later,
    /// [`Server::finish_shutdown`](crate::Server::finish_shutdown) tells which stream is the last.
    pub fn begin_shutdown(&mut self) {
        self.connection.begin_shutdown();
    }

    /// Ends the connection over something of our own.
    pub fn fail(&mut self, code: ErrorCode, reason: &'static str) {
        self.connection.fail(code, reason);
    }

    /// Why the connection is to be closed at once, if it is: the peer's mistake, or [`Self::fail`]. Ask after events
    /// were taken, too: with them, what came before is looked at.
    #[must_use]
    pub fn failure(&self) -> Option<ProtocolError> {
        match self.connection.shutdown {
            Shutdown::Failed(error) => Some(error),
            Shutdown::Open | Shutdown::Announced | Shutdown::From(_) => None,
        }
    }

    /// Whether the connection is to be closed once all is sent: [failed](Self::failure), or with no stream left and no
    /// other to come (H3_NO_ERROR), since the peer or a client has said so. A server that has
    /// [named the last stream](crate::Server::has_named_last) waits for the client to close.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.connection.is_finished()
    }

    /// How many request streams are open.
    #[must_use]
    pub fn active_streams(&self) -> usize {
        self.connection.streams.len()
    }

    /// The peer's SETTINGS; `None` until they have come.
    #[must_use]
    pub fn peer_settings(&self) -> Option<Settings> {
        self.connection.allowed
    }

    /// Gives back memory that is kept for the next message. To be called when that may be long in coming.
    pub fn release_memory(&mut self) {
        self.connection.release_memory();
    }

    /// Counts since the connection began.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.connection.counters
    }

    pub(crate) fn peek(&self, stream: StreamId) -> Option<&Stream> {
        self.connection.streams.peek(stream)
    }
}
