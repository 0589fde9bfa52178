//! A temporary folder.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

/// A temporary folder, which is removed with all that is in it.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder whose name nothing else has.
    pub(super) fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let folder = std::env::temp_dir().canonicalize()?;
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("serow-compare-{}-{count}", process::id()));
            // One that exists may be somebody else's trap: `create_dir` fails then, also for links.
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing else depends on it, and the system clears its temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
