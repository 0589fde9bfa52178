//! The text of a settings file.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Reads a settings file.
///
/// # Errors
///
/// Whatever keeps it from being a text, as one line that says what to do.
pub fn read(path: &Path) -> Result<String, String> {
    bytes(path, Source::Any).and_then(|bytes| text_of(path, bytes))
}

/// The kind of file that is accepted as a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Any file that can be read, such as a pipe, which may have to be waited for.
    Any,
    /// A file that is on a disk.
    File,
}

/// Reads the bytes of a settings file.
///
/// # Errors
///
/// The file cannot be read; the reason, in one line.
pub fn bytes(path: &Path, source: Source) -> Result<Vec<u8>, String> {
    let name = path.display();
    // Opening a pipe would wait already.
    if source == Source::File && fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return Err(format!("{name} can be read once only: name a file with -c, so that it can be read again"));
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_SIZE + 1).read_to_end(&mut bytes));
    match read.map_err(|error| (error.kind(), error)) {
        Ok(length) if length as u64 > MAX_SIZE => {
            Err(format!("{name} is larger than 16M, which no settings file is: name another file"))
        }
        Ok(_) => Ok(bytes),
        Err((io::ErrorKind::IsADirectory, _)) => {
            let file = path.join(DEFAULT_FILE);
            Err(format!("{name} is a folder: name the file, as in {}", file.display()))
        }
        Err((io::ErrorKind::NotFound, _)) => {
            Err(format!("there is no settings file {name}: name it with -c, or write one with serow init"))
        }
        Err((_, error)) => Err(format!("cannot read the settings file {name}: {error}")),
    }
}

/// Makes text of what the file at this path holds.
pub fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, String> {
    text(bytes).map_err(|problem| format!("{}{problem}", path.display()))
}

/// Makes text of what a file holds.
fn text(bytes: Vec<u8>) -> Result<String, String> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(" is written in UTF-16: save it in UTF-8".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        format!(":{line}: this line is not written in UTF-8: save the file in UTF-8")
    })?;
    // Some editors write it, and it means nothing (TOML 1.1 allows it).
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The file that is read where none is named.
pub const DEFAULT_FILE: &str = "serow.toml";

/// Files with ten thousands of sites are smaller; a device or a log that was named by mistake is not read to its end.
const MAX_SIZE: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_utf8_are_refused_with_the_line() {
        let cases: [(&[u8], Result<&str, &str>); 6] = [
            (b"a = 1\n", Ok("a = 1\n")),
            (b"", Ok("")),
            (b"\xef\xbb\xbfa = 1", Ok("a = 1")),
            (b"a = 1\n\nb = '\xe4'\n", Err(":3: this line is not written in UTF-8: save the file in UTF-8")),
            (b"\xff\xfea\0", Err(" is written in UTF-16: save it in UTF-8")),
            (b"\xfe\xff\0a", Err(" is written in UTF-16: save it in UTF-8")),
        ];
        for (bytes, expected) in cases {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(text(bytes.to_vec()), expected);
        }
    }
}
