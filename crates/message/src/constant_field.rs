//! A header field that is known at compile time.

use crate::field::KnownHeader;

/// A header field whose line is known and checked at compile time. Adding it to a list is one copy.
///
/// ```
/// use serow_message::{ConstantField, Headers, KnownHeader};
///
/// const VIA: ConstantField = ConstantField::new(KnownHeader::Via, "via: 1.1 proxy\r\n");
/// let mut headers = Headers::new();
/// headers.append_constant(&VIA);
/// assert_eq!(headers.get(KnownHeader::Via), Some(&b"1.1 proxy"[..]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConstantField {
    pub(crate) known: KnownHeader,
    pub(crate) line: &'static [u8],
}

impl ConstantField {
    /// The field of this name, with its line: the name in lower case, a colon, a space, the value, CR and LF.
    ///
    /// # Panics
    ///
    /// If the line has another form: at compile time, if this is a constant.
    #[must_use]
    pub const fn new(known: KnownHeader, line: &'static str) -> Self {
        let (name, text) = (known.as_str().as_bytes(), line.as_bytes());
        let colon = name.len();
        assert!(text.len() >= colon + 4, "the line of a field is longer than its name");
        let mut place = 0;
        while place < text.len() {
            let is_right = if place < colon {
                text[place] == name[place]
            } else if place < colon + 2 {
                text[place] == b": "[place - colon]
            } else if place < text.len() - 2 {
                // Printable ASCII is enough for a constant.
                text[place] >= b' ' && text[place] < 0x7f
            } else {
                text[place] == b"\r\n"[place + 2 - text.len()]
            };
            assert!(is_right, "the line is not `name: value` with CR and LF");
            place += 1;
        }
        Self { known, line: text }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::panic::catch_unwind;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
    fn a_line_that_is_not_that_of_the_field_is_refused() {
        let _ = ConstantField::new(KnownHeader::Via, "via: \r\n");
        let _ = ConstantField::new(KnownHeader::Via, "via: 1.1 a\r\n");
        for line in [
            "",
            "via: ",
            "via:a\r\n",
            "Via: a\r\n",
            "via: a\n",
            "via: a\r\n\r\n",
            "via: a\r\nb: c\r\n",
            "via: a",
            "age: a\r\n",
        ] {
            assert!(catch_unwind(|| ConstantField::new(KnownHeader::Via, line)).is_err(), "{line:?}");
        }
    }
}
