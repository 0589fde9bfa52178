//! The server's side of a connection.

use alloc::{sync::Arc, vec::Vec};
use core::time::Duration;

use bytes::BytesMut;
use serow_message::{
    BodyLength, Headers, KnownHeader, PartialPriority, Priority, ResponseHead, StatusCode, UsageError, Version,
};
use serow_streams::{
    Content, QueuedHead, ResponseContext, Sending,
    request::{self, Accepted, Answer, Rejected},
};

use crate::{
    Endpoint, ErrorCode, Event, Limits, ProtocolError, Sender, StreamId,
    connection::{Connection, ReceivedEvent, Shutdown, schedule},
    frame::HeadersStart,
    hpack::Pseudo,
    stream::{Receiving, Stream},
};

/// Receives requests and sends responses, many at once, each on its stream.
///
/// 1. Append what was read to a buffer, and call [`Server::receive`] until it gives `None`.
/// 2. Give the response of each request by [`Server::send_head`], and say by [`Server::set_ready`] when a piece of its
///    body is there.
/// 3. While the socket takes something: first [`Server::write_control`], then turn by turn ([`Server::next_turn`])
///    [`Server::write_head`] and [`Server::write_data`], [`Server::write_trailers`].
/// 4. Say what was read of requests' bodies ([`Server::note_consumed`]), or that nobody will ([`Server::abandon_body`]).
/// 5. Call [`Server::handle_timeout`] at [`Server::deadline`], and close when [`Server::is_finished`].
pub type Server = Endpoint<ServerRole>;

/// The role of a [`Server`].
#[derive(Debug)]
pub struct ServerRole {
    alternative_service: Option<Arc<[u8]>>,
}

