//! The variable for a header field: `HTTP_ACCEPT_LANGUAGE` for `Accept-Language` (RFC 3875 §4.1.18).
//!
//! The same names arrive with each request, and converting them byte by byte is slow: each thread caches the last ones.

use std::cell::RefCell;

/// Writes the name of a variable.
pub(super) fn write(name: &[u8], output: &mut Vec<u8>) {
    if name.is_empty() || name.len() > LONGEST {
        output.extend(variable(name));
        return;
    }
    WRITTEN.with_borrow_mut(|written| {
        let Some(places) = written.get_mut(place(name)) else { return };
        if *places[0].name != *name {
            places.swap(0, 1);
        }
        if *places[0].name != *name {
            places[0] = Variable { name: name.into(), variable: variable(name).collect() };
        }
        output.extend_from_slice(&places[0].variable);
    });
}

thread_local! {
    /// Two names may have the same place; the last one used comes first.
    static WRITTEN: RefCell<Vec<[Variable; 2]>> = RefCell::new(vec![Default::default(); PLACES]);
}

/// A field, as it was spelled, and its variable.
#[derive(Clone, Debug, Default)]
struct Variable {
    name: Box<[u8]>,
    variable: Box<[u8]>,
}

/// Where a name is kept: eight bytes at a time are mixed (Fibonacci hashing).
fn place(name: &[u8]) -> usize {
    let mixed = name.chunks(8).fold(name.len() as u64, |mixed, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        (mixed ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
    });
    mixed as usize % PLACES
}

/// Two names have no prefix (RFC 3875 §4.1).
fn variable(name: &[u8]) -> impl Iterator<Item = u8> {
    let is_bare = name.eq_ignore_ascii_case(b"content-type") || name.eq_ignore_ascii_case(b"content-length");
    let prefix: &[u8] = if is_bare { b"" } else { b"HTTP_" };
    let written = name.iter().map(|byte| match byte {
        b'-' => b'_',
        other => other.to_ascii_uppercase(),
    });
    prefix.iter().copied().chain(written)
}

/// Ten times the number that a browser sends, so that three of those rarely share a place.
const PLACES: usize = 256;
/// Longer names are converted each time, so that the memory is bounded: clients may send any.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_names_become_variables() {
        let long = "x".repeat(LONGEST + 1);
        let cases = [
            ("Accept-Language", "HTTP_ACCEPT_LANGUAGE"),
            ("accept-language", "HTTP_ACCEPT_LANGUAGE"),
            ("Content-Type", "CONTENT_TYPE"),
            ("content-LENGTH", "CONTENT_LENGTH"),
            ("X", "HTTP_X"),
            ("!#$%&'*+.^`|~9", "HTTP_!#$%&'*+.^`|~9"),
            (&long, &format!("HTTP_{}", long.to_uppercase())),
        ];
        // A second time, when they are known.
        for (name, expected) in cases.iter().chain(&cases) {
            let mut output = Vec::new();
            write(name.as_bytes(), &mut output);
            assert_eq!(output, expected.as_bytes());
        }
    }

    #[test]
    fn unlimited_names_are_converted() {
        for number in 0..10 * PLACES {
            let mut output = Vec::new();
            write(format!("x-{number}").as_bytes(), &mut output);
            assert_eq!(output, format!("HTTP_X_{number}").as_bytes());
        }
    }
}
