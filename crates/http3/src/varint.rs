//! Integers of one to eight bytes (RFC 9000 §16).

use bytes::{Buf, Bytes};

/// The largest there is.
pub const MAX: u64 = (1 << 62) - 1;

/// The most bytes of one.
pub const MAX_LENGTH: usize = 8;

/// Reads one from the front of the input; gives it, and its length. `None` where the input is too short.
#[must_use]
#[inline]
pub fn read(input: &[u8]) -> Option<(u64, usize)> {
    let first = *input.first()?;
    let length = 1 << (first >> 6);
    let bytes = input.get(..length)?;
    let value = bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte));
    Some((value & (MAX >> (8 * (MAX_LENGTH - length))), length))
}

/// Encodes one: returns its bytes, and how many there are. Bits beyond those of [`MAX`] are cut off.
#[must_use]
#[inline]
pub fn encode(value: u64) -> ([u8; MAX_LENGTH], usize) {
    let length: usize = match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    };
    let prefix = u64::from(length.trailing_zeros()) << 62;
    let shift = 8 * (MAX_LENGTH - length);
    ((((value & MAX) << shift) | prefix).to_be_bytes(), length)
}

/// How many bytes it takes.
#[must_use]
#[inline]
pub fn length(value: u64) -> usize {
    encode(value).1
}

/// Appends one.
#[inline]
pub fn write(value: u64, output: &mut impl Extend<u8>) {
    let (bytes, length) = encode(value);
    output.extend(bytes.into_iter().take(length));
}

/// One that comes in pieces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartialInteger {
    value: u64,
    /// Bytes that are still to come; none where it has not begun.
    left: u8,
}

impl PartialInteger {
    /// Takes it from the front of the input; `None` while it is not whole.
    #[inline]
    pub(crate) fn take(&mut self, input: &mut Bytes) -> Option<u64> {
        if self.left == 0
            && let Some((value, length)) = read(input)
        {
            input.advance(length);
            return Some(value);
        }
        self.take_pieces(input)
    }

    fn take_pieces(&mut self, input: &mut Bytes) -> Option<u64> {
        while !input.is_empty() {
            let byte = input.get_u8();
            if self.left == 0 {
                self.value = u64::from(byte & 0x3f);
                self.left = (1 << (byte >> 6)) - 1;
            } else {
                self.value = self.value << 8 | u64::from(byte);
                self.left -= 1;
            }
            if self.left == 0 {
                return Some(self.value);
            }
        }
        None
    }

    /// Whether a piece of it has come.
    pub(crate) fn has_begun(self) -> bool {
        self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn written_and_read_whole_and_in_pieces() {
        // RFC 9000 §A.1, and the bounds of each length.
        for (value, length) in [
            (0, 1),
            (37, 1),
            (63, 1),
            (64, 2),
            (15_293, 2),
            (16_383, 2),
            (16_384, 4),
            (494_878_333, 4),
            ((1 << 30) - 1, 4),
            (1 << 30, 8),
            (151_288_809_941_952_652, 8),
            (MAX, 8),
        ] {
            let mut output = Vec::new();
            write(value, &mut output);
            assert_eq!((output.len(), read(&output)), (length, Some((value, length))));
            assert_eq!(read(&output[..length - 1]), None);
            let mut pieces = PartialInteger::default();
            for (place, &byte) in output.iter().enumerate() {
                let taken = pieces.take(&mut Bytes::copy_from_slice(&[byte]));
                assert_eq!(taken, (place + 1 == length).then_some(value));
                assert_eq!(pieces.has_begun(), place + 1 < length);
            }
        }
        // RFC 9000 §A.1: another encoding of 37.
        assert_eq!(read(&[0x40, 0x25]), Some((37, 2)));
    }
}
