//! The instructions of the encoder stream and of the decoder stream (RFC 9204 §4.3, §4.4).

use serow_streams::compression::{CodingError, integer};

use super::EncoderStreamError;

/// How many bytes the instruction has that these bytes begin with, or, if it is not whole, has at least: more than
/// these. `most` is the length of the longest string that fits the table.
///
/// Strings are stepped over, so that an instruction that comes byte by byte is decoded once.
pub(super) fn extent(bytes: &[u8], most: Option<usize>) -> Result<usize, EncoderStreamError> {
    let mut rest = bytes;
    match skip(&mut rest, most) {
        Ok(()) => Ok(bytes.len() - rest.len()),
        Err(Stop::Missing(count)) => Ok(bytes.len() + count),
        Err(Stop::Error(error)) => Err(error),
    }
}

impl From<CodingError> for EncoderStreamError {
    fn from(error: CodingError) -> Self {
        match error {
            // Only whole instructions are decoded: within one a string ends early where a length is too large.
            CodingError::Truncated | CodingError::Integer => Self::Integer,
            CodingError::Huffman => Self::Huffman,
        }
    }
}

enum Stop {
    /// As many bytes are missing, at least.
    Missing(usize),
    Error(EncoderStreamError),
}

impl From<CodingError> for Stop {
    fn from(error: CodingError) -> Self {
        match error {
            CodingError::Truncated => Self::Missing(1),
            error => Self::Error(error.into()),
        }
    }
}

fn skip(rest: &mut &[u8], most: Option<usize>) -> Result<(), Stop> {
    match rest.first() {
        Some(0x80..) => {
            integer::decode::<6>(rest)?;
            skip_string::<7>(rest, most)
        }
        Some(0x40..) => {
            skip_string::<5>(rest, most)?;
            skip_string::<7>(rest, most)
        }
        Some(_) => Ok(integer::decode::<5>(rest).map(drop)?),
        None => Err(Stop::Missing(1)),
    }
}

fn skip_string<const BITS: u32>(rest: &mut &[u8], most: Option<usize>) -> Result<(), Stop> {
    let most = most.ok_or(Stop::Error(EncoderStreamError::TooLarge))?;
    let first = *rest.first().ok_or(Stop::Missing(1))?;
    let length = integer::decode::<BITS>(rest)?;
    // Attack: a string without end, which is kept until it is whole.
    let decoded = if first & (1 << BITS) == 0 { length } else { length / MAX_CODE_BYTES };
    if decoded > most {
        return Err(Stop::Error(EncoderStreamError::TooLarge));
    }
    *rest = rest.get(length..).ok_or_else(|| Stop::Missing(length - rest.len()))?;
    Ok(())
}

/// RFC 7541, Appendix B: a byte has 30 bits of code at most, which are four bytes.
const MAX_CODE_BYTES: usize = 4;

/// RFC 9204 §4.3: how each instruction of the encoder stream begins.
pub(super) const INSERT_WITH_NAME: u8 = 0x80;
pub(super) const INSERT: u8 = 0x40;
pub(super) const SET_CAPACITY: u8 = 0x20;
pub(super) const DUPLICATE: u8 = 0x00;

/// RFC 9204 §4.3.2: the bit that says that the name is of the static table.
pub(super) const STATIC_NAME: u8 = 0x40;

/// RFC 9204 §4.4: how each instruction of the decoder stream begins.
pub(super) const ACKNOWLEDGE: u8 = 0x80;
pub(super) const CANCEL: u8 = 0x40;
pub(super) const INCREMENT: u8 = 0x00;
