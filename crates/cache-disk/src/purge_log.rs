//! Purges that concern more than one file: they are kept until all files have been looked at.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
};

use rustix::fs::{FlockOperation, flock};
use serow_cache::PurgeRecord;

use crate::folder::Folder;

/// The purges of earlier processes, and those of this one.
#[derive(Debug)]
pub(crate) struct PurgeLog {
    file: File,
}

impl PurgeLog {
    pub(crate) fn open(folder: &Folder) -> io::Result<Self> {
        Ok(Self { file: folder.state_file("purges")? })
    }

    /// Reads all purges. Lines that are not purges are left out: a crash may have cut off the last.
    pub(crate) fn read(&self) -> io::Result<Vec<PurgeRecord>> {
        let _lock = Lock::of(&self.file)?;
        self.records()
    }

    /// Adds a purge.
    pub(crate) fn add(&self, purge: &PurgeRecord) -> io::Result<()> {
        let _lock = Lock::of(&self.file)?;
        let mut file = &self.file;
        // Also after a line that was cut off.
        file.seek(SeekFrom::End(0))?;
        file.write_all(format!("\n{purge}\n").as_bytes())?;
        file.sync_data()
    }

    /// Removes the purges up to this version.
    pub(crate) fn forget(&self, version: u64) -> io::Result<()> {
        let _lock = Lock::of(&self.file)?;
        let rest = self.records()?;
        let rest = rest.iter().filter(|purge| purge.version() > version).map(|purge| format!("{purge}\n"));
        let text: String = rest.collect();
        let mut file = &self.file;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(text.as_bytes())
    }

    fn records(&self) -> io::Result<Vec<PurgeRecord>> {
        let (mut file, mut text) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut text)?;
        Ok(text.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()?.parse().ok()).collect())
    }
}

/// Keeps other processes from the file.
struct Lock<'a>(&'a File);

impl<'a> Lock<'a> {
    fn of(file: &'a File) -> io::Result<Self> {
        flock(file, FlockOperation::LockExclusive)?;
        Ok(Self(file))
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        let _ = flock(self.0, FlockOperation::Unlock);
    }
}
