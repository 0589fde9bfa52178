//! The seeds and the dictionaries in the folder `fuzz`.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// The seeds of a target, and the words of its dictionary.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// With the names of their files, in their order.
    pub(crate) seeds: Vec<(String, Vec<u8>)>,
    pub(crate) words: Vec<Vec<u8>>,
}

impl Corpus {
    pub(crate) fn of(target: &str) -> Self {
        let names = names(&format!("seeds/{target}"));
        let read = |name: String| {
            let bytes = fs::read(folder().join("seeds").join(target).join(&name)).unwrap();
            (name, bytes)
        };
        // As in fuzz/run.
        let dictionary = match target {
            "server_split" | "client_split" | "chunked" => Some("http1.dict"),
            "files" => Some("files.dict"),
            _ => None,
        };
        let text = dictionary.map(|name| fs::read_to_string(folder().join(name)).unwrap()).unwrap_or_default();
        Self { seeds: names.into_iter().map(read).collect(), words: text.lines().filter_map(word).collect() }
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The names in a folder below `fuzz`, in their order; none if it does not exist.
pub(crate) fn names(below: &str) -> Vec<String> {
    let entries = fs::read_dir(folder().join(below)).into_iter().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A line of libFuzzer's dictionaries: a word in quotation marks, in which `\xAB` is a byte. `None` for a comment.
fn word(line: &str) -> Option<Vec<u8>> {
    let mut rest = line.strip_prefix('"')?.strip_suffix('"').expect("a quotation mark at the end");
    let mut word = Vec::new();
    while let Some(escape) = rest.find('\\') {
        word.extend_from_slice(&rest.as_bytes()[..escape]);
        rest = &rest[escape + 1..];
        let (byte, length) = match rest.strip_prefix('x') {
            Some(digits) => (u8::from_str_radix(&digits[..2], 16).unwrap(), 3),
            None => (rest.as_bytes()[0], 1),
        };
        word.push(byte);
        rest = &rest[length..];
    }
    word.extend_from_slice(rest.as_bytes());
    Some(word)
}

#[test]
fn escapes_of_dictionaries_are_bytes() {
    assert_eq!(word(r#"";a=\"b\"\x0d\x0aX""#).unwrap(), b";a=\"b\"\r\nX");
    assert_eq!(word("# a comment"), None);
}
