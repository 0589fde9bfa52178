//! Files that are read anew when they change.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, SystemTime},
};

use crate::TlsSettingsError;

/// By what a file is told from the one that was there before, and from itself before a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    /// Also moves when a file is put in place with an old time of change (`cp -p`).
    changed: (i64, i64),
}

impl FileVersion {
    /// The version that is there now; none where there is no file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::from(&metadata))
    }

    /// Whether it is so new that another change could leave the same times: file systems count in ticks.
    pub(crate) fn is_fresh(&self, now: SystemTime) -> bool {
        let seconds = u64::try_from(self.changed.0).unwrap_or(0);
        now.duration_since(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).is_ok_and(|age| age < FRESH)
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
        }
    }
}

/// Reads a file, and says which version it was before it was read: a change meanwhile is seen as one.
pub(crate) fn read(path: &Path) -> Result<(FileVersion, Vec<u8>), TlsSettingsError> {
    let unreadable = |error| TlsSettingsError::Read(path.to_owned(), error);
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let mut content = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut content).map_err(unreadable)?;
    if content.len() as u64 > LARGEST {
        return Err(TlsSettingsError::TooLarge(path.to_owned()));
    }
    if content.iter().all(u8::is_ascii_whitespace) {
        return Err(TlsSettingsError::Empty(path.to_owned()));
    }
    Ok((FileVersion::from(&metadata), content))
}

/// Above all certificates' chains, and below what would hold a handshake up. The authorities of all browsers together have
/// 220 KB.
const LARGEST: u64 = 1 << 20;

/// Ticks are 1 to 10 ms long; some file systems have whole seconds, FAT has two.
const FRESH: Duration = Duration::from_secs(3);
