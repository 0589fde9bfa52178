//! The operations that both sides of a connection share.

use alloc::vec::Vec;
use core::time::Duration;

use serow_message::{Headers, UsageError};

use crate::{
    Counters, ErrorCode, StreamId, Turn,
    connection::{Connection, LIFE_SIGN},
    frame,
};

/// One end of a connection (RFC 9113 §2.2): a [`Server`](crate::Server) or a [`Client`](crate::Client), which differ in
/// what they begin and receive.
///
/// A call for a stream that is over does nothing, or is out of turn: the peer may cut any stream off at any time.
#[derive(Debug)]
pub struct Endpoint<Role> {
    pub(crate) connection: Connection,
    pub(crate) role: Role,
}

impl<Role> Endpoint<Role> {
    /// Whether frames wait that go before everything else.
    #[must_use]
    pub fn has_control(&self) -> bool {
        !self.connection.control.is_empty()
    }

    /// Appends them. To be called when the peer has taken what went before: those that wait are counted, and a peer
    /// that asks for answers and does not read them is cut off.
    #[inline]
    pub fn write_control(&mut self, output: &mut Vec<u8>) {
        self.connection.write_control(output);
    }

    /// Whether a piece of the stream's body, or its end, is there to be sent. While it is, the stream gets turns.
    #[inline]
    pub fn set_ready(&mut self, stream: StreamId, ready: bool) {
        self.connection.set_ready(stream, ready);
    }

    /// Whose turn it is to send, and how much: as far as the windows and the peer's frames allow, and at most `room`. A
    /// response's head gets its turn, with `bytes` 0, also where the windows are shut. A stream that has nothing to
    /// send in its turn must be marked by [`Self::set_ready`]; otherwise it gets the next turn again.
    #[inline]
    pub fn next_turn(&mut self, room: usize) -> Option<Turn> {
        self.connection.next_turn(room)
    }

    /// Writes a piece of the body as one frame; `end` says that it is the last. An empty last one needs no turn.
    ///
    /// # Errors
    ///
    /// Before the head, more bytes than the turn or the announced length allow, or an end before that: nothing was
    /// written. Then the stream must be [reset](Self::reset), so that the peer does not take the message for whole.
    #[inline]
    pub fn write_data(
        &mut self,
        stream: StreamId,
        data: &[u8],
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        self.begin_data(stream, data.len(), end, output)?;
        output.extend_from_slice(data);
        Ok(())
    }

    /// The same, without the data: the caller appends `length` bytes itself.
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
    ) -> Result<(), UsageError> {
        self.connection.begin_data(stream, length, end, output)
    }

    /// Ends the message with trailers; those of a response are left out where the client did not say `te: trailers`
    /// (RFC 9110 §6.5.1). Needs no turn.
    ///
    /// # Errors
    ///
    /// Before the head, or before the announced length.
    pub fn write_trailers(
        &mut self,
        stream: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        self.connection.write_trailers(stream, trailers, output)
    }

    /// Cuts a stream off.
    pub fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        if self.connection.streams.peek(stream).is_some() {
            self.connection.cut_off(stream, code);
        }
    }

    /// So many bytes of the stream's body were used by their reader: the peer may send more in their place.
    #[inline]
    pub fn note_consumed(&mut self, stream: StreamId, bytes: usize) {
        self.connection.note_consumed(stream, bytes);
    }

    /// Sends a PING (RFC 9113 §6.7). Its answer brings no event: that anything comes is what it is for.
    pub fn send_ping(&mut self) {
        frame::write_ping(*LIFE_SIGN, false, &mut self.connection.control);
    }

    /// Leaves (RFC 9113 §6.8); streams that are open go on. A client opens no more of them, and says so by GOAWAY. A
    /// server tells the client to open no more: by a GOAWAY that allows all, and PING. With the answer to that the last
    /// stream is known and told.
    pub fn begin_shutdown(&mut self) {
        self.connection.begin_shutdown();
    }

    /// Ends the connection over something of our own.
    pub fn fail(&mut self, code: ErrorCode, reason: &'static str) {
        self.connection.fail(code, reason);
    }

    /// Whether the connection is to be closed once all is flushed: shut down, with no stream left, or failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.connection.is_finished()
    }

    /// How many streams are open, but for those of
    /// [`Server::has_unfinished_requests`](crate::Server::has_unfinished_requests).
    #[must_use]
    pub fn active_streams(&self) -> usize {
        self.connection.active_streams()
    }

    /// When [`Self::handle_timeout`] is to be called, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.connection.deadline()
    }

    /// The deadline may have passed.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.connection.handle_timeout(now);
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
}
