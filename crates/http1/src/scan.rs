//! Reading the lines of a head, strictly: what RFC 9112 lets a recipient forgive (a bare LF, a folded line, white space
//! before the colon) is an error here, since two servers in a row that forgive differently see different requests.
//!
//! Every byte is looked at once. What the verdict is depends on the bytes before and not on those that follow, so a head
//! that comes in pieces is judged as one that comes whole.

use serow_message::{ReceivedFields, Span, is_token_byte};

use crate::{Limits, ProtocolError};

/// A reading place in a text.
pub(crate) struct Scanner<'a> {
    text: &'a [u8],
    place: usize,
}

/// The text ends before what is looked for does.
pub(crate) type Partial<T> = Result<Option<T>, ProtocolError>;

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { text, place: 0 }
    }

    pub(crate) fn place(&self) -> usize {
        self.place
    }

    /// Takes a word that ends in one space; only bytes that `allowed` has may be in it, and at least one.
    #[inline]
    pub(crate) fn word(&mut self, allowed: &[bool; 256]) -> Partial<&'a [u8]> {
        let rest = &self.text[self.place..];
        let Some(length) = rest.iter().position(|&byte| !allowed[byte as usize]) else { return Ok(None) };
        if length == 0 || rest[length] != b' ' {
            return Err(ProtocolError::StartLine);
        }
        self.place += length + 1;
        Ok(Some(&rest[..length]))
    }

    /// Takes exactly so many bytes of a first line; one that ends before is none.
    #[inline]
    pub(crate) fn bytes<const LENGTH: usize>(&mut self) -> Partial<&'a [u8; LENGTH]> {
        let rest = &self.text[self.place..];
        let Some(bytes) = rest.first_chunk() else {
            return if rest.contains(&b'\n') { Err(ProtocolError::StartLine) } else { Ok(None) };
        };
        self.place += LENGTH;
        Ok(Some(bytes))
    }

    /// Takes CR LF.
    #[inline]
    pub(crate) fn line_end(&mut self, otherwise: ProtocolError) -> Partial<()> {
        match self.text[self.place..] {
            [b'\r', b'\n', ..] => {
                self.place += 2;
                Ok(Some(()))
            }
            [] | [b'\r'] => Ok(None),
            [b'\r' | b'\n', ..] => Err(ProtocolError::LineEnd),
            _ => Err(otherwise),
        }
    }

    /// Takes text up to the end of the line, and that.
    #[inline(always)]
    pub(crate) fn rest_of_line(&mut self, otherwise: ProtocolError) -> Partial<&'a [u8]> {
        let start = self.place;
        self.place += text_length(&self.text[start..]);
        let end = self.place;
        Ok(self.line_end(otherwise)?.map(|()| &self.text[start..end]))
    }

    /// Takes fields, each a line, and the empty line behind them (RFC 9112 §5).
    #[inline(always)]
    pub(crate) fn fields(&mut self, limits: &Limits) -> Partial<ReceivedFields> {
        let mut fields = ReceivedFields::default();
        loop {
            match self.text.get(self.place) {
                None => return Ok(None),
                Some(b'\r' | b'\n') => return Ok(self.line_end(ProtocolError::LineEnd)?.map(|()| fields)),
                Some(_) if fields.len() == limits.fields => return Err(ProtocolError::HeadTooLarge),
                Some(_) => {}
            }
            let Some((name, span)) = self.field()? else { return Ok(None) };
            fields.push(name, span).map_err(|_| ProtocolError::HeadTooLarge)?;
        }
    }

    /// Takes one field: name, colon, value between optional white space, end of the line.
    #[inline(always)]
    fn field(&mut self) -> Partial<(&'a [u8], Span)> {
        let name_start = self.place;
        let rest = &self.text[name_start..];
        let Some(name_length) = rest.iter().position(|&byte| !TOKEN[byte as usize]) else { return Ok(None) };
        // An empty name: also what a folded line begins with (§5.2). White space before the colon: §5.1.
        if name_length == 0 || rest[name_length] != b':' {
            return Err(if rest[name_length] == b'\n' { ProtocolError::LineEnd } else { ProtocolError::Field });
        }
        self.place += name_length + 1;
        while let Some(b' ' | b'\t') = self.text.get(self.place) {
            self.place += 1;
        }
        let value_start = self.place;
        let Some(value) = self.rest_of_line(ProtocolError::Field)? else { return Ok(None) };
        let mut value_length = value.len();
        while value_length > 0 && matches!(value[value_length - 1], b' ' | b'\t') {
            value_length -= 1;
        }
        Ok(Some((&rest[..name_length], Span { name_start, name_length, value_start, value_length })))
    }
}

/// How many bytes from the front are text: visible characters, space, tab, and bytes from 0x80 on (RFC 9110 §5.5).
///
/// Eight bytes are tried at a time. A byte below 0x20 borrows when 0x20 is subtracted, and 0x7f, with its bits turned, is
/// 0x00, which borrows when 0x01 is: the high bit tells, where the byte had none itself. A borrow may make a byte behind a
/// control character look like one, never one before it; so the first is right, and a tab is passed over by the slow way.
#[inline]
fn text_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    let mut place = 0;
    while let Some(chunk) = text[place..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let below_space = word.wrapping_sub(ONES * 0x20) & !word;
        let turned = word ^ (ONES * 0x7f);
        let delete = turned.wrapping_sub(ONES) & !turned;
        let found = (below_space | delete) & HIGH;
        if found == 0 {
            place += 8;
            continue;
        }
        place += found.trailing_zeros() as usize / 8;
        if text[place] != b'\t' && (text[place] < b' ' || text[place] == 0x7f) {
            return place;
        }
        place += 1;
    }
    let rest = &text[place..];
    place + rest.iter().position(|&byte| byte < b' ' && byte != b'\t' || byte == 0x7f).unwrap_or(rest.len())
}

/// RFC 9110 §5.6.2: the characters of methods and names.
pub(crate) static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = is_token_byte(byte as u8);
        byte += 1;
    }
    table
};

/// What a request target may consist of, before it is looked at closely: anything but white space and control characters.
pub(crate) static TARGET: [bool; 256] = {
    let mut table = [true; 256];
    let mut byte = 0;
    while byte <= b' ' as usize {
        table[byte] = false;
        byte += 1;
    }
    table[0x7f] = false;
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_ends_at_the_first_control_character_wherever_it_stands() {
        for length in 0..40 {
            for control in [0u8, 1, 0x0d, 0x0a, 0x1f, 0x7f] {
                for filler in [b'a', b' ', b'\t', 0x80, 0xff, b'~', b'!'] {
                    let mut text = alloc::vec![filler; length];
                    assert_eq!(text_length(&text), length);
                    text.push(control);
                    text.extend_from_slice(&[0, b'b', 0x7f, 0x80]);
                    assert_eq!(text_length(&text), length, "{}", text.escape_ascii());
                }
            }
        }
    }

    #[test]
    fn tables_are_those_of_the_rfc() {
        let token = b"!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        for byte in 0..=255u8 {
            assert_eq!(TOKEN[byte as usize], token.contains(&byte), "{byte:#x}");
            assert_eq!(TARGET[byte as usize], (0x21..0x7f).contains(&byte) || byte >= 0x80, "{byte:#x}");
        }
    }
}
