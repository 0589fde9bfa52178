//! Which server uses the folder.

use std::{fs::File, io, os::unix::fs::FileExt};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::folder::Folder;

/// The right to use the folder, until it is dropped. Generations of one server share it; the newest writes.
#[derive(Debug)]
pub(crate) struct Claim {
    file: File,
    /// The first version of this process: larger than all of processes before.
    pub(crate) version: u64,
}

/// Why the folder cannot be used.
#[derive(Debug)]
pub(crate) enum ClaimError {
    /// The server with this process uses it.
    Used(u32),
    System(io::Error),
}

impl Claim {
    /// Claims the folder for a server, of which there may be several processes. The low half of its number is that of a
    /// process, for messages.
    pub(crate) fn new(folder: &Folder, server: u64) -> Result<Self, ClaimError> {
        let file = folder.state_file("owner").map_err(ClaimError::System)?;
        let is_alone = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => false,
            Err(error) => return Err(ClaimError::System(error.into())),
        };
        if !is_alone {
            share(&file)?;
            let (other, _) = read(&file);
            if other != server {
                return Err(ClaimError::Used(other as u32));
            }
        }
        // Versions of a process are those of a counter that begins here; no process counts to so many.
        let version = read(&file).1 + VERSIONS;
        write(&file, server, version).map_err(ClaimError::System)?;
        if is_alone {
            folder.remove_unfinished(true).map_err(ClaimError::System)?;
            share(&file)?;
        }
        Ok(Self { file, version })
    }

    /// Whether there is no newer process of the server, which alone may write.
    pub(crate) fn is_newest(&self) -> bool {
        read(&self.file).1 == self.version
    }
}

fn share(file: &File) -> Result<(), ClaimError> {
    flock(file, FlockOperation::LockShared).map_err(|error| ClaimError::System(error.into()))
}

/// The server, and the version of its newest process; zeros before the first.
fn read(file: &File) -> (u64, u64) {
    let mut numbers = [[0; 8]; 2];
    match file.read_exact_at(numbers.as_flattened_mut(), 0) {
        Ok(()) => (u64::from_le_bytes(numbers[0]), u64::from_le_bytes(numbers[1])),
        Err(_) => (0, 0),
    }
}

fn write(file: &File, server: u64, version: u64) -> io::Result<()> {
    file.write_all_at([server, version].map(u64::to_le_bytes).as_flattened(), 0)
}

/// Versions of one process.
const VERSIONS: u64 = 1 << 40;
