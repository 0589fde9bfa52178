//! The extensions of a chunk (RFC 9112 §7.1.1): passed over, but only where they are some.
//!
//! ```text
//!   *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] )
//! ```
//!
//! A server that takes other text for an extension than its neighbour does sees other chunks, so the grammar is kept to
//! the letter.

use serow_message::is_token_byte;

use crate::ProtocolError;

/// Where in the grammar the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Behind the size, or behind a quoted string.
    Between,
    /// White space where only `;` may follow.
    BeforeSemicolon,
    BeforeName,
    Name,
    /// White space behind a name: `;` or `=` may follow.
    BehindName,
    BeforeValue,
    Value,
    Quoted,
    Escaped,
}

/// How many bytes stand between a chunk's size and the CR LF of its line; `None` where that has not come yet.
pub(crate) fn length(rest: &[u8], limit: usize) -> Result<Option<usize>, ProtocolError> {
    let mut place = Place::Between;
    for (count, &byte) in rest.iter().enumerate() {
        if byte == b'\r' {
            // RFC 9112 §7.1.1: white space is part of an extension, so none stands before the line's end.
            let may_end = matches!(place, Place::Between | Place::Name | Place::Value);
            return match rest.get(count + 1) {
                Some(b'\n') if may_end => Ok(Some(count)),
                None if may_end => Ok(None),
                _ => Err(ProtocolError::Chunk),
            };
        }
        place = place.behind(byte).ok_or(ProtocolError::Chunk)?;
        if count >= limit {
            return Err(ProtocolError::ChunkExtensions);
        }
    }
    Ok(None)
}

impl Place {
    /// The place behind this byte; `None` where it may not stand here.
    fn behind(self, byte: u8) -> Option<Self> {
        use Place::*;
        Some(match (self, byte) {
            (Quoted, b'"') => Between,
            (Quoted, b'\\') => Escaped,
            (Quoted | Escaped, b'\t' | b' '..=b'~' | 0x80..) => Quoted,
            (Between | BeforeSemicolon, b' ' | b'\t') => BeforeSemicolon,
            (Name | BehindName, b' ' | b'\t') => BehindName,
            (Value, b' ' | b'\t') => BeforeSemicolon,
            (BeforeName | BeforeValue, b' ' | b'\t') => self,
            (Between | BeforeSemicolon | Name | BehindName | Value, b';') => BeforeName,
            (Name | BehindName, b'=') => BeforeValue,
            (BeforeValue, b'"') => Quoted,
            (BeforeName | Name, byte) if is_token_byte(byte) => Name,
            (BeforeValue | Value, byte) if is_token_byte(byte) => Value,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_that_are_some() {
        for text in
            ["", ";a", ";a=b", ";a=\"b\"", ";a=\"\"", ";a=\"x\\\"y\";b", " ; a = b ; c", ";a=\"\u{e4}\t;\"", ";a;a"]
        {
            let mut line = alloc::vec::Vec::from(text);
            assert_eq!(length(&line, 100), Ok(None), "{text:?}");
            line.push(b'\r');
            assert_eq!(length(&line, 100), Ok(None), "{text:?}");
            line.push(b'\n');
            assert_eq!(length(&line, 100), Ok(Some(text.len())), "{text:?}");
            assert_eq!(length(&line, text.len()), Ok(Some(text.len())), "{text:?}");
            if !text.is_empty() {
                assert_eq!(length(&line, text.len() - 1), Err(ProtocolError::ChunkExtensions), "{text:?}");
            }
        }
    }

    #[test]
    fn other_text() {
        for text in [
            " ",
            "\t",
            ";",
            "; ",
            ";a ",
            ";a=",
            ";a=b ",
            ";a=\"b",
            ";a=\"b\" ",
            ";a=\"b\"c",
            ";=b",
            "a",
            " a",
            ";a b",
            ";a=b c",
            ";;",
            ";a=b=c",
            ";a=\"\n\"",
            ";\u{e4}",
            ";a\n",
            ";a=\"\\",
            ";a\0",
            ";a=\"\u{7f}\"",
        ] {
            let line = alloc::format!("{text}\r\n");
            assert_eq!(length(line.as_bytes(), 100), Err(ProtocolError::Chunk), "{text:?}");
        }
        assert_eq!(length(b";a\rb", 100), Err(ProtocolError::Chunk));
    }
}
