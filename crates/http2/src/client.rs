//! The client's side of a connection.

use alloc::vec::Vec;
use core::time::Duration;

use bytes::BytesMut;
use serow_message::{BodyLength, KnownHeader, Priority, RequestHead, Version};
use serow_streams::{
    BodyOrder, FieldEncoder, OpenError, Sending, SentRequest,
    response::{self, Accepted},
};

use crate::{
    ClientEvent, Endpoint, ErrorCode, Limits, ProtocolError, ReceivedResponse, Sender, StreamId,
    connection::{Connection, Opening, ReceivedEvent, Shutdown},
    frame::{self, Dependency, HeadersStart},
    hpack::{Encoder, Pseudo},
    stream::Receiving,
};

/// Sends requests and receives responses, many at once, each on its stream. It is driven as a [`Server`](crate::Server)
/// is; requests are begun by [`Client::open`], and there is never a head to be written.
pub type Client = Endpoint<ClientRole>;

/// The role of a [`Client`], and what it keeps for itself.
#[derive(Debug)]
pub struct ClientRole {
    /// The server does not process streams above this one; each open one gets an event.
    refused_above: StreamId,
}

/// Options of a request beside its head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking<'a> {
    /// `http` or `https`; where it is empty, `https`.
    pub scheme: &'a str,
    /// For an extended CONNECT (RFC 8441 §4).
    pub protocol: Option<&'a str>,
    /// For servers that know only RFC 7540's priorities; those that know RFC 9218's go by the header field `priority`.
    pub dependency: Option<Dependency>,
    /// When the body is sent, where others are as well.
    pub order: BodyOrder,
}

