//! The one message of the handshake that means something after it, in TLS 1.3: new keys.

use rustls::{AlertDescription, HandshakeType};

/// What has come of a message that the peer's next records have new keys (RFC 8446 §4.6.3): a head of 4 bytes, and a
/// wish. It may be divided among records (§5.1), and so small that only its length must be kept.
#[derive(Default)]
pub(super) struct KeyUpdate {
    length: u8,
}

/// A message that has become whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Our keys may stay.
    None,
    /// We are to change ours as well.
    Ours,
}

impl KeyUpdate {
    /// Whether a part of one has come, and not all of it: then nothing else may come.
    #[inline]
    pub(super) fn has_begun(&self) -> bool {
        self.length != 0
    }

    /// Takes what a record has of it, and gives the wish when it is whole.
    ///
    /// # Errors
    ///
    /// The peer's alert, where it is another message or something stands behind it, which would be under the old keys.
    pub(super) fn take(&mut self, part: &[u8]) -> Result<Option<Wish>, AlertDescription> {
        // RFC 8446 §5.1: no part of a message is empty.
        if part.is_empty() {
            return Err(AlertDescription::UnexpectedMessage);
        }
        let mut wish = None;
        for byte in part {
            wish = match (self.length, *byte) {
                (0, byte) if HandshakeType::from(byte) == HandshakeType::KeyUpdate => None,
                (1 | 2, 0) | (3, 1) => None,
                (4, 0) => Some(Wish::None),
                (4, 1) => Some(Wish::Ours),
                (1..=3, _) => return Err(AlertDescription::DecodeError),
                (4, _) => return Err(AlertDescription::IllegalParameter),
                _ => return Err(AlertDescription::UnexpectedMessage),
            };
            self.length += 1;
        }
        if wish.is_some() {
            self.length = 0;
        }
        Ok(wish)
    }
}
