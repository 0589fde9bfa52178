//! Errors of a field (RFC 9113 §8.2.1), detected once: an entry of a table keeps the result.

use serow_message::is_token_byte;

use super::Name;

/// Why a field makes its message malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldError {
    /// The name is not a token, or has a capital. A colon, as in unknown pseudo-header fields (§8.3), is not allowed in
    /// a token.
    Name,
    /// The value has a control character. As in HTTP/1 that is any but the tab: handlers write values to logs.
    Control,
    /// The value begins or ends with white space.
    Space,
}

impl FieldError {
    /// In a name.
    #[inline]
    pub fn of_name(kind: Name, name: &[u8]) -> Option<Self> {
        // Others are what they were recognised as.
        let right = kind != Name::Other
            || name.iter().fold(!name.is_empty(), |right, &byte| right & NAME_BYTES[usize::from(byte)]);
        (!right).then_some(Self::Name)
    }

    /// In a value.
    #[inline]
    pub fn of_value(value: &[u8]) -> Option<Self> {
        let is_space = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if has_control(value) {
            return Some(Self::Control);
        }
        (is_space(value.first()) || is_space(value.last())).then_some(Self::Space)
    }
}

/// Looks at many bytes at once; at the end some are looked at twice.
#[inline]
fn has_control(value: &[u8]) -> bool {
    if let Some(last) = value.last_chunk::<16>() {
        let (chunks, _) = value.as_chunks::<16>();
        return chunks.iter().chain([last]).any(any_control);
    }
    if let (Some(first), Some(last)) = (value.first_chunk::<8>(), value.last_chunk::<8>()) {
        return any_control(first) | any_control(last);
    }
    value.iter().any(|byte| any_control(&[*byte]))
}

#[inline]
fn any_control<const N: usize>(bytes: &[u8; N]) -> bool {
    let mut wrong = 0;
    for &byte in bytes {
        wrong |= u8::from(byte < b' ') & u8::from(byte != b'\t') | u8::from(byte == 0x7f);
    }
    wrong != 0
}

/// The bytes of tokens, without capitals.
static NAME_BYTES: [bool; 256] = {
    let mut bytes = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        bytes[byte] = is_token_byte(byte as u8) && !(byte as u8).is_ascii_uppercase();
        byte += 1;
    }
    bytes
};
