//! Text of a client as it may stand in a line: nobody forges another line with it, nor speaks to a terminal.

/// Appends text, with `\xHH` for quotes, backslashes, control characters and everything beyond ASCII, as nginx does.
pub(super) fn text(text: &[u8], line: &mut Vec<u8>) {
    escape(text, must_be_escaped, line);
}

/// Appends text that stands without quotes: a space would begin the next field.
pub(super) fn word(text: &[u8], line: &mut Vec<u8>) {
    let start = line.len();
    line.extend_from_slice(text);
    behind(start, true, line);
}

/// Escapes what was appended from this place on; a word as one that stands without quotes.
pub(super) fn behind(start: usize, is_word: bool, line: &mut Vec<u8>) {
    let must_be_escaped = |byte: u8| is_word && byte == b' ' || must_be_escaped(byte);
    if line[start..].iter().any(|&byte| must_be_escaped(byte)) {
        let text = line.split_off(start);
        escape(&text, must_be_escaped, line);
    }
}

fn escape(text: &[u8], must_be_escaped: impl Fn(u8) -> bool, line: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(place) = rest.iter().position(|&byte| must_be_escaped(byte)) {
        line.extend_from_slice(&rest[..place]);
        let byte = rest[place];
        line.extend_from_slice(&[b'\\', b'x', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        rest = &rest[place + 1..];
    }
    line.extend_from_slice(rest);
}

fn must_be_escaped(byte: u8) -> bool {
    matches!(byte, ..0x20 | b'"' | b'\\' | 0x7f..)
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a client sends, its text stays within its field.
        #[test]
        fn escaped_text_is_plain(given: Vec<u8>) {
            for (escape, is_word) in [(text as fn(&[u8], &mut Vec<u8>), false), (word, true)] {
                let mut line = Vec::new();
                escape(&given, &mut line);
                prop_assert!(line.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'"'));
                prop_assert!(!is_word || !line.contains(&b' '));
                prop_assert_eq!(unescaped(&line), &given[..]);
            }
        }
    }

    fn unescaped(mut line: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        while let Some((&byte, rest)) = line.split_first() {
            line = rest;
            text.push(byte);
            if byte == b'\\' {
                let hexadecimal = std::str::from_utf8(&line[1..3]).unwrap();
                *text.last_mut().unwrap() = u8::from_str_radix(hexadecimal, 16).unwrap();
                line = &line[3..];
            }
        }
        text
    }
}
