//! The messages of the handshake that mean something after it, in TLS 1.3: new keys and tickets.

use rustls::{AlertDescription, HandshakeType};

use crate::{record::MAX_RECORD_PLAINTEXT, side::Side};

/// Messages on their way in. They may be divided among records (RFC 8446 §5.1), and what there is of one that is not
/// whole is kept here.
#[derive(Default)]
pub(crate) struct Messages {
    bytes: Vec<u8>,
}

/// A message that has become whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// The peer's next records have new keys (RFC 8446 §4.6.3).
    KeyUpdate(KeyUpdateRequest),
    /// With this a client may go on with the session later (RFC 8446 §4.6.1).
    Ticket(Vec<u8>),
}

/// What the peer wants of us with its new keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyUpdateRequest {
    /// Our keys may stay.
    NotRequested,
    /// We are to change ours as well.
    Requested,
}

impl Messages {
    /// Whether a part of one has come, and not all of it: then nothing else may come.
    #[inline]
    pub(crate) fn has_begun(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// Takes what a record has of them; then [`Self::next`] must be asked until there is none.
    ///
    /// # Errors
    ///
    /// The peer's alert, where the record has nothing: no part of a message is empty (RFC 8446 §5.1).
    pub(crate) fn add(&mut self, part: &[u8]) -> Result<(), AlertDescription> {
        if part.is_empty() {
            return Err(AlertDescription::UnexpectedMessage);
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The next that is whole.
    ///
    /// # Errors
    ///
    /// The peer's alert, where it is another message or too long, or something stands behind new keys, which would be
    /// under the old ones.
    pub(crate) fn next(&mut self, side: Side) -> Result<Option<Message>, AlertDescription> {
        let Some(kind) = self.bytes.first().map(|first| HandshakeType::from(*first)) else { return Ok(None) };
        let longest = match (kind, side) {
            (HandshakeType::KeyUpdate, _) => 1,
            (HandshakeType::NewSessionTicket, Side::Client) => MAX_TICKET_LENGTH,
            _ => return Err(AlertDescription::UnexpectedMessage),
        };
        let Some(&[_, high, middle, low]) = self.bytes.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        if length == 0 || length > longest {
            return Err(AlertDescription::DecodeError);
        }
        if self.bytes.len() < HEAD_LENGTH + length {
            return Ok(None);
        }
        let rest = self.bytes.split_off(HEAD_LENGTH + length);
        let mut message = std::mem::replace(&mut self.bytes, rest);
        let body = message.split_off(HEAD_LENGTH);
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
const HEAD_LENGTH: usize = 4;

/// Tickets could have 128 KiB, which a server could have each of its clients keep. They have some hundred bytes where a
/// server keeps what they stand for or the session has no certificate of the client, and some thousand with one.
const MAX_TICKET_LENGTH: usize = MAX_RECORD_PLAINTEXT;
