//! Percent-encoding (RFC 3986 §2.1).

use alloc::vec::Vec;
use core::fmt;

/// Decodes a text once, byte by byte: `%252e` is `%2e`.
///
/// ```
/// use serow_message::percent::{Octet, decode};
///
/// let octets: Result<Vec<_>, _> = decode(b"a%2F").collect();
/// assert_eq!(octets, Ok(vec![Octet::Plain(b'a'), Octet::Encoded(b'/')]));
/// ```
///
/// # Errors
///
/// A percent sign without two hexadecimal digits behind it; this is the last item then.
pub fn decode(encoded: &[u8]) -> impl Iterator<Item = Result<Octet, PercentDecodeError>> + '_ {
    let mut rest = encoded;
    core::iter::from_fn(move || {
        let (&first, behind) = rest.split_first()?;
        if first != b'%' {
            rest = behind;
            return Some(Ok(Octet::Plain(first)));
        }
        let Some((digits, behind)) = behind.split_first_chunk() else {
            rest = &[];
            return Some(Err(PercentDecodeError));
        };
        let byte = byte(*digits);
        rest = if byte.is_some() { behind } else { &[] };
        Some(byte.map(Octet::Encoded).ok_or(PercentDecodeError))
    })
}

/// A decoded byte, and how it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Octet {
    /// As the byte itself.
    Plain(u8),
    /// As `%` and two digits.
    Encoded(u8),
}

impl Octet {
    /// The byte.
    #[must_use]
    pub fn byte(self) -> u8 {
        match self {
            Self::Plain(byte) | Self::Encoded(byte) => byte,
        }
    }
}

/// Writes a path with all bytes encoded that are not allowed in one, except slashes (RFC 3986 §3.3); also those that
/// would end an attribute of HTML.
pub fn encode_path(path: &[u8], output: &mut Vec<u8>) {
    for &byte in path {
        match byte {
            b'/' | b'!' | b'$' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'=' | b':' | b'@' => output.push(byte),
            _ => encode(byte, output),
        }
    }
}

/// Writes a name or value of a query with all bytes encoded that would end it or have a special meaning there, except
/// slashes (RFC 3986 §3.4).
pub fn encode_query_part(text: &[u8], output: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'/' => output.push(byte),
            _ => encode(byte, output),
        }
    }
}

/// RFC 3986 §2.3: unreserved bytes are never encoded.
fn encode(byte: u8, output: &mut Vec<u8>) {
    match byte {
        b'-' | b'.' | b'_' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => output.push(byte),
        _ => {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
            output.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte)]);
        }
    }
}

fn byte(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    Some((high? << 4 | low?) as u8)
}

/// The error for a percent sign without two hexadecimal digits behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PercentDecodeError;

impl fmt::Display for PercentDecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a percent sign must be followed by two hexadecimal digits")
    }
}

impl core::error::Error for PercentDecodeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoding() {
        let cases: [(&[u8], Option<&[u8]>); 10] = [
            (b"", Some(b"")),
            (b"/a+b", Some(b"/a+b")),
            (b"%41%7a%2F%00", Some(b"Az/\0")),
            (b"%252e", Some(b"%2e")),
            (b"%C3%a4", Some(b"\xc3\xa4")),
            (b"\xc3\xa4", Some(b"\xc3\xa4")),
            (b"a%", None),
            (b"a%4", None),
            (b"a%4x", None),
            (b"a%+4", None),
        ];
        for (encoded, expected) in cases {
            let decoded: Option<Vec<u8>> = decode(encoded).map(|octet| octet.ok().map(Octet::byte)).collect();
            assert_eq!(decoded.as_deref(), expected, "{}", encoded.escape_ascii());
        }
        assert_eq!(decode(b"%zz%41").count(), 1);
    }

    #[test]
    fn encoded_bytes_decode_to_themselves() {
        let all: Vec<u8> = (0..=255).collect();
        for encode in [encode_path, encode_query_part] {
            let mut encoded = Vec::new();
            encode(&all, &mut encoded);
            assert!(encoded.iter().all(|byte| byte.is_ascii_graphic() && !b"\"#&'<>?[\\]^`{|}".contains(byte)));
            let decoded: Vec<u8> = decode(&encoded).map(|octet| octet.unwrap().byte()).collect();
            assert_eq!(decoded, all);
        }
    }

    #[test]
    fn paths_and_queries_keep_different_characters() {
        let text = b"/a-b.c_d~e!$()*+,;=:@&? \xc3\xa4";
        let mut output = Vec::new();
        encode_path(text, &mut output);
        assert_eq!(output, b"/a-b.c_d~e!$()*+,;=:@%26%3F%20%C3%A4");
        output.clear();
        encode_query_part(text, &mut output);
        assert_eq!(output, b"/a-b.c_d~e%21%24%28%29%2A%2B%2C%3B%3D%3A%40%26%3F%20%C3%A4");
    }
}
