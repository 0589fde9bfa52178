//! Numbers (RFC 7541 §5.1): as many bits as the first byte has left, and, if those are all ones, seven in each of the
//! bytes behind it.
//!
//! Indexes and lengths have 32 bits at most. QPACK's counts over the life of a connection have 62 (RFC 9204 §4.1.1).

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

/// The same for a number of up to 62 bits.
#[inline(always)]
pub fn decode_long<const BITS: u32>(input: &mut &[u8]) -> Result<u64, CodingError> {
    let (&first, rest) = input.split_first().ok_or(CodingError::Truncated)?;
    *input = rest;
    let largest = (1 << BITS) - 1;
    let value = u64::from(first) & largest;
    if value < largest { Ok(value) } else { decode_bytes(value, MAX_LONG_BYTES, MAX_LONG, input) }
}

#[cold]
fn decode_rest(value: u64, input: &mut &[u8]) -> Result<usize, CodingError> {
    let value = decode_bytes(value, MAX_BYTES, u32::MAX.into(), input)?;
    value.try_into().map_err(|_| CodingError::Integer)
}

fn decode_bytes(mut value: u64, most: u32, largest: u64, input: &mut &[u8]) -> Result<u64, CodingError> {
    for place in 0..most {
        let (&byte, rest) = input.split_first().ok_or(CodingError::Truncated)?;
        *input = rest;
        value += u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return if value <= largest { Ok(value) } else { Err(CodingError::Integer) };
        }
    }
    Err(CodingError::Integer)
}

/// Writes a number, whose first byte has so many bits of it; its other bits are `pattern`.
#[inline(always)]
pub fn encode<const BITS: u32>(value: usize, pattern: u8, output: &mut Vec<u8>) {
    encode_long::<BITS>(value as u64, pattern, output);
}

/// The same for a number that may have more bits than a length in memory.
#[inline(always)]
pub fn encode_long<const BITS: u32>(value: u64, pattern: u8, output: &mut Vec<u8>) {
    let largest = (1 << BITS) - 1;
    if value < largest {
        output.push(pattern | value as u8);
    } else {
        output.push(pattern | largest as u8);
        encode_rest(value - largest, output);
    }
}

#[cold]
fn encode_rest(mut value: u64, output: &mut Vec<u8>) {
    while value >= 0x80 {
        output.push(0x80 | value as u8);
        value >>= 7;
    }
    output.push(value as u8);
}

/// Five bytes hold 32 bits, and all indexes and lengths do; more, which may be zeros without end, answer no purpose.
const MAX_BYTES: u32 = 5;

/// RFC 9204 §4.1.1: numbers of 62 bits, which nine bytes hold, must be understood; larger ones need not.
const MAX_LONG: u64 = (1 << 62) - 1;
const MAX_LONG_BYTES: u32 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_have_62_bits() {
        for value in [0, 6, 7, 127, 128, 1 << 32, MAX_LONG - 1, MAX_LONG] {
            let mut bytes = Vec::new();
            encode_long::<3>(value, 0x10, &mut bytes);
            assert_eq!(bytes[0] & 0xf8, 0x10);
            let mut rest = &bytes[..];
            assert_eq!((decode_long::<3>(&mut rest), rest), (Ok(value), &[][..]));
            let (_, most) = bytes.split_last().expect("at least a byte");
            assert_eq!(decode_long::<3>(&mut &most[..]), Err(CodingError::Truncated));
            let expected = u32::try_from(value).map(|value| value as usize).map_err(|_| CodingError::Integer);
            assert_eq!(decode::<3>(&mut &bytes[..]), expected);
        }
        let mut bytes = Vec::new();
        encode_long::<8>(MAX_LONG + 1, 0, &mut bytes);
        assert_eq!(decode_long::<8>(&mut &bytes[..]), Err(CodingError::Integer));
        let zeros = [0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0];
        assert_eq!(decode_long::<8>(&mut &zeros[..]), Err(CodingError::Integer));
        assert_eq!(decode_long::<8>(&mut &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..]), Ok(255));
    }
}
