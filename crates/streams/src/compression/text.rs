//! Strings (RFC 7541 §5.2), as they stand or in Huffman code.

use alloc::vec::Vec;

use super::{CodingError, huffman, integer};

/// A string of a literal.
#[derive(Clone, Copy)]
pub enum Text<'a> {
    /// As it stands in the block.
    Plain(&'a [u8]),
    /// Where it stands among the decoded ones.
    Decoded {
        /// Its first byte.
        start: usize,
        /// Behind its last byte.
        end: usize,
    },
}

/// The strings of one literal that came in Huffman code. Their memory is kept for the next ones, until an idle
/// connection gives it back.
#[derive(Debug, Default)]
pub struct Texts {
    decoded: Vec<u8>,
}

impl Texts {
    /// Without any; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { decoded: Vec::new() }
    }

    /// Those of the literal before are not needed any more.
    #[inline]
    pub fn clear(&mut self) {
        self.decoded.clear();
    }

    /// Ends a decoded block. The memory that a long string needed is given back.
    #[inline]
    pub fn forget(&mut self) {
        if self.decoded.capacity() > MAX_KEPT {
            *self = Self::new();
        }
    }

    /// Takes a string (RFC 7541 §5.2).
    #[inline]
    pub fn take<'a>(&mut self, rest: &mut &'a [u8]) -> Result<Text<'a>, CodingError> {
        self.take_prefixed::<7>(rest)
    }

    /// Takes a string whose length has so many bits of the first byte; the bit before them says whether it is in
    /// Huffman code (RFC 9204 §4.1.2).
    pub fn take_prefixed<'a, const BITS: u32>(&mut self, rest: &mut &'a [u8]) -> Result<Text<'a>, CodingError> {
        let first = *rest.first().ok_or(CodingError::Truncated)?;
        let length = integer::decode::<BITS>(rest)?;
        let (text, behind) = rest.split_at_checked(length).ok_or(CodingError::Truncated)?;
        *rest = behind;
        if first & (1 << BITS) == 0 {
            return Ok(Text::Plain(text));
        }
        let start = self.decoded.len();
        if self.decoded.capacity() == 0 {
            self.decoded.reserve(FIRST_TEXT);
        }
        huffman::decode(text, &mut self.decoded)?;
        Ok(Text::Decoded { start, end: self.decoded.len() })
    }
}

impl<'a> Text<'a> {
    /// Its bytes.
    pub fn bytes<'b>(self, texts: &'b Texts) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Self::Plain(text) => text,
            Self::Decoded { start, end } => &texts.decoded[start..end],
        }
    }
}

/// Writes a string (RFC 7541 §5.2), in Huffman code where that is shorter.
#[inline]
pub fn write_text(text: impl ExactSizeIterator<Item = u8> + Clone, block: &mut Vec<u8>) {
    write_text_prefixed::<7>(0, text, block);
}

/// Writes a string whose length has so many bits of the first byte, and the bit before them says whether it is in
/// Huffman code (RFC 9204 §4.1.2); the other bits are `pattern`.
pub fn write_text_prefixed<const BITS: u32>(
    pattern: u8,
    text: impl ExactSizeIterator<Item = u8> + Clone,
    block: &mut Vec<u8>,
) {
    let huffman = pattern | 1 << BITS;
    // RFC 7541 §5.1: the least length that takes more than one byte.
    let one_byte = (1 << BITS) - 1;
    if text.len() < one_byte {
        // The length takes one byte, whichever it is, and is put in its place behind.
        let start = block.len();
        block.push(0);
        huffman::encode(text.clone(), block);
        let length = block.len() - start - 1;
        if length < text.len() {
            block[start] = huffman | length as u8;
            return;
        }
        block.truncate(start);
    } else {
        let length = huffman::encoded_length(text.clone());
        if length < text.len() {
            integer::encode::<BITS>(length, huffman, block);
            return huffman::encode(text, block);
        }
    }
    integer::encode::<BITS>(text.len(), pattern, block);
    block.extend(text);
}

/// Room for most strings, so that one allocation is enough for a usual block.
const FIRST_TEXT: usize = 256;

/// Bytes of memory that are kept for the strings of the next block.
const MAX_KEPT: usize = 4 * FIRST_TEXT;
