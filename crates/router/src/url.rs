//! Values as parts of a URL.

use serow_message::percent::{self, encode_query_part};

/// Appends what is a part of a URL already; bytes that no URL holds are encoded, and a backslash, which browsers take
/// for a slash.
pub(crate) fn append_url(text: &[u8], output: &mut Vec<u8>) {
    for &byte in text {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' => push_encoded(byte, output),
            b'!'..=b'~' => output.push(byte),
            _ => push_encoded(byte, output),
        }
    }
}

/// Appends a text as a name or value of a query.
pub(crate) fn append_query(text: &[u8], output: &mut Vec<u8>) {
    encode_query_part(text, output);
}

/// Appends a text decoded; an invalid encoding stays as it is.
pub(crate) fn append_decoded(text: &[u8], output: &mut Vec<u8>) {
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = match percent::decode(rest).next() {
            Some(Ok(octet @ percent::Octet::Encoded(_))) => {
                output.push(octet.byte());
                &behind[2..]
            }
            _ => {
                output.push(*first);
                behind
            }
        };
    }
}

fn push_encoded(byte: u8, output: &mut Vec<u8>) {
    output.extend_from_slice(format!("%{byte:02X}").as_bytes());
}
