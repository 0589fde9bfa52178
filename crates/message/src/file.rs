//! A range of an open file as a body.

use std::{fs::File, io, sync::Arc, vec::Vec};

use bytes::Bytes;

/// Part of an open file, as a body.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The open file.
    pub file: Arc<File>,
    /// The start of the range, in bytes.
    pub offset: u64,
    /// Its length in bytes.
    pub length: u64,
    /// The version of the file when the head of the response was made. The server compares it before it sends the last
    /// bytes, and closes the connection if the file has changed: so no client takes a mixture of two versions for the
    /// file.
    pub version: Option<FileVersion>,
}

impl FileRange {
    /// Reads the next bytes of the range by copying them, at most `limit`, and moves the range's start behind them.
    /// Before it returns the last bytes, it compares the file with its version, as [`Self::check`] before the end of a
    /// `sendfile`: so no client takes a mixture of two versions for the file.
    ///
    /// # Errors
    ///
    /// The system's error; [`FileChanged`] (as `InvalidData`) if the file is no longer the announced version, or has
    /// become too short.
    pub fn read(&mut self, limit: usize) -> io::Result<Bytes> {
        let mut chunk = Vec::new();
        self.read_into(&mut chunk, limit)?;
        Ok(chunk.into())
    }

    /// As [`Self::read`], appended to `output`; returns the number of bytes.
    ///
    /// # Errors
    ///
    /// As [`Self::read`]; `output` is unchanged then.
    pub fn read_into(&mut self, output: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
        let before = output.len();
        let wanted = usize::try_from(self.length).unwrap_or(usize::MAX).min(limit);
        let outcome = self.append(output, wanted).and_then(|read| self.pass(read, wanted));
        output.truncate(before + outcome.as_ref().map_or(0, |read| *read));
        outcome
    }

    /// Appends the next bytes, of which at most `wanted` count; returns how many do.
    #[cfg(unix)]
    fn append(&self, output: &mut Vec<u8>, wanted: usize) -> io::Result<usize> {
        use rustix::buffer::spare_capacity;
        output.reserve(wanted);
        let before = output.len();
        let read = rustix::io::retry_on_intr(|| {
            // Zeros that are overwritten at once cost as much as an eighth of the reading; so do bytes beyond those wanted.
            if output.capacity() - before - wanted <= wanted / 8 {
                rustix::io::pread(&self.file, spare_capacity(output), self.offset)
            } else {
                output.resize(before + wanted, 0);
                rustix::io::pread(&self.file, &mut output[before..], self.offset)
            }
        });
        Ok(read?.min(wanted))
    }

    #[cfg(not(unix))]
    fn append(&self, _: &mut Vec<u8>, _: usize) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Moves the range's start behind what was read.
    fn pass(&mut self, read: usize, wanted: usize) -> io::Result<usize> {
        if read == 0 && wanted > 0 {
            return Err(FileChanged.into());
        }
        // Less than was there: it has become shorter, or is about to be looked at for nothing.
        if read as u64 == self.length || read < wanted {
            self.check()?;
        }
        self.offset += read as u64;
        self.length -= read as u64;
        Ok(read)
    }

    /// Compares the file with the announced version.
    ///
    /// # Errors
    ///
    /// [`FileChanged`] (as `InvalidData`) if it is another version, or the system's error.
    pub fn check(&self) -> io::Result<()> {
        match self.version {
            Some(promised) if !FileVersion::of(&self.file.metadata()?).has_content_of(&promised) => {
                Err(FileChanged.into())
            }
            _ => Ok(()),
        }
    }
}

/// The version of a file: the kernel updates the times before it changes the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileVersion {
    /// Device and inode: another file under the same name.
    pub identity: (u64, u64),
    /// Length in bytes.
    pub length: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified: i128,
    /// Last change of content or attributes, in nanoseconds since 1970; no program can set it back.
    pub changed: i128,
}

impl FileVersion {
    /// The version that this metadata describes.
    #[must_use]
    #[cfg(unix)]
    pub fn of(metadata: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
        Self {
            identity: (metadata.dev(), metadata.ino()),
            length: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    #[cfg(not(unix))]
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self { identity: (0, 0), length: metadata.len(), modified: 0, changed: 0 }
    }
}

impl FileVersion {
    /// Whether the content is the same, as far as the kernel reports. A file that was renamed, linked or given other
    /// permissions has [changed](Self::changed), but not its content: a response in progress is completed.
    #[must_use]
    pub fn has_content_of(&self, other: &Self) -> bool {
        Self { changed: other.changed, ..*self } == *other
    }
}

/// A file was changed while it was being sent: the response cannot be finished as one version.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FileChanged;

// As its message: `fn main() -> Result<…>` prints an error so.
impl core::fmt::Debug for FileChanged {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, formatter)
    }
}

impl core::fmt::Display for FileChanged {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        formatter.write_str("the file was changed while it was being sent")
    }
}

impl core::error::Error for FileChanged {}

impl From<FileChanged> for io::Error {
    fn from(changed: FileChanged) -> Self {
        Self::new(io::ErrorKind::InvalidData, changed)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    fn scratch(name: &str, content: &[u8]) -> PathBuf {
        let path = std::env::temp_dir().join(std::format!("serow-message-{}-{name}", std::process::id()));
        fs::write(&path, content).unwrap();
        path
    }

    fn range(path: &PathBuf) -> FileRange {
        let file = File::open(path).unwrap();
        let metadata = file.metadata().unwrap();
        let version = Some(FileVersion::of(&metadata));
        FileRange { file: Arc::new(file), offset: 0, length: metadata.len(), version }
    }

    #[test]
    fn a_range_is_read_in_pieces() {
        let path = scratch("pieces", b"0123456789");
        let mut range = range(&path);
        range.offset = 2;
        range.length = 7;
        // The kernel may return fewer bytes than requested, as Miri does.
        let mut content = Vec::new();
        while range.length > 0 {
            let piece = range.read(4).unwrap();
            assert!((1..=4).contains(&piece.len()), "{piece:?}");
            content.extend_from_slice(&piece);
        }
        assert_eq!(content, b"2345678");
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_file_that_is_removed_meanwhile_is_sent_to_its_end() {
        let path = scratch("removed", b"0123456789");
        let mut range = range(&path);
        fs::remove_file(path).unwrap();
        assert_eq!(range.read(100).unwrap(), "0123456789");
    }

    #[test]
    fn a_changed_or_shortened_file_is_noticed() {
        let path = scratch("changed", b"0123456789");
        let mut range = range(&path);
        fs::write(&path, b"01234").unwrap();
        let error = range.read(100).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        range.version = None;
        range.offset = 5;
        assert!(range.read(100).is_err());
        fs::remove_file(path).unwrap();
    }
}
