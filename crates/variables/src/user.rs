//! The user that a client names, by Basic authentication (RFC 7617).

use serow_message::{Headers, KnownHeader};

/// Appends the name, unless there is none or it is empty. It is what the client claims: the password has not been
/// checked.
pub fn append_user(headers: &Headers, output: &mut Vec<u8>) -> bool {
    let before = output.len();
    let decoded = headers.get(KnownHeader::Authorization).and_then(credentials);
    if decoded.and_then(|credentials| decode_name(credentials, output)).is_none() {
        output.truncate(before);
    }
    output.len() > before
}

/// The credentials after the name of the scheme; `None` for other schemes than Basic.
fn credentials(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = authorization.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.trim_ascii())
}

/// Appends what stands before the colon; nothing where the text is not in base64 (RFC 4648 §4) or has no colon.
fn decode_name(text: &[u8], output: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut count) = (0_u32, 0);
    for &letter in text {
        bits = bits << 6 | value(letter)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            match (bits >> count) as u8 {
                b':' => return Some(()),
                byte => output.push(byte),
            }
        }
    }
    None
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

const SCHEME: &[u8] = b"Basic ";
