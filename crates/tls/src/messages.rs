//! Post-handshake messages of TLS 1.3: key updates and session tickets.

use rustls::{AlertDescription, HandshakeType};

use crate::{record::MAX_RECORD_PLAINTEXT, side::Side};

/// Incoming messages. They may be fragmented across records (RFC 8446 §5.1); this keeps the beginning of an incomplete
/// one.
#[derive(Default)]
pub(crate) struct Messages {
    bytes: Vec<u8>,
}

/// A complete message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The peer's next records have new keys (RFC 8446 §4.6.3).
    KeyUpdate(KeyUpdateRequest),
    /// A ticket for a client to resume the session later (RFC 8446 §4.6.1).
    Ticket(Vec<u8>),
}

/// Whether the peer requests that we update our keys too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUpdateRequest {
    /// `update_not_requested`
    NotRequested,
    /// `update_requested`
    Requested,
}

impl Messages {
    /// Whether a message is incomplete: then no other record may come.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Adds the content of a record; then call [`Self::next`] until it returns none.
    ///
    /// # Errors
    ///
    /// The alert to send, where the record is empty (RFC 8446 §5.1).
    pub(crate) fn add(&mut self, part: &[u8]) -> Result<(), AlertDescription> {
        if part.is_empty() {
            return Err(AlertDescription::UnexpectedMessage);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The next complete message.
    ///
    /// # Errors
    ///
    /// The alert to send, for another message, one that is too long, or bytes after a key update, which would have the
    /// old keys.
    pub(crate) fn next(&mut self, side: Side) -> Result<Option<Message>, AlertDescription> {
        let Some(kind) = self.bytes.first().map(|first| HandshakeType::from(*first)) else { return Ok(None) };
        let max_length = match (kind, side) {
            (HandshakeType::KeyUpdate, _) => 1,
            (HandshakeType::NewSessionTicket, Side::Client) => MAX_TICKET_LENGTH,
            _ => return Err(AlertDescription::UnexpectedMessage),
        };
        let Some(&[_, high, middle, low]) = self.bytes.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        if length == 0 || length > max_length {
            return Err(AlertDescription::DecodeError);
        }
        if self.bytes.len() < HEADER_LENGTH + length {
            return Ok(None);
        }
        let rest = self.bytes.split_off(HEADER_LENGTH + length);
        let mut message = std::mem::replace(&mut self.bytes, rest);
        let body = message.split_off(HEADER_LENGTH);
        match (kind, &body[..]) {
            (HandshakeType::NewSessionTicket, _) => Ok(Some(Message::Ticket(body))),
            _ if self.has_begun() => Err(AlertDescription::UnexpectedMessage),
            (_, [0]) => Ok(Some(Message::KeyUpdate(KeyUpdateRequest::NotRequested))),
            (_, [1]) => Ok(Some(Message::KeyUpdate(KeyUpdateRequest::Requested))),
            _ => Err(AlertDescription::IllegalParameter),
        }
    }
}

/// A type and a length of three bytes (RFC 8446 §4).
const HEADER_LENGTH: usize = 4;

/// A ticket could have 128 KiB, which clients would have to keep. Tickets have some hundred bytes where the server
/// keeps the session or the client has no certificate, and some thousand with one.
const MAX_TICKET_LENGTH: usize = MAX_RECORD_PLAINTEXT;
