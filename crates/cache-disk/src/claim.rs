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
    Used(u64),
    System(io::Error),
}

impl Claim {
    /// Claims the folder for a server, of which there may be several processes.
    pub(crate) fn new(folder: &Folder, server: u32) -> Result<Self, ClaimError> {
        let file = folder.state_file("owner").map_err(ClaimError::System)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {
                let version = next_version(&file);
                write(&file, server.into(), version).map_err(ClaimError::System)?;
                share(&file)?;
                Ok(Self { file, version })
            }
            Err(Errno::WOULDBLOCK) => {
                share(&file)?;
                let (other, _) = read(&file);
                if other != u64::from(server) {
                    return Err(ClaimError::Used(other));
                }
                let version = next_version(&file);
                write(&file, server.into(), version).map_err(ClaimError::System)?;
                Ok(Self { file, version })
            }
            Err(error) => Err(ClaimError::System(error.into())),
        }
    }

    /// Whether there is no newer process of the server, which alone may write.
    pub(crate) fn is_newest(&self) -> bool {
        read(&self.file).1 == self.version
    }
}

fn share(file: &File) -> Result<(), ClaimError> {
    flock(file, FlockOperation::LockShared).map_err(|error| ClaimError::System(error.into()))
}

/// Versions of a process are those of a counter that begins here; no process counts to so many.
fn next_version(file: &File) -> u64 {
    read(file).1 + VERSIONS
}

fn read(file: &File) -> (u64, u64) {
    let mut bytes = [0; 16];
    match file.read_exact_at(&mut bytes, 0) {
        Ok(()) => {
            let number = |range: std::ops::Range<usize>| {
                bytes[range].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
            };
            (number(0..8), number(8..16))
        }
        Err(_) => (0, 0),
    }
}

fn write(file: &File, server: u64, version: u64) -> io::Result<()> {
    let mut bytes = server.to_le_bytes().to_vec();
    bytes.extend_from_slice(&version.to_le_bytes());
    file.write_all_at(&bytes, 0)
}

/// Versions of one process.
const VERSIONS: u64 = 1 << 40;
