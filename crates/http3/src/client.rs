//! The client's side of a connection.

use alloc::vec::Vec;
use core::{fmt, marker::PhantomData, time::Duration};

use serow_message::{BodyLength, KnownHeader, Method, Priority, RequestHead, TargetForm};
use serow_streams::{Exchange, Sending, show_headers, show_length};

use crate::{
    ClientEvent, Endpoint, ErrorCode, Follows, Limits, OwnStream, StreamId,
    connection::{Connection, Peer, Shutdown},
    frame,
    qpack::{FieldSection, Pseudo},
    sending::write_section,
    step::Step,
    stream::Stream,
};

/// Sends requests and receives responses, many at once, each on its stream. It is driven as a [`Server`](crate::Server)
/// is; requests are begun by [`Client::open`], and there is never a head to be written.
pub type Client = Endpoint<ClientRole>;

/// The role of a [`Client`], which keeps nothing of its own.
#[derive(Debug)]
pub struct ClientRole;

/// Why no request can be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// As many streams were opened as the server allows; it must allow more first (RFC 9000 §4.6).
    WouldBlock,
    /// The connection takes no more requests: one of the two leaves.
    GoAway,
    /// The request is none: CONNECT with a body, an extended one that the server has not allowed (RFC 9220 §3), or no
    /// host.
    Usage,
}

/// What a request says beside its head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking<'a> {
    /// `http` or `https`; where it is empty, `https`.
    pub scheme: &'a str,
    /// For an extended CONNECT (RFC 9220 §3).
    pub protocol: Option<&'a str>,
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
    /// The state of a new connection; its settings wait in [`Self::control`].
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        let mut connection = Connection::new(Peer::Server, limits, now);
        connection.stream_credit = 0;
        Self { connection, role: PhantomData }
    }

    /// Begins a request: appends its head, which is to be sent on the stream whose number is returned. What its headers
    /// say of length, host and connection is left out: it follows from `length` and the target, or the field `Host`.
    /// Where the length is not `Known(0)`, a body is to be sent.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn open(
        &mut self,
        head: &RequestHead,
        length: BodyLength,
        asking: Asking<'_>,
        output: &mut Vec<u8>,
    ) -> Result<(StreamId, Follows), OpenError> {
        let connect = head.method == Method::CONNECT;
        let connection = &mut self.connection;
        // A tunnel has no length.
        if connect && length != BodyLength::Unknown {
            return Err(OpenError::Usage);
        }
        let allows_extended = connection.allowed.is_some_and(|allowed| allowed.enable_connect_protocol);
        if asking.protocol.is_some() && !(connect && allows_extended) {
            return Err(OpenError::Usage);
        }
        let authority = head.target.authority().or_else(|| head.headers.get_str(KnownHeader::Host));
        let authority = authority.ok_or(OpenError::Usage)?;
        if connect && asking.protocol.is_none() && head.target.form() != TargetForm::Authority {
            return Err(OpenError::Usage);
        }
        connection.check_room()?;
        let id = connection.streams.next();
        // The numbers follow each other.
        let _ = connection.streams.note_opened(id);
        let mut stream = Stream::new(id);
        stream.is_known = true;
        stream.sending = match length {
            BodyLength::Known(0) => Sending::Done,
            BodyLength::Known(length) => Sending::Length(length),
            BodyLength::Unknown => Sending::UntilEnd,
        };
        let follows = if stream.sending == Sending::Done { Follows::Fin } else { Follows::More };
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
        connection.add(stream);
        connection.idle_frames.earn(EARNED_BY_REQUEST);
        write_section(&mut connection.encoder, id, output, |section| {
            write_request(head, length, asking, authority, section);
        });
        Ok((id, follows))
    }

    /// What happened next; `None` where more must be received.
    pub fn next_event(&mut self) -> Option<ClientEvent> {
        loop {
            return Some(match self.connection.next_step()? {
                Step::Response(response) => ClientEvent::Response(response),
                Step::Data { stream, data } => ClientEvent::Data { stream, data },
                Step::End { stream, trailers } => ClientEvent::End { stream, trailers },
                Step::Reset { stream, code } => ClientEvent::Reset { stream, code },
                Step::GoAway => ClientEvent::GoAway { code: ErrorCode::NO_ERROR },
                // A server sends none.
                Step::Request(_) | Step::Refused { .. } => continue,
            });
        }
    }

    /// Says how urgent a response is (RFC 9218 §7.2); also orders what is sent on the stream.
    pub fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        if self.connection.streams.peek(stream).is_some() {
            self.connection.set_priority(stream, priority);
            let control = self.connection.own.waiting(OwnStream::Control);
            frame::write_priority_update(stream, priority.as_str().as_bytes(), control);
        }
    }

    /// Whether a request could be sent now, as far as the connection goes. [`Self::set_stream_credit`] tells
    /// how many the server allows.
    ///
    /// # Errors
    ///
    /// Where none can be sent, or not now.
    pub fn check_room(&self) -> Result<(), OpenError> {
        self.connection.check_room()
    }
}

/// The fields of a request, in the order of RFC 9114 §4.3.1.
fn write_request(
    head: &RequestHead,
    length: BodyLength,
    asking: Asking<'_>,
    authority: &str,
    section: &mut FieldSection<'_>,
) {
    let mut pseudo = |pseudo, value: &str| section.encode_pseudo(pseudo, value.as_bytes());
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
    show_headers(&head.headers, &[KnownHeader::ContentLength, KnownHeader::Host], |name, known, value| {
        section.encode(name, known, value);
    });
    match length {
        // RFC 9110 §8.6: no length where the method foresees no content and there is none.
        BodyLength::Known(0) if !matches!(head.method, Method::POST | Method::PUT | Method::PATCH) => {}
        BodyLength::Known(length) => {
            show_length(length, |name, known, value| section.encode(name, known, value));
        }
        BodyLength::Unknown => {}
    }
    // The one field of a connection that HTTP/3 has (RFC 9114 §4.2).
    if head.headers.list(KnownHeader::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers")) {
        section.encode(b"te", Some(KnownHeader::Te), b"trailers");
    }
}

impl Connection {
    /// Whether a client may open a stream.
    fn check_room(&self) -> Result<(), OpenError> {
        if self.shutdown != Shutdown::Open || self.peer_go_away.is_some() {
            return Err(OpenError::GoAway);
        }
        if self.streams.next().get() / 4 >= self.stream_credit { Err(OpenError::WouldBlock) } else { Ok(()) }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::WouldBlock => "the server allows no more streams",
            Self::GoAway => "the connection takes no more requests",
            Self::Usage => "the request cannot be sent on this connection",
        })
    }
}

impl core::error::Error for OpenError {}

/// A response may well come with a few frames that bring nothing, as for a server's side.
const EARNED_BY_REQUEST: u32 = 4;
