//! The client's side of a connection.

use core::{fmt, time::Duration};

use bytes::BytesMut;
use serow_message::{BodyLength, KnownHeader, Method, Priority, RequestHead, TargetForm, Version};
use serow_streams::{
    Exchange, Sending,
    response::{self, Accepted},
    show_length,
};

use crate::{
    ClientEvent, Endpoint, ErrorCode, Limits, ProtocolError, ReceivedResponse, Sender, StreamId,
    connection::{Connection, Opening, Shutdown, Step},
    frame::{self, Dependency, HeadersStart},
    hpack::Pseudo,
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

/// Why no request can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// As many streams are open as the server allows; one must end first (RFC 9113 §5.1.2).
    WouldBlock,
    /// The connection takes no more requests: one of the two leaves, or its numbers are used up (RFC 9113 §5.1.1).
    GoAway,
    /// The request is none: CONNECT with a body, an extended one that the server has not allowed (RFC 8441 §3), or no
    /// host.
    Usage,
}

/// What a request says beside its head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking<'a> {
    /// `http` or `https`; where it is empty, `https`.
    pub scheme: &'a str,
    /// For an extended CONNECT (RFC 8441 §4).
    pub protocol: Option<&'a str>,
    /// For servers that know only RFC 7540's priorities; who knows RFC 9218's goes by the header field `priority`.
    pub dependency: Option<Dependency>,
    /// When the body is sent, where others are as well.
    pub order: BodyOrder,
}

/// When the body of a request is sent, where others are as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyOrder {
    /// By the priority that the request asks of its response.
    #[default]
    ByPriority,
    /// In turns with all others: they are of different users, of whom none has a say in how long the others wait.
    InTurns,
}

