//! The file with the token of an admin endpoint.

use std::{fs, path::Path};

/// Reads the token of a file: its first line.
///
/// # Errors
///
/// Why there is none, as one line that says what to do.
pub fn read(file: &Path) -> Result<String, String> {
    let name = file.display();
    let text = fs::read_to_string(file).map_err(|error| format!("cannot read {name}: {error}"))?;
    let token = text.lines().next().unwrap_or_default().trim();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_graphic());
    match is_plain && token.len() >= MIN_LENGTH {
        true => Ok(token.to_owned()),
        false => Err(format!("{name} has no token: write a line of at least {MIN_LENGTH} letters and digits into it")),
    }
}

/// Shorter ones can be guessed.
const MIN_LENGTH: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_less_than_16_printable_characters_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(read(&file).is_err());
        for (text, expected) in [
            ("0123456789abcdef\n", Some("0123456789abcdef")),
            (" 0123456789abcdef \nmore", Some("0123456789abcdef")),
            ("0123456789abcde", None),
            ("0123456789 abcdef", None),
            ("0123456789abcdefä", None),
            ("", None),
        ] {
            fs::write(&file, text).unwrap();
            assert_eq!(read(&file).ok().as_deref(), expected, "{text:?}");
        }
    }
}
