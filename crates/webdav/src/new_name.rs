//! Which names clients can give.

use crate::{refusal::Refusal, settings::WriteMode};

/// Whether clients may change what is at a path below a folder.
///
/// # Errors
///
/// A part of it is `.well-known` (RFC 8615): what is there speaks for the host. A client that writes
/// `.well-known/acme-challenge/TOKEN` gets a certificate for it (RFC 8555 §8.3). Case does not matter, since it does not
/// on some file systems; nor does the place, since another route may serve a folder below as its root.
pub(crate) fn check_changed(path: &[u8]) -> Result<(), Refusal> {
    match path.split(|&byte| byte == b'/').any(|name| name.eq_ignore_ascii_case(WELL_KNOWN)) {
        true => Err(Refusal::forbidden("what is in .well-known speaks for the host: change it on the server")),
        false => Ok(()),
    }
}

/// Whether a client may give the last name of a path to something new.
///
/// # Errors
///
/// Control characters, by which a name makes lines of its own in logs and terminals. People, to whom `form` shows names,
/// can also not see the direction of text (`gpj.exe` for `exe.jpg`, as in CVE-2021-42574) and what is at the end, which
/// Windows leaves out.
pub(crate) fn check_new(path: &[u8], mode: WriteMode) -> Result<(), Refusal> {
    check_changed(path)?;
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let is_control = |character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}');
    if String::from_utf8_lossy(name).chars().any(is_control) {
        return Err(Refusal::forbidden("a name has no control characters"));
    }
    if mode != WriteMode::Form {
        return Ok(());
    }
    let Ok(name) = std::str::from_utf8(name) else {
        return Err(Refusal::forbidden("the name is not in UTF-8"));
    };
    if name.chars().any(changes_direction) {
        return Err(Refusal::forbidden("a name has no characters that change the direction of text"));
    }
    if name.ends_with(|last: char| last == '.' || last.is_whitespace()) {
        return Err(Refusal::forbidden("a name does not end with a space or a dot"));
    }
    Ok(())
}

/// Unicode Standard Annex #9, table 4: the explicit ones, and the marks.
fn changes_direction(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

const WELL_KNOWN: &[u8] = b".well-known";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_well_known_is_changed() {
        for (path, expected) in [
            ("", true),
            ("a/.well-knownx", true),
            ("well-known", true),
            ("a/well-known/b", true),
            (".well-known", false),
            (".WELL-Known/acme-challenge/a", false),
            ("a/b/.well-known/acme-challenge", false),
        ] {
            assert_eq!(check_changed(path.as_bytes()).is_ok(), expected, "{path}");
            assert_eq!(check_new(path.as_bytes(), WriteMode::Dav).is_ok(), expected, "{path}");
        }
    }

    #[test]
    fn names_that_mislead_people_or_programs_are_refused() {
        for (name, form, dav) in [
            (&b"a b.txt"[..], true, true),
            ("\u{e4}\u{5e9}\u{1f600}".as_bytes(), true, true),
            (b"name (2).txt", true, true),
            (b"a\r\nX: 1", false, false),
            (b"\x1b[2J", false, false),
            (b"a\x7f", false, false),
            (b"a\tb", false, false),
            ("a\u{85}".as_bytes(), false, false),
            ("a\u{2028}b".as_bytes(), false, false),
            ("a\u{202e}gpj.exe".as_bytes(), false, true),
            ("a\u{2066}b".as_bytes(), false, true),
            ("\u{200f}a".as_bytes(), false, true),
            (b"a ", false, true),
            ("a\u{a0}".as_bytes(), false, true),
            (b"a.", false, true),
            (b"a\xff", false, true),
        ] {
            assert_eq!(check_new(name, WriteMode::Form).is_ok(), form, "{}", name.escape_ascii());
            assert_eq!(check_new(&[b"folder/", name].concat(), WriteMode::Dav).is_ok(), dav, "{}", name.escape_ascii());
            assert_eq!(check_new(name, WriteMode::Put).is_ok(), dav, "{}", name.escape_ascii());
        }
        // An earlier name is another one's.
        assert!(check_new(b"a\n/b", WriteMode::Form).is_ok());
    }
}