impl Server {
    /// The state of a new connection; its settings are queued at once.
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        Self {
            connection: Connection::new(Sender::Client, limits, now),
            role: ServerRole { alternative_service: None },
        }
    }

    /// The value of Alt-Svc (RFC 7838 §3) in the responses of handlers that have no such field of their own.
    pub fn set_alternative_service(&mut self, value: Option<Arc<[u8]>>) {
        self.role.alternative_service = value;
    }

    /// Takes frames from the front of the input until there is an event; `None` where more input is needed.
    ///
    /// # Errors
    ///
    /// The client's error, where it ends the connection: GOAWAY has been queued; flush and close.
    #[inline]
    pub fn receive(&mut self, input: &mut BytesMut, now: Duration) -> Result<Option<Event>, ProtocolError> {
        loop {
            let Some(received) = self.connection.receive(input, now)? else { return Ok(None) };
            let event = match received {
                ReceivedEvent::Fields { headers } => self.handle_request(headers, now),
                ReceivedEvent::Data { stream, data } => Ok(Event::Data { stream, data }),
                ReceivedEvent::End { stream } => Ok(Event::End { stream, trailers: None }),
                ReceivedEvent::Trailers { stream, trailers } => Ok(Event::End { stream, trailers: Some(trailers) }),
                ReceivedEvent::Reset { stream, code } => Ok(Event::Reset { stream, code }),
                ReceivedEvent::GoAway { code, .. } => Ok(Event::GoAway { code }),
                ReceivedEvent::TooLarge { stream } => Ok(self.refuse_body(stream)),
            };
            match event {
                Ok(event) => return Ok(Some(event)),
                Err(ProtocolError::Connection { code, reason }) => {
                    self.connection.fail(code, reason);
                    return Err(ProtocolError::Connection { code, reason });
                }
                // Errors of one stream became events.
                Err(ProtocolError::Stream { .. }) => {}
            }
        }
    }

    /// Queues the head of the response, which is written when its turn comes. Fields of `headers` about length and
    /// connection are left out: the values follow from `length` and the request. Returns whether a body is to be sent:
    /// then the stream gets turns while it is [ready](Self::set_ready).
    ///
    /// # Errors
    ///
    /// When no request waits for a response there, or the status is that of an informational response or 101 (RFC 9113
    /// §8.6).
    #[inline]
    pub fn send_head(
        &mut self,
        stream: StreamId,
        status: StatusCode,
        headers: Headers,
        length: BodyLength,
    ) -> Result<bool, UsageError> {
        let place = self.connection.streams.place(stream).ok_or(UsageError::OutOfTurn)?;
        let waiting = self.connection.streams.at(place).ok_or(UsageError::OutOfTurn)?;
        if waiting.sending != Sending::Head || status.is_informational() {
            return Err(UsageError::OutOfTurn);
        }
        let (sending, content_length) = waiting.exchange.begin_response(status, &headers, length);
        // RFC 9218 §8. The scheduler does not have the stream yet.
        if headers.contains(KnownHeader::Priority)
            && let Some(said) = PartialPriority::of_fields(&headers)
        {
            waiting.priority = waiting.priority.merge(said);
        }
        waiting.sending = sending;
        waiting.head = Some(QueuedHead { status, headers, content_length, is_refusal: false });
        schedule(&mut self.connection.scheduler, waiting);
        Ok(sending != Sending::Done)
    }

    /// Queues an informational response (1xx but 101).
    ///
    /// # Errors
    ///
    /// When no request waits for a response there, or the status is none of an informational response.
    pub fn send_informational(&mut self, stream: StreamId, head: &ResponseHead) -> Result<(), UsageError> {
        let switch = head.status == StatusCode::SWITCHING_PROTOCOLS;
        if self.awaiting_response(stream).is_none() || !head.status.is_informational() || switch {
            return Err(UsageError::OutOfTurn);
        }
        self.connection.write_informational(stream, head);
        Ok(())
    }

    /// Whether the client waits for `100 Continue` before it sends the body.
    #[must_use]
    pub fn awaits_continue(&self, stream: StreamId) -> bool {
        self.peek(stream).is_some_and(|stream| stream.exchange.awaits_continue)
    }

    /// Queues `100 Continue` if the client waits for it. To be called when somebody wants the body.
    pub fn send_continue(&mut self, stream: StreamId) {
        let Some(waiting) = self.awaiting_response(stream) else { return };
        if core::mem::take(&mut waiting.exchange.awaits_continue) {
            let head = ResponseHead { status: StatusCode::CONTINUE, version: Version::HTTP_2, headers: Headers::new() };
            self.connection.write_informational(stream, &head);
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

    /// Writes the head of the stream whose turn it is; `date` is the value of the field that is added where the
    /// response has none of its own. Where no body follows, the response is whole.
    ///
    /// # Errors
    ///
    /// Where no head waits.
    #[inline]
    pub fn write_head(&mut self, stream: StreamId, date: &[u8], output: &mut Vec<u8>) -> Result<(), UsageError> {
        self.connection.write_head(stream, date, self.role.alternative_service.as_deref(), output)
    }

    /// Discards the rest of the stream's body, which the caller will not read. Where the response is complete and the
    /// request is not, that goes on for 64 KiB; then the stream is cut off without an error (RFC 9113 §8.1), and at
    /// once where more than that is announced.
    pub fn abandon_body(&mut self, stream: StreamId) {
        self.connection.abandon_body(stream);
    }

    /// How urgent the stream's response is: as the client said it, or the response, or [`Self::set_priority`].
    #[must_use]
    pub fn priority(&self, stream: StreamId) -> Priority {
        self.peek(stream).map_or(Priority::DEFAULT, |stream| stream.priority)
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

    /// Whether the stream could send more at once if the client opened its window, or that of the connection
    /// (CVE-2019-9517, "internal data buffering"): how long one may wait is the driver's to say.
    #[must_use]
    pub fn waits_for_window(&self, stream: StreamId) -> bool {
        let shut = self.connection.send_window.available() == 0;
        self.peek(stream).is_some_and(|stream| stream.waits_for_window() || shut && stream.ready)
    }

    /// The streams of which [`Self::waits_for_window`] is true.
    pub fn waiting_for_window(&self) -> impl Iterator<Item = StreamId> {
        let shut = self.connection.send_window.available() == 0;
        let waits = move |stream: &&Stream| stream.waits_for_window() || shut && stream.ready;
        self.connection.streams.iter().filter(waits).map(|stream| stream.id)
    }

    /// [Leaves](Self::begin_shutdown) at once, for a client that does not answer: later streams are passed over.
    pub fn finish_shutdown(&mut self) {
        self.connection.begin_shutdown();
        self.connection.finish_shutdown();
    }

    /// Whether the connection is being shut down, by either side.
    #[must_use]
    pub fn is_shutting_down(&self) -> bool {
        self.connection.peer_sent_goaway || self.connection.shutdown != Shutdown::Open
    }

    /// Whether no stream is open, and no frame has begun to come.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.active_streams() == 0 && self.connection.block.is_none()
    }

    /// Whether there are requests that have been answered and have not ended: their clients may still send a little.
    #[must_use]
    pub fn has_unfinished_requests(&self) -> bool {
        self.connection.unfinished > 0
    }

    /// Cuts those off without an error (RFC 9113 §8.1): their clients have had time to end them.
    pub fn reset_unfinished_requests(&mut self) {
        self.connection.reset_unfinished();
    }

    /// Whether a header block has begun and not ended: the client owes a CONTINUATION.
    #[must_use]
    pub fn is_within_block(&self) -> bool {
        self.connection.block.is_some()
    }

    fn peek(&self, stream: StreamId) -> Option<&Stream> {
        self.connection.streams.peek(stream)
    }

    fn awaiting_response(&mut self, stream: StreamId) -> Option<&mut Stream> {
        self.connection.streams.find(stream).filter(|stream| stream.sending == Sending::Head)
    }

    /// A request's head has come.
    #[inline]
    fn handle_request(&mut self, opening: HeadersStart, now: Duration) -> Result<Event, ProtocolError> {
        let HeadersStart { stream: id, end_stream, dependency } = opening;
        let connection = &mut self.connection;
        let accepted = match request::accept(
            &mut connection.fields,
            Version::HTTP_2,
            id,
            end_stream,
            &connection.limits.of_messages(),
        ) {
            Ok(accepted) => accepted,
            Err(rejected) => return self.reject(id, end_stream, *rejected, now),
        };
        let Accepted { request, content, exchange } = accepted;
        // RFC 9218 §7.1: what came ahead of the request is the latest.
        let said = connection.early.take(id).or_else(|| Priority::of_fields(&request.head.headers));
        if said.is_some() {
            connection.dependencies.ignore();
        }
        let hinted = match dependency {
            Some(dependency) if said.is_none() => connection.dependencies.handle(id, dependency),
            _ => connection.dependencies.kept(id),
        };
        let stream = self.open(id, end_stream);
        stream.priority = said.or(hinted).unwrap_or_default();
        stream.said_priority = said.is_some();
        stream.exchange = exchange;
        stream.content = content;
        Ok(Event::Request(request))
    }

    #[inline]
    fn open(&mut self, id: StreamId, end_stream: bool) -> &mut Stream {
        let connection = &mut self.connection;
        connection.idle_frames.earn(EARNED_BY_REQUEST);
        let stream = connection.new_stream(id);
        let stream = connection.streams.push(stream);
        if end_stream {
            stream.receiving = Receiving::Done;
        }
        stream
    }

    /// A request that no handler gets.
    #[cold]
    fn reject(
        &mut self,
        id: StreamId,
        end_stream: bool,
        rejected: Rejected,
        now: Duration,
    ) -> Result<Event, ProtocolError> {
        let Rejected { answer, reason, head } = rejected;
        let status = match answer {
            Answer::Reset => {
                self.connection.cut_off(id, ErrorCode::PROTOCOL_ERROR);
                self.connection.note_reset(now)?;
                StatusCode::BAD_REQUEST
            }
            Answer::Status(status) => {
                let head_only = match &head {
                    Some(head) => head.method == "HEAD",
                    None => self.connection.fields.pseudo(Pseudo::Method) == Some(b"HEAD"),
                };
                let stream = self.open(id, end_stream);
                stream.exchange = ResponseContext { head_only, ..ResponseContext::default() };
                stream.content = Content::UNBOUNDED;
                self.answer(id, status);
                status
            }
        };
        Ok(Event::Refused { stream: id, status, head, reason })
    }

    /// A body has grown too large.
    #[cold]
    fn refuse_body(&mut self, id: StreamId) -> Event {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        // Its client may send without end, so nothing more is taken in: the stream is cut off behind the response.
        if let Some(stream) = self.connection.streams.find(id) {
            stream.receiving = Receiving::Discarded(0);
        }
        self.answer(id, status);
        Event::Refused { stream: id, status, head: None, reason: "the body is too large" }
    }

    /// Answers a request without a handler, and passes over its body. Where a response has begun, it goes on.
    fn answer(&mut self, id: StreamId, status: StatusCode) {
        if self.send_head(id, status, Headers::new(), BodyLength::Known(0)).is_ok()
            && let Some(head) = self.connection.streams.find(id).and_then(|stream| stream.head.as_mut())
        {
            head.is_refusal = true;
        }
        self.connection.abandon_body(id);
    }
}

/// A request may well come with a few frames that bring nothing, as PING, PRIORITY and WINDOW_UPDATE.
const EARNED_BY_REQUEST: u32 = 4;
