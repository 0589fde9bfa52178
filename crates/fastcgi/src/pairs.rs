//! Name-value pairs (FastCGI 1.0 §3.4): both lengths, the name, the value.

use alloc::vec::Vec;

use crate::{ProtocolError, Variables};

/// Bytes of a pair.
pub(crate) fn pair_length(name: &[u8], value: &[u8]) -> usize {
    length_length(name) + length_length(value) + name.len() + value.len()
}

/// Writes a pair of less than two gigabytes.
pub(crate) fn write_pair(name: &[u8], value: &[u8], output: &mut Vec<u8>) {
    write_length(name, output);
    write_length(value, output);
    output.extend_from_slice(name);
    output.extend_from_slice(value);
}

/// The pairs of a complete stream or record. Of a name that occurs twice, [`Variables::get`] gives the last, as php-fpm does.
pub(crate) fn parse_pairs(mut bytes: &[u8]) -> Result<Variables, ProtocolError> {
    let mut variables = Variables::default();
    while !bytes.is_empty() {
        let (name_length, rest) = split_length(bytes).ok_or(ProtocolError::Pair)?;
        let (value_length, rest) = split_length(rest).ok_or(ProtocolError::Pair)?;
        let (name, rest) = rest.split_at_checked(name_length).ok_or(ProtocolError::Pair)?;
        let (value, rest) = rest.split_at_checked(value_length).ok_or(ProtocolError::Pair)?;
        variables.push(name, value).map_err(|_| ProtocolError::Pair)?;
        bytes = rest;
    }
    Ok(variables)
}

fn length_length(text: &[u8]) -> usize {
    if text.len() < LONG { 1 } else { 4 }
}

fn write_length(text: &[u8], output: &mut Vec<u8>) {
    match text.len() {
        length @ 0..LONG => output.push(length as u8),
        length => output.extend_from_slice(&(length as u32 | HIGH_BIT).to_be_bytes()),
    }
}

fn split_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match *bytes {
        [length @ 0..0x80, ref rest @ ..] => Some((usize::from(length), rest)),
        [a, b, c, d, ref rest @ ..] => Some(((u32::from_be_bytes([a, b, c, d]) & !HIGH_BIT) as usize, rest)),
        _ => None,
    }
}

/// From this length on, a length has four bytes.
const LONG: usize = 0x80;
/// It marks a length of four bytes.
const HIGH_BIT: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_byte_or_four() {
        let cases: [(usize, usize, &[u8]); 4] = [
            (1, 0, &[1, 0]),
            (127, 127, &[127, 127]),
            (128, 1, &[0x80, 0, 0, 128, 1]),
            (3, 70_000, &[3, 0x80, 1, 0x11, 0x70]),
        ];
        for (name_length, value_length, lengths) in cases {
            let (name, value) = (alloc::vec![b'N'; name_length], alloc::vec![b'v'; value_length]);
            let mut output = Vec::new();
            write_pair(&name, &value, &mut output);
            assert!(output.starts_with(lengths));
            assert_eq!(output.len(), lengths.len() + name_length + value_length);
            assert_eq!(output.len(), pair_length(&name, &value));
            let variables = parse_pairs(&output).unwrap();
            assert!(variables.iter().eq([(&name[..], &value[..])]));
            for end in 1..output.len().min(200) {
                assert_eq!(parse_pairs(&output[..end]), Err(ProtocolError::Pair), "{end} bytes");
            }
        }
    }

    #[test]
    fn lengths_beyond_the_end_are_refused() {
        for bytes in
            [&b"\xff\xff\xff\xff\xff\xff\xff\xffab"[..], b"\x01", b"\x80\0\0", b"\x02\0a", b"\x01\x02ab", b"\0\0"]
        {
            assert_eq!(parse_pairs(bytes), Err(ProtocolError::Pair), "{}", bytes.escape_ascii());
        }
    }
}