impl Client {
    /// The state of a new connection; preface and settings are queued at once.
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        let role = ClientRole { refused_above: StreamId::MAX };
        Self { connection: Connection::new(Sender::Server, limits, now), role }
    }

    /// Begins a request; its head is queued at once, since streams begin in the order of their numbers. Header fields
    /// about length, host and connection are left out: the values follow from `length` and the target, or the field
    /// `Host`. Where the length is not `Known(0)`, a body is to be sent.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, length: BodyLength, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let connection = &mut self.connection;
        let allows_extended = connection.allowed.enable_connect_protocol;
        let request = SentRequest::check(head, length, asking.scheme, asking.protocol, allows_extended)?;
        connection.check_room()?;
        let highest = connection.streams.highest();
        let id = if highest.is_connection() { StreamId::new(1) } else { StreamId::new(highest.bits() + 2) };
        let mut stream = connection.new_stream(id);
        stream.receiving = Receiving::Head;
        stream.sending = request.sending();
        stream.exchange = request.exchange();
        stream.priority = request.priority(asking.order);
        connection.streams.note_opened(id);
        connection.streams.push(stream);
        connection.counters.opened += 1;
        connection.idle_frames.earn(EARNED_BY_REQUEST);
        let end = request.sending() == Sending::Done;
        self.write_request(id, &request, end, asking.dependency);
        Ok(id)
    }

    /// Encodes the head of a request into the frames that go first.
    fn write_request(&mut self, id: StreamId, request: &SentRequest<'_>, end: bool, dependency: Option<Dependency>) {
        let Connection { control, encoder, allowed, .. } = &mut self.connection;
        let start = match dependency {
            None => frame::begin_headers(control),
            Some(dependency) => frame::begin_dependent_headers(dependency, control),
        };
        request.encode(&mut ToBlock { encoder, output: control });
        frame::finish_headers(start, id, end, allowed.max_frame_size as usize, control);
    }

    /// Takes frames from the front of the input until there is an event; `None` where more input is needed.
    ///
    /// # Errors
    ///
    /// The server's error, where it ends the connection: GOAWAY has been queued; flush and close.
    pub fn receive(&mut self, input: &mut BytesMut, now: Duration) -> Result<Option<ClientEvent>, ProtocolError> {
        // RFC 9113 §6.8: the server never looked at these.
        let last = self.connection.streams.iter().next_back().map(|last| last.id);
        if let Some(stream) = last.filter(|last| *last > self.role.refused_above) {
            self.connection.forget(stream);
            return Ok(Some(ClientEvent::Reset { stream, code: ErrorCode::REFUSED_STREAM }));
        }
        let Some(received) = self.connection.receive(input, now)? else { return Ok(None) };
        Ok(Some(match received {
            ReceivedEvent::Fields { headers } => self.handle_response(headers),
            ReceivedEvent::Data { stream, data } => ClientEvent::Data { stream, data },
            ReceivedEvent::End { stream } => ClientEvent::End { stream, trailers: None },
            ReceivedEvent::Trailers { stream, trailers } => ClientEvent::End { stream, trailers: Some(trailers) },
            ReceivedEvent::Reset { stream, code } => ClientEvent::Reset { stream, code },
            ReceivedEvent::TooLarge { stream } => self.give_up(stream, ErrorCode::CANCEL),
            ReceivedEvent::GoAway { last_stream, code } => {
                self.role.refused_above = self.role.refused_above.min(last_stream);
                ClientEvent::GoAway { code }
            }
        }))
    }

    /// Says how urgent a response is (RFC 9218 §7.1); also orders what is sent on the stream.
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        if self.connection.streams.peek(stream).is_some() {
            self.connection.set_priority(stream, priority);
            frame::write_priority_update(stream, priority.as_str().as_bytes(), &mut self.connection.control);
        }
    }

    /// Whether a request could be sent now, as far as the connection goes.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn check_room(&self) -> Result<(), OpenError> {
        self.connection.check_room()
    }

    /// Whether the server's settings have come: what it allows is known (RFC 9113 §6.5).
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.connection.opening == Opening::Done
    }

    /// Whether the server takes an extended CONNECT (RFC 8441 §3).
    #[must_use]
    pub fn allows_extended_connect(&self) -> bool {
        self.connection.allowed.enable_connect_protocol
    }

    /// A response's head has come, or an informational one.
    fn handle_response(&mut self, opening: HeadersStart) -> ClientEvent {
        let HeadersStart { stream: id, end_stream, .. } = opening;
        let most = self.connection.limits.body;
        let place = self.connection.streams.place(id);
        let Some((place, stream)) = place.and_then(|place| Some((place, self.connection.streams.at(place)?))) else {
            return ClientEvent::Reset { stream: id, code: ErrorCode::CANCEL };
        };
        let Ok(Accepted { head, length, content }) =
            response::accept(&mut self.connection.fields, Version::HTTP_2, stream.exchange, end_stream, most)
        else {
            return self.give_up(id, ErrorCode::PROTOCOL_ERROR);
        };
        if head.status.is_informational() {
            stream.informational += 1;
            if stream.informational > MAX_INFORMATIONAL {
                return self.give_up(id, ErrorCode::ENHANCE_YOUR_CALM);
            }
        }
        let has_body = !end_stream && !head.status.is_informational();
        if !head.status.is_informational() {
            stream.receiving = if end_stream { Receiving::Done } else { Receiving::Body };
            stream.content = content;
            self.connection.conclude(place);
        }
        ClientEvent::Response(ReceivedResponse { stream: id, head, has_body, length })
    }

    /// The server's response is of no use.
    fn give_up(&mut self, stream: StreamId, code: ErrorCode) -> ClientEvent {
        self.connection.cut_off(stream, code);
        ClientEvent::Reset { stream, code }
    }
}

/// Encodes into a header block.
struct ToBlock<'a> {
    encoder: &'a mut Encoder,
    output: &'a mut Vec<u8>,
}

impl FieldEncoder for ToBlock<'_> {
    fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) {
        self.encoder.encode_pseudo(pseudo, value, self.output);
    }

    fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8]) {
        self.encoder.encode(name, known, value, self.output);
    }
}

impl Connection {
    /// Whether a client may open a stream.
    fn check_room(&self) -> Result<(), OpenError> {
        if self.shutdown != Shutdown::Open || self.peer_sent_goaway || self.streams.highest() >= LAST_STREAM {
            return Err(OpenError::GoAway);
        }
        let most = self.allowed.max_concurrent_streams.unwrap_or(STREAMS_UNTIL_TOLD);
        if self.streams.len() >= most as usize { Err(OpenError::WouldBlock) } else { Ok(()) }
    }
}

/// A response may well come with a few frames that bring nothing, as for a server's side.
const EARNED_BY_REQUEST: u32 = 4;

/// Informational responses to one request (RFC 9110 §15.2). A server that sends them for ever keeps a processor busy
/// for nothing; one that reports its progress, or has hints for each part of a page, sends some dozens.
const MAX_INFORMATIONAL: u8 = 64;

/// RFC 9113 §6.5.2 advises servers to allow no fewer than this.
const STREAMS_UNTIL_TOLD: u32 = 100;

/// RFC 9113 §5.1.1.
const LAST_STREAM: StreamId = StreamId::MAX;
