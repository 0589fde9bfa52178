//! A file in memory that the generations of a server share: what one leaves in it, later ones continue with.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom, Write},
    os::fd::OwnedFd,
};

use rustix::fs::{FlockOperation, fcntl_lock};

/// A file in memory that the generations of a server share. It lives as long as the master, so also when a generation
/// crashes.
#[derive(Debug)]
pub struct SharedState {
    file: File,
}

impl SharedState {
    pub(super) fn new(descriptor: OwnedFd) -> Self {
        Self { file: File::from(descriptor) }
    }

    /// Reads the text that was left; it is empty if none was.
    ///
    /// # Errors
    ///
    /// Those of the system; or the text is longer than a generation leaves, or is not UTF-8: one that talks to clients
    /// may be compromised.
    pub fn read(&mut self) -> io::Result<String> {
        self.locked(FlockOperation::LockShared, |file| {
            let mut text = String::new();
            file.seek(SeekFrom::Start(0))?;
            file.take(MAX_LENGTH + 1).read_to_string(&mut text)?;
            match text.len() as u64 <= MAX_LENGTH {
                true => Ok(text),
                false => Err(io::ErrorKind::FileTooLarge.into()),
            }
        })
    }

    /// Leaves a text in place of another one.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.locked(FlockOperation::LockExclusive, |file| {
            file.seek(SeekFrom::Start(0))?;
            file.set_len(0)?;
            file.write_all(text.as_bytes())
        })
    }

    /// Processes that share a description of the file have one position in it, and locks by process.
    fn locked<T>(&mut self, kind: FlockOperation, action: impl FnOnce(&mut File) -> io::Result<T>) -> io::Result<T> {
        fcntl_lock(&self.file, kind)?;
        let outcome = action(&mut self.file);
        fcntl_lock(&self.file, FlockOperation::Unlock)?;
        outcome
    }
}

/// More than the bans of a server take with the longest reasons: 17 MB.
const MAX_LENGTH: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn the_last_text_is_read() {
        let mut state = SharedState::new(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
        let mut other = SharedState::new(state.file.try_clone().unwrap().into());
        assert_eq!(state.read().unwrap(), "");
        for text in ["a longer text", "short", ""] {
            state.write(text).unwrap();
            assert_eq!(other.read().unwrap(), text);
        }
        state.file.set_len(MAX_LENGTH + 1).unwrap();
        assert!(other.read().is_err());
        state.write("short").unwrap();
        state.file.set_len(0).unwrap();
        state.file.write_all(b"\xff").unwrap();
        assert!(other.read().is_err());
    }
}
