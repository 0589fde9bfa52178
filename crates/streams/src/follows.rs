//! Whether a message goes on behind what was written of it.

use crate::Sending;

/// The continuation of a stream behind the bytes that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the end of a message is the end of its stream"]
pub enum Follows {
    /// More of the message.
    More,
    /// Nothing: the last byte is to be sent with FIN (RFC 9000 §19.8).
    Fin,
}

impl Follows {
    /// The continuation of a stream, given how much of the message was sent.
    pub fn of(sending: Sending) -> Self {
        if sending == Sending::Done { Self::Fin } else { Self::More }
    }
}
