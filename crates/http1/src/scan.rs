//! Reading the lines of a head, strictly: what RFC 9112 lets a recipient forgive (a bare LF, a folded line, white space
//! before the colon) is an error here, since two servers in a row that forgive differently see different requests.
//!
//! Every byte is looked at once. The verdict depends on the bytes before and not on those that follow, so a head that
//! comes in pieces is judged as one that comes whole.

use serow_message::{HeadFields, KnownHeader, Span, is_token_byte, text_length};

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
    #[inline(always)]
    pub(crate) fn line_end(&mut self, otherwise: ProtocolError) -> Partial<()> {
        if let [b'\r', b'\n', ..] = self.text[self.place..] {
            self.place += 2;
            return Ok(Some(()));
        }
        self.judge_line_end(otherwise)
    }

    /// Judges a place that does not have CR LF: `None` where it may still come, else the error.
    #[cold]
    fn judge_line_end(&self, otherwise: ProtocolError) -> Partial<()> {
        match self.text[self.place..] {
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
    pub(crate) fn fields(&mut self, limits: &Limits) -> Partial<HeadFields> {
        let mut fields = HeadFields::default();
        let mut places = fields.begin();
        loop {
            match self.text.get(self.place) {
                None => return Ok(None),
                Some(b'\r' | b'\n') => return Ok(self.line_end(ProtocolError::LineEnd)?.map(|()| fields)),
                Some(_) if places.len() == limits.fields => return Err(ProtocolError::HeadTooLarge),
                Some(_) => {}
            }
            let Some((known, span)) = self.field()? else { return Ok(None) };
            places.push(known, span).map_err(|_| ProtocolError::HeadTooLarge)?;
        }
    }

    /// Takes one field: name, colon, value between optional white space, end of the line.
    #[inline(always)]
    fn field(&mut self) -> Partial<(Option<KnownHeader>, Span)> {
        let name_start = self.place;
        let Some((name_length, known)) = self.name()? else { return Ok(None) };
        self.place += name_length + 1;
        let spaced = self.place + 1;
        while let Some(b' ' | b'\t') = self.text.get(self.place) {
            self.place += 1;
        }
        let value_start = self.place;
        let Some(value) = self.rest_of_line(ProtocolError::Field)? else { return Ok(None) };
        let mut value_length = value.len();
        let is_spaced = value_start == spaced && self.text.get(spaced - 1) == Some(&b' ');
        while value_length > 0 && matches!(value[value_length - 1], b' ' | b'\t') {
            value_length -= 1;
        }
        let is_line = is_spaced && value_length == value.len();
        Ok(Some((known, Span { name_start, name_length, value_start, value_length, is_line })))
    }

    /// The length of the name at this place, behind which there is a colon, and which well-known name it is.
    #[inline(always)]
    fn name(&self) -> Partial<(usize, Option<KnownHeader>)> {
        let rest = &self.text[self.place..];
        // A well-known name is a token, and its bytes need no further look.
        if let Some(length) = first_colon(rest)
            && let Some(known) = KnownHeader::recognise_usual(&rest[..length])
        {
            return Ok(Some((length, Some(known))));
        }
        let Some(length) = rest.iter().position(|&byte| !TOKEN[byte as usize]) else { return Ok(None) };
        // An empty name: also what a folded line begins with (§5.2). White space before the colon: §5.1.
        if length == 0 || rest[length] != b':' {
            return Err(if rest[length] == b'\n' { ProtocolError::LineEnd } else { ProtocolError::Field });
        }
        Ok(Some((length, KnownHeader::recognise_any_case(&rest[..length]))))
    }
}

/// Where the first colon is, if it is near. Eight bytes are tried at a time: one that is a colon becomes 0x00, which
/// borrows when 0x01 is subtracted; what a borrow does to bytes behind it does not matter.
#[inline(always)]
fn first_colon(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES * 0x80;
    for place in [0, 8, 16, 24] {
        let word = u64::from_le_bytes(*text.get(place..)?.first_chunk()?) ^ (ONES * b':' as u64);
        let found = word.wrapping_sub(ONES) & !word & HIGH;
        if found != 0 {
            return Some(place + found.trailing_zeros() as usize / 8);
        }
    }
    None
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

/// The bytes that a request target may consist of, before it is looked at closely: anything but white space and
/// control characters.
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
    fn the_first_colon_is_found_where_it_is_near() {
        for length in 0..40 {
            for filler in [b'a', b'9', b';', 0, 0xff, 0xba] {
                let mut text = alloc::vec![filler; length];
                assert_eq!(first_colon(&text), None);
                text.extend_from_slice(b":;:\0\x01aaaaaaaa");
                assert_eq!(first_colon(&text), (length < 32).then_some(length), "{}", text.escape_ascii());
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
