//! From fields to field sections (RFC 9204 §2.1).

use alloc::vec::Vec;

use serow_streams::StreamId;

use super::{DecoderStreamError, FieldSection};

/// Encodes the field sections of one direction of a connection.
///
/// When a stream is reset on which sections were sent, there is nothing to do here: what they refer to stays in the
/// table until the peer acknowledges them or cancels the stream (RFC 9204 §2.2.2.2), and it has to do either.
#[derive(Debug, Default)]
pub struct Encoder {
    output: Vec<u8>,
}

impl Encoder {
    /// It uses the static table only, until the peer's settings arrive; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { output: Vec::new() }
    }

    /// The peer's SETTINGS_QPACK_MAX_TABLE_CAPACITY, in bytes, and SETTINGS_QPACK_BLOCKED_STREAMS. The table has 4,096
    /// bytes at most, whatever the peer allows.
    pub fn set_limits(&mut self, capacity: usize, blocked: usize) {
        let _ = (capacity, blocked);
    }

    /// Begins a field section of a stream, which is appended to `block`: encode its fields, in their order, then
    /// [finish](FieldSection::finish) it.
    ///
    /// Instructions for the encoder stream, on which it may depend, are to be sent before it: see [`Self::write`].
    #[inline]
    pub fn begin<'a>(&'a mut self, stream: StreamId, block: &'a mut Vec<u8>) -> FieldSection<'a> {
        FieldSection::new(self, stream, block)
    }

    /// Whether there is something to send on the encoder stream.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Appends what is to be sent on the encoder stream. Only what can be sent is to be asked for.
    pub fn write(&mut self, output: &mut Vec<u8>) {
        output.append(&mut self.output);
    }

    /// Takes the next bytes of the peer's decoder stream, in pieces of any length.
    ///
    /// # Errors
    ///
    /// After an error the encoder is of no more use, and neither is the connection.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<(), DecoderStreamError> {
        let _ = bytes;
        Ok(())
    }
}