impl Client {
    /// The state of a new connection; preface and settings are queued at once.
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        let role = ClientRole { refused_above: StreamId::MAX };
        Self { connection: Connection::new(Sender::Server, limits, now), role }
    }

    /// Begins a request; its head is queued at once, since streams begin in the order of their numbers. What its
    /// headers say of length, host and connection is left out: it follows from `length` and the target, or the field
    /// `Host`. Where the length is not `Known(0)`, a body is to be sent.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn open(&mut self, head: &RequestHead, length: BodyLength, asking: Asking<'_>) -> Result<StreamId, OpenError> {
        let connect = head.method == Method::CONNECT;
        let connection = &mut self.connection;
        // A tunnel has no length.
        if connect && length != BodyLength::Unknown {
            return Err(OpenError::Usage);
        }
        if asking.protocol.is_some() && !(connect && connection.allowed.enable_connect_protocol) {
            return Err(OpenError::Usage);
        }
        let authority = head.target.authority().or_else(|| head.headers.get_str(KnownHeader::Host));
        let authority = authority.ok_or(OpenError::Usage)?;
        if connect && asking.protocol.is_none() && head.target.form() != TargetForm::Authority {
            return Err(OpenError::Usage);
        }
        connection.check_room()?;
        let highest = connection.streams.highest();
        let id = if highest.is_connection() { StreamId::new(1) } else { StreamId::new(highest.bits() + 2) };
        let mut stream = connection.new_stream(id);
        stream.receiving = Receiving::Head;
        stream.sending = match length {
            BodyLength::Known(0) => Sending::Done,
            BodyLength::Known(length) => Sending::Length(length),
            BodyLength::Unknown => Sending::UntilEnd,
        };
        // RFC 9110 §6.5.1 is about responses; a server takes trailers or passes over them.
        stream.exchange = Exchange {
            head_only: head.method == Method::HEAD,
            connect,
            tunnel: connect,
            takes_trailers: true,
            awaits_continue: false,
        };
        stream.priority = match asking.order {
            BodyOrder::ByPriority => Priority::of_fields(&head.headers).unwrap_or_default(),
            BodyOrder::InTurns => Priority { incremental: true, ..Priority::DEFAULT },
        };
        connection.streams.note_opened(id);
        connection.streams.push(stream);
        connection.counters.opened += 1;
        connection.idle_frames.earn(EARNED_BY_REQUEST);
        self.write_request(id, head, length, asking, authority);
        Ok(id)
    }

    /// Encodes the head of a request into the frames that go first.
    fn write_request(
        &mut self,
        id: StreamId,
        head: &RequestHead,
        length: BodyLength,
        asking: Asking<'_>,
        authority: &str,
    ) {
        let connection = &mut self.connection;
        let mut output = core::mem::take(&mut connection.control);
        let start = match asking.dependency {
            None => frame::begin_headers(&mut output),
            Some(dependency) => frame::begin_dependent_headers(dependency, &mut output),
        };
        let mut pseudo = |pseudo, value: &str| connection.encoder.encode_pseudo(pseudo, value.as_bytes(), &mut output);
        pseudo(Pseudo::Method, head.method.as_str());
        if head.method != Method::CONNECT || asking.protocol.is_some() {
            pseudo(Pseudo::Scheme, if asking.scheme.is_empty() { "https" } else { asking.scheme });
            match head.target.query() {
                None => pseudo(Pseudo::Path, head.target.path()),
                Some(query) => pseudo(Pseudo::Path, &alloc::format!("{}?{query}", head.target.path())),
            }
        }
        pseudo(Pseudo::Authority, authority);
        if let Some(protocol) = asking.protocol {
            pseudo(Pseudo::Protocol, protocol);
        }
        connection.encode_headers(&head.headers, &[KnownHeader::ContentLength, KnownHeader::Host], &mut output);
        match length {
            // RFC 9110 §8.6: no length where the method foresees no content and there is none.
            BodyLength::Known(0) if !matches!(head.method, Method::POST | Method::PUT | Method::PATCH) => {}
            BodyLength::Known(length) => {
                show_length(length, |name, known, value| connection.encoder.encode(name, known, value, &mut output))
            }
            BodyLength::Unknown => {}
        }
        // The one field of a connection that HTTP/2 has (RFC 9113 §8.2.2).
        if head.headers.list(KnownHeader::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers")) {
            connection.encoder.encode(b"te", Some(KnownHeader::Te), b"trailers", &mut output);
        }
        let end = length == BodyLength::Known(0);
        frame::finish_headers(start, id, end, connection.allowed.max_frame_size as usize, &mut output);
        connection.control = output;
    }

    /// Takes frames from the front of the input until there is an event; `None` where more input is needed.
    ///
    /// # Errors
    ///
    /// What the server did wrong, where it ends the connection: GOAWAY has been queued; flush and close.
    pub fn receive(&mut self, input: &mut BytesMut, now: Duration) -> Result<Option<ClientEvent>, ProtocolError> {
        // RFC 9113 §6.8: the server never looked at these.
        let last = self.connection.streams.iter().next_back().map(|last| last.id);
        if let Some(stream) = last.filter(|last| *last > self.role.refused_above) {
            self.connection.forget(stream);
            return Ok(Some(ClientEvent::Reset { stream, code: ErrorCode::REFUSED_STREAM }));
        }
        let Some(step) = self.connection.receive(input, now)? else { return Ok(None) };
        Ok(Some(match step {
            Step::Fields { headers } => self.handle_response(headers),
            Step::Data { stream, data } => ClientEvent::Data { stream, data },
            Step::End { stream } => ClientEvent::End { stream, trailers: None },
            Step::Trailers { stream, trailers } => ClientEvent::End { stream, trailers: Some(trailers) },
            Step::Reset { stream, code } => ClientEvent::Reset { stream, code },
            Step::TooLarge { stream } => self.give_up(stream, ErrorCode::CANCEL),
            Step::GoAway { last_stream, code } => {
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

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::WouldBlock => "the server allows no more streams at once",
            Self::GoAway => "the connection takes no more requests",
            Self::Usage => "the request cannot be sent on this connection",
        })
    }
}

impl core::error::Error for OpenError {}

/// A response may well come with a few frames that bring nothing, as for a server's side.
const EARNED_BY_REQUEST: u32 = 4;

/// Informational responses to one request (RFC 9110 §15.2). A server that sends them for ever keeps a processor busy
/// for nothing; one that reports its progress, or has hints for each part of a page, sends some dozens.
const MAX_INFORMATIONAL: u8 = 64;

/// RFC 9113 §6.5.2 advises servers to allow no fewer than this.
const STREAMS_UNTIL_TOLD: u32 = 100;

/// RFC 9113 §5.1.1.
const LAST_STREAM: StreamId = StreamId::MAX;
