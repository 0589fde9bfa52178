//! The server's side of a connection.

use alloc::vec::Vec;
use core::{marker::PhantomData, time::Duration};

use serow_message::{BodyLength, Headers, Priority, ResponseHead, StatusCode, UsageError, Version};
use serow_streams::Sending;

use crate::{
    Endpoint, Event, Follows, Limits, StreamId,
    connection::{Connection, Peer, Shutdown},
    received_event::ReceivedEvent,
};

/// Receives requests and sends responses, many at once, each on its stream.
///
/// 1. Open the three unidirectional streams, and send what [`Server::control`] gives of each, now and later, before
///    anything else.
/// 2. Give what comes of the peer's streams to [`Server::receive`], [`Server::receive_reset`] and
///    [`Server::receive_stop`]; of request streams only as long as [`Server::wants_data`]. Then take the events
///    ([`Server::next_event`]) and do what [`Server::next_order`] says; look at [`Server::failure`].
/// 3. Give the response of each request by [`Server::send_head`], and say by [`Server::set_ready`] when a piece of its
///    body is there.
/// 4. While the transport takes something: turn by turn ([`Server::next_turn`]) [`Server::write_head`] and
///    [`Server::write_data`], [`Server::write_trailers`], on the stream whose turn it is, with FIN where
///    [`Follows::Fin`] is returned. A stream without room is marked by [`Server::set_writable`].
/// 5. Say that nobody reads a request's body ([`Server::abandon_body`]), and close when [`Server::is_finished`], or some
///    time after it [has named the last stream](Server::has_named_last) and [none is open](Server::is_idle).
pub type Server = Endpoint<ServerRole>;

/// The role of a [`Server`], which keeps nothing of its own.
#[derive(Debug)]
pub struct ServerRole;

impl Server {
    /// The state of a new connection; its settings wait in [`Self::control`].
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        Self { connection: Connection::new(Peer::Client, limits, now), role: PhantomData }
    }

    /// Takes the next event; `None` where more must be received. Each stream has one event at a time; the bytes that
    /// follow on the stream are looked at once that event was taken.
    #[inline]
    pub fn next_event(&mut self) -> Option<Event> {
        loop {
            return Some(match self.connection.next_event()? {
                ReceivedEvent::Request(request) => Event::Request(request),
                ReceivedEvent::Refused { stream, status, head, reason } => {
                    Event::Refused { stream, status, head, reason }
                }
                ReceivedEvent::Data { stream, data } => Event::Data { stream, data },
                ReceivedEvent::End { stream, trailers } => Event::End { stream, trailers },
                ReceivedEvent::Reset { stream, code } => Event::Reset { stream, code },
                ReceivedEvent::GoAway => Event::GoAway { code: crate::ErrorCode::NO_ERROR },
                // A client sends none.
                ReceivedEvent::Response(_) => continue,
            });
        }
    }

    /// Queues the head of the response, which is written when its turn comes. Fields of `headers` about length and
    /// connection are left out: the values follow from `length` and the request. Returns whether a body is to be sent:
    /// then the stream gets turns while it is [ready](Self::set_ready).
    ///
    /// # Errors
    ///
    /// When no request waits for a response there, or the status is that of an informational response or 101 (RFC 9114
    /// §4.5).
    #[inline]
    pub fn send_head(
        &mut self,
        stream: StreamId,
        status: StatusCode,
        headers: Headers,
        length: BodyLength,
    ) -> Result<bool, UsageError> {
        self.check_known(stream)?;
        let sending = self.connection.queue_head(stream, status, headers, length)?;
        Ok(sending != Sending::Done)
    }

    /// Queues an informational response (1xx but 101). It goes out in the stream's next turn, which has
    /// [`Turn::head`](crate::Turn::head) set: [`Self::write_head`] writes it, before the head of the response, or alone
    /// where that is not there yet.
    ///
    /// # Errors
    ///
    /// When no request waits for a response there, or the status is none of an informational response.
    pub fn send_informational(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), UsageError> {
        if !head.status.is_informational() || head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(UsageError::OutOfTurn);
        }
        self.check_known(stream)?;
        self.connection.queue_informational(stream, head.clone())
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    #[must_use]
    pub fn awaits_continue(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(|stream| stream.exchange.awaits_continue)
    }

    /// Queues `100 Continue` if the client waits for it. To be called when somebody wants the body.
    pub fn send_continue(&mut self, stream: StreamId) {
        let Some(waiting) = self.connection.streams.find(stream) else { return };
        if waiting.sending == Sending::Head && core::mem::take(&mut waiting.exchange.awaits_continue) {
            let head = ResponseHead { status: StatusCode::CONTINUE, version: Version::HTTP_3, headers: Headers::new() };
            // The response has not begun.
            let _ = self.connection.queue_informational(stream, head);
        }
    }

    /// Whether a response was given, so that it is too late for another one.
    #[must_use]
    pub fn has_begun_response(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(|stream| stream.sending != Sending::Head)
    }

    /// Whether as much of the response's body has been written as was announced, so that only its end may follow.
    #[must_use]
    pub fn has_sent_length(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(|stream| stream.sending == Sending::Length(0))
    }

    /// Writes the head of the stream whose turn it is, and informational responses before it; `date` is the value of the
    /// field that is added where the response has none of its own. Where no body follows, the response is whole, and the
    /// stream ends with it.
    ///
    /// # Errors
    ///
    /// Where no head waits.
    #[inline]
    pub fn write_head(&mut self, stream: StreamId, date: &[u8], output: &mut Vec<u8>) -> Result<Follows, UsageError> {
        self.connection.write_head(stream, date, output)
    }

    /// Whether the client said the priority itself (RFC 9218), so that a guess by the response's type must not replace
    /// it.
    #[must_use]
    pub fn has_said_priority(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(|stream| stream.said_priority)
    }

    /// Gives a stream another priority.
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        self.connection.set_priority(stream, priority);
    }

    /// Ends what [`Self::begin_shutdown`] began: tells the client which stream is the last. Later ones are rejected, and
    /// may be sent again elsewhere.
    pub fn finish_shutdown(&mut self) {
        self.connection.begin_shutdown();
        self.connection.finish_shutdown();
    }

    /// Whether the connection is being shut down, by either side.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.connection.peer_go_away.is_some() || self.connection.shutdown != Shutdown::Open
    }

    /// Whether GOAWAY has named the last stream ([`Self::finish_shutdown`]). When none is open any more, the connection stays
    /// open for a while, which the driver measures: a client that learns of the last stream and of the connection's end at
    /// once may fail requests that it could have sent over another connection.
    #[must_use]
    pub fn has_named_last(&self) -> bool {
        matches!(self.connection.shutdown, Shutdown::From(_))
    }

    /// Whether no request stream is open.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.active_streams() == 0
    }

    /// Whether a request has begun to come, and its head is not whole: the client owes the rest.
    #[must_use]
    pub fn is_within_head(&self) -> bool {
        self.connection.is_within_head()
    }

    /// A stream exists before its request does.
    fn check_known(&self, stream: StreamId) -> Result<(), UsageError> {
        if self.peek(stream).is_some_and(|stream| stream.is_known) { Ok(()) } else { Err(UsageError::OutOfTurn) }
    }
}
