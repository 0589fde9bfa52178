//! What a field of the header is called as a variable: `HTTP_ACCEPT_LANGUAGE` for `Accept-Language` (RFC 3875 §4.1.18).
//!
//! Names come again with each request, and each would be written byte by byte: each thread keeps those that it has written last.

use std::cell::RefCell;

/// Writes the name of a variable.
pub(super) fn write(name: &[u8], output: &mut Vec<u8>) {
    if name.is_empty() || name.len() > LONGEST {
        output.extend(variable(name));
        return;
    }
    WRITTEN.with_borrow_mut(|written| {
        let Some(slot) = written.get_mut(place(name)) else { return };
        if *slot.name != *name {
            *slot = Variable { name: name.into(), variable: variable(name).collect() };
        }
        output.extend_from_slice(&slot.variable);
    });
}

thread_local! {
    static WRITTEN: RefCell<Vec<Variable>> = RefCell::new(vec![Variable::default(); PLACES]);
}

/// A field, as it was spelled, and its variable.
#[derive(Clone, Debug, Default)]
struct Variable {
    name: Box<[u8]>,
    variable: Box<[u8]>,
}

/// Where a name is kept: names differ in their lengths and at both ends.
fn place(name: &[u8]) -> usize {
    let byte = |place: usize| usize::from(name[place]);
    (name.len() * 37 + byte(0) * 5 + byte(name.len() / 2) * 11 + byte(name.len() - 1) * 3) % PLACES
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

/// More than browsers and proxies send, with room between them.
const PLACES: usize = 256;
/// Longer names are written anew each time, so that the memory is bounded: clients may send any.
const LONGEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_spellings() {
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
    fn any_number_of_names() {
        for number in 0..10 * PLACES {
            let mut output = Vec::new();
            write(format!("x-{number}").as_bytes(), &mut output);
            assert_eq!(output, format!("HTTP_X_{number}").as_bytes());
        }
    }
}
