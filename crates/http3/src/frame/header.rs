//! The header of a frame (RFC 9114 §7.1): kind and length.

use bytes::Bytes;

use super::Kind;
use crate::varint::{self, PartialInteger};

/// The header before each payload (RFC 9114 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHeader {
    /// The kind of frame, which gives the payload its meaning.
    pub kind: Kind,
    /// Bytes of the payload: below 2^62.
    pub length: u64,
}

impl FrameHeader {
    /// The most bytes of one.
    pub const MAX_LENGTH: usize = 2 * varint::MAX_LENGTH;

    /// Appends it to the output.
    ///
    /// ```
    /// use serow_http3::frame::{FrameHeader, Kind};
    ///
    /// let mut output = Vec::new();
    /// FrameHeader { kind: Kind::DATA, length: 100 }.write(&mut output);
    /// assert_eq!(output, [0, 0x40, 100]);
    /// ```
    #[inline]
    pub fn write(self, output: &mut impl Extend<u8>) {
        varint::write(self.kind.0, output);
        varint::write(self.length, output);
    }
}

/// Reads headers that come in any pieces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeaderReader {
    kind: Option<Kind>,
    integer: PartialInteger,
}

impl HeaderReader {
    /// Takes a header from the front of the input; `None` while it is not whole.
    #[inline]
    pub(crate) fn take(&mut self, input: &mut Bytes) -> Option<FrameHeader> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => Kind(self.integer.take(input)?),
        };
        self.kind = Some(kind);
        let length = self.integer.take(input)?;
        self.kind = None;
        Some(FrameHeader { kind, length })
    }

    /// Whether a piece of a header has come.
    pub(crate) fn has_begun(self) -> bool {
        self.kind.is_some() || self.integer.has_begun()
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn headers_come_in_any_pieces() {
        let header = FrameHeader { kind: Kind::PRIORITY_UPDATE, length: 70 };
        let mut output = Vec::new();
        header.write(&mut output);
        assert_eq!(output, [0x80, 0xf, 7, 0, 0x40, 70]);
        for middle in 0..=output.len() {
            let mut reader = HeaderReader::default();
            let mut first = Bytes::copy_from_slice(&output[..middle]);
            let whole = reader.take(&mut first);
            assert_eq!((whole, first.len()), ((middle == output.len()).then_some(header), 0));
            assert_eq!(reader.has_begun(), middle > 0 && middle < output.len());
            if middle < output.len() {
                assert_eq!(reader.take(&mut Bytes::copy_from_slice(&output[middle..])), Some(header));
            }
            assert!(!reader.has_begun());
        }
    }
}
