//! A settings file, those that it includes and those that were added to it, as one process hands them to another: a generation
//! that is started again must not find other files than the one before.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    added_file_name::AddedFileName,
    file,
    include::{self, Disk, Files},
};

/// The text of a settings file, and all that was found when it was read.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Bundle {
    text: String,
    expanded: BTreeMap<PathBuf, Result<Vec<PathBuf>, String>>,
    read: BTreeMap<PathBuf, Result<String, String>>,
    #[serde(default)]
    added: AddedFiles,
}

/// The texts of files that are not on the disk and belong to the settings, by their names.
pub type AddedFiles = BTreeMap<AddedFileName, String>;

/// The bytes of a settings file with those of the files that it includes, and with added ones, if there are any.
pub fn write(path: &Path, bytes: Vec<u8>, added: AddedFiles) -> Vec<u8> {
    let has_others = |text: &String| text.contains(include::KEY) || !added.is_empty();
    let Some(text) = file::text_of(path, bytes.clone()).ok().filter(has_others) else {
        return bytes;
    };
    let mut bundle = Bundle { text: text.clone(), added, ..Bundle::default() };
    include::gather(path, text, &mut Recorder { bundle: &mut bundle });
    if bundle.expanded.is_empty() && bundle.added.is_empty() {
        return bytes;
    }
    match serde_json::to_vec(&bundle) {
        Ok(written) => [&[MARK], &written[..]].concat(),
        // A path that is no text: the generation says so.
        Err(_) => bytes,
    }
}

/// The text of a settings file, and where the files are that it includes.
pub fn read(path: &Path, bytes: Vec<u8>) -> Result<(String, Option<Bundle>), String> {
    let Some((&MARK, written)) = bytes.split_first() else { return Ok((file::text_of(path, bytes)?, None)) };
    match serde_json::from_slice::<Bundle>(written) {
        Ok(bundle) => Ok((bundle.text.clone(), Some(bundle))),
        Err(_) => Ok((file::text_of(path, bytes)?, None)),
    }
}

impl Bundle {
    /// The files that were added.
    pub fn take_added(&mut self) -> AddedFiles {
        std::mem::take(&mut self.added)
    }
}

impl Files for Bundle {
    fn expand(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        self.expanded.get(pattern).cloned().unwrap_or_else(|| Disk.expand(pattern))
    }

    fn read(&mut self, path: &Path) -> Result<String, String> {
        self.read.get(path).cloned().unwrap_or_else(|| Disk.read(path))
    }
}

/// Finds files on the disk, and notes them.
struct Recorder<'b> {
    bundle: &'b mut Bundle,
}

impl Files for Recorder<'_> {
    fn expand(&mut self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let expanded = Disk.expand(pattern);
        self.bundle.expanded.insert(pattern.to_owned(), expanded.clone());
        expanded
    }

    fn read(&mut self, path: &Path) -> Result<String, String> {
        let read = Disk.read(path);
        self.bundle.read.insert(path.to_owned(), read.clone());
        read
    }
}

/// No text of a settings file begins with it.
const MARK: u8 = 0;
