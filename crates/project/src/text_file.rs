//! Text files of a project.

use std::{fs::File, io::Read, path::Path};

/// A text file of a project, if it is one.
pub(super) fn text_of(path: &Path) -> Option<String> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))?;
    let mut text = String::new();
    file.take(MAX_LENGTH).read_to_string(&mut text).ok()?;
    Some(text)
}

/// Such files are written by hand; one of this length is something else.
const MAX_LENGTH: u64 = 1 << 20;
