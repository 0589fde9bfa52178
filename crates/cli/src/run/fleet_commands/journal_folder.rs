//! The folder in which a server keeps the journal of its fleet.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use serow_fleet::{FleetJournal, JournalFile};

/// The folder in which a server keeps the journal of its fleet.
#[derive(Clone, Debug)]
pub(in crate::run) struct JournalFolder {
    path: PathBuf,
    /// The number of the server, by its master.
    server: u64,
}

/// The folder while no other process has it.
#[derive(Debug)]
pub(super) struct LockedFolder(#[allow(dead_code, reason = "the lock ends with it")] File);

impl JournalFolder {
    /// This folder of the server with this number.
    pub(in crate::run) fn new(path: PathBuf, server: u64) -> Self {
        Self { path, server }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until no other process has it.
    pub(super) fn lock(&self) -> io::Result<LockedFolder> {
        let options = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).clone();
        let file = options.open(self.path.join("lock"))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(LockedFolder(file))
    }

    /// Whether the master that ran last is another one: this one does not remember the commands to that one.
    pub(super) fn is_of_another_master(&self) -> bool {
        fs::read_to_string(self.path.join(MASTER)).ok().and_then(|text| text.trim().parse().ok()) != Some(self.server)
    }

    /// This master remembers everything from now on.
    pub(super) fn note_master(&self) -> io::Result<()> {
        fs::write(self.path.join(MASTER), format!("{}\n", self.server))
    }

    /// The journal, where the master does not know its commands.
    pub(super) fn read(&self) -> io::Result<Option<FleetJournal>> {
        if !self.is_of_another_master() {
            return Ok(None);
        }
        JournalFile::read(&self.path).map_err(io::Error::other)
    }
}

/// The file with the number of the server that used the folder last.
const MASTER: &str = "master";
