//! Numbers (RFC 7541 §5.1): as many bits as the first byte has left, and, if those are all ones, seven in each of the
//! bytes behind it.

use alloc::vec::Vec;

use super::CodingError;

/// Takes a number from the front of the input, whose first byte has so many bits of it.
#[inline(always)]
pub fn decode<const BITS: u32>(input: &mut &[u8]) -> Result<usize, CodingError> {
    let (&first, rest) = input.split_first().ok_or(CodingError::Truncated)?;
    *input = rest;
    let largest = (1 << BITS) - 1;
    let value = first & largest;
    if value < largest { Ok(usize::from(value)) } else { decode_rest(u64::from(value), input) }
}

#[cold]
fn decode_rest(mut value: u64, input: &mut &[u8]) -> Result<usize, CodingError> {
    for place in 0..LONGEST {
        let (&byte, rest) = input.split_first().ok_or(CodingError::Truncated)?;
        *input = rest;
        value += u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return u32::try_from(value).ok().and_then(|value| value.try_into().ok()).ok_or(CodingError::Integer);
        }
    }
    Err(CodingError::Integer)
}

/// Writes a number, whose first byte has so many bits of it; its other bits are `pattern`.
#[inline(always)]
pub fn encode<const BITS: u32>(value: usize, pattern: u8, output: &mut Vec<u8>) {
    let largest = (1 << BITS) - 1;
    if value < largest {
        output.push(pattern | value as u8);
    } else {
        output.push(pattern | largest as u8);
        encode_rest(value - largest, output);
    }
}

#[cold]
fn encode_rest(mut value: usize, output: &mut Vec<u8>) {
    while value >= 0x80 {
        output.push(0x80 | value as u8);
        value >>= 7;
    }
    output.push(value as u8);
}

/// Five bytes hold 32 bits, and all our numbers do; more, which may be zeros without end, answer no purpose.
const LONGEST: u32 = 5;
