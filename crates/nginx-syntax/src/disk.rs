//! Configuration files of this machine.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::reading::{Files, MAX_BYTES};

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> Result<Vec<u8>, String> {
        let file = File::open(path).map_err(|error| error.to_string())?;
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        if !is_file {
            // A pipe or a device may never end.
            return Err("it is not a file".to_owned());
        }
        let mut text = Vec::new();
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn matching(&self, pattern: &Path) -> Result<Vec<PathBuf>, String> {
        let text = pattern.to_str().ok_or("the pattern is not UTF-8")?;
        let found = glob::glob(text).map_err(|error| format!("the pattern {text} is invalid: {}", error.msg))?;
        let mut paths = Vec::new();
        for path in found {
            paths.push(path.map_err(|error| format!("cannot read {}: {}", error.path().display(), error.error()))?);
        }
        paths.sort();
        Ok(paths)
    }
}
