//! The client's side of a connection.

use alloc::vec::Vec;
use core::{marker::PhantomData, time::Duration};

use serow_message::{BodyLength, KnownHeader, Priority, RequestHead};
use serow_streams::{BodyOrder, FieldEncoder, OpenError, SentRequest};

use crate::{
    ClientEvent, Endpoint, ErrorCode, Follows, Limits, OwnStream, StreamId,
    connection::{Connection, Peer, Shutdown},
    frame,
    qpack::{FieldSection, Pseudo},
    received_event::ReceivedEvent,
    sending::write_section,
    stream::Stream,
};

/// Sends requests and receives responses, many at once, each on its stream. It is driven as a [`Server`](crate::Server)
/// is; requests are begun by [`Client::open`], and there is never a head to be written.
pub type Client = Endpoint<ClientRole>;

/// The role of a [`Client`], which keeps nothing of its own.
#[derive(Debug)]
pub struct ClientRole;

/// Options of a request beside its head.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asking<'a> {
    /// `http` or `https`; where it is empty, `https`.
    pub scheme: &'a str,
    /// For an extended CONNECT (RFC 9220 §3).
    pub protocol: Option<&'a str>,
    /// When the body is sent, where others are as well.
    pub order: BodyOrder,
}

impl Client {
    /// The state of a new connection; its settings wait in [`Self::control`].
    #[must_use]
    pub fn new(limits: Limits, now: Duration) -> Self {
        let mut connection = Connection::new(Peer::Server, limits, now);
        connection.stream_credit = 0;
        Self { connection, role: PhantomData }
    }

    /// Begins a request: appends its head, which is to be sent on the stream whose number is returned. Header fields
    /// about length, host and connection are left out: the values follow from `length` and the target, or the field
    /// `Host`. Where the length is not `Known(0)`, a body is to be sent.
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
        let connection = &mut self.connection;
        let allows_extended = connection.allowed.is_some_and(|allowed| allowed.enable_connect_protocol);
        let request = SentRequest::check(head, length, asking.scheme, asking.protocol, allows_extended)?;
        connection.check_room()?;
        let id = connection.streams.next();
        // The numbers follow each other.
        let _ = connection.streams.note_opened(id);
        let mut stream = Stream::new(id);
        stream.is_known = true;
        stream.sending = request.sending();
        stream.exchange = request.exchange();
        stream.priority = request.priority(asking.order);
        let follows = Follows::of(stream.sending);
        connection.add(stream);
        connection.idle_frames.earn(EARNED_BY_REQUEST);
        write_section(&mut connection.encoder, id, output, |section| request.encode(section));
        Ok((id, follows))
    }

    /// Takes the next event; `None` where more must be received.
    pub fn next_event(&mut self) -> Option<ClientEvent> {
        loop {
            return Some(match self.connection.next_event()? {
                ReceivedEvent::Response(response) => ClientEvent::Response(response),
                ReceivedEvent::Data { stream, data } => ClientEvent::Data { stream, data },
                ReceivedEvent::End { stream, trailers } => ClientEvent::End { stream, trailers },
                ReceivedEvent::Reset { stream, code } => ClientEvent::Reset { stream, code },
                ReceivedEvent::GoAway => ClientEvent::GoAway { code: ErrorCode::NO_ERROR },
                // A server sends none.
                ReceivedEvent::Request(_) | ReceivedEvent::Refused { .. } => continue,
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

    /// Whether the server's settings have come: what it allows is known (RFC 9114 §6.2.1).
    #[must_use]
    pub fn has_settings(&self) -> bool {
        self.connection.allowed.is_some()
    }

    /// Whether the server takes an extended CONNECT (RFC 9220 §3).
    #[must_use]
    pub fn allows_extended_connect(&self) -> bool {
        self.connection.allowed.is_some_and(|allowed| allowed.enable_connect_protocol)
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

impl FieldEncoder for FieldSection<'_> {
    fn encode_pseudo(&mut self, pseudo: Pseudo, value: &[u8]) {
        FieldSection::encode_pseudo(self, pseudo, value);
    }

    fn encode(&mut self, name: &[u8], known: Option<KnownHeader>, value: &[u8]) {
        FieldSection::encode(self, name, known, value);
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

/// A response may well come with a few frames that bring nothing, as for a server's side.
const EARNED_BY_REQUEST: u32 = 4;
