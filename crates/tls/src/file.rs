//! Files that are reloaded when they change.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::TlsSettingsError;

/// The identity and state of a file, which distinguish it from its predecessor at the same path, and from itself before
/// a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// Also changes when a file with an old modification time is put in place (`cp -p`).
    changed: (i64, i64),
    mode: u32,
}

impl FileVersion {
    /// The current version; none where there is no file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }

    /// Whether it is so new that another change could leave the same times, whose resolution is limited.
    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or(0);
        now.duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).is_ok_and(|age| age < FRESH)
    }

    /// Whether users who are neither its owner nor in its group may read or write it.
    pub(crate) fn is_open_to_others(&self) -> bool {
        self.mode & 0o006 != 0
    }
}

impl From<&Metadata> for FileVersion {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            mode: metadata.mode(),
        }
    }
}

/// Reads a file, and its version before the read, so that a later check notices a change during it.
pub(crate) fn read(path: &Path) -> Result<(FileVersion, Vec<u8>), TlsSettingsError> {
    read_up_to(path, MAX_LENGTH)
}

/// As [`read`], with another limit of its length.
pub(crate) fn read_up_to(path: &Path, max_length: u64) -> Result<(FileVersion, Vec<u8>), TlsSettingsError> {
    let unreadable = |error| TlsSettingsError::Read(path.to_owned(), error);
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let mut content = Vec::new();
    file.take(max_length + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > max_length {
        return Err(TlsSettingsError::TooLarge(path.to_owned()));
    }
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(TlsSettingsError::Empty(path.to_owned()));
    }
    Ok((FileVersion::from(&metadata), content))
}

/// More than any certificate chain, and less than what would delay a handshake. All authorities that browsers trust are
/// 220 KB.
const MAX_LENGTH: u64 = 1 << 20;

/// Ticks are 1 to 10 ms long; some file systems have whole seconds, FAT has two.
const FRESH: Duration = Duration::from_secs(3);
