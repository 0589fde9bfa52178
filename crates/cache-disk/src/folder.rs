//! The folder with the files.

use std::{
    fmt,
    fs::{self, DirBuilder, File},
    io::{self, ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, MetadataExt, chown},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use rustix::{
    fs::{AtFlags, Dir, Mode, OFlags, Timespec, Timestamps, futimens, open, openat, statat, unlinkat},
    io::Errno,
    process::geteuid,
};
use serow_cache::content_numbers_of;
use serow_net::time;

use crate::{disk_space::Reservation, file_name::FileName, spare_files::SpareFiles};

/// The folder with the files, open.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) directory: std::os::fd::OwnedFd,
    /// Files that are to be removed by the thread that writes, since a large one takes long; with the room that each takes
    /// until then, if it is not that of a file that is counted.
    pub(crate) discarded: Mutex<Vec<(FileName, Option<Arc<Reservation>>)>>,
    pub(crate) spares: SpareFiles,
}

/// A file that was looked at.
#[derive(Clone, Debug)]
pub(crate) struct FileEntry {
    pub(crate) name: FileName,
    /// Bytes that it takes on the disk, about.
    pub(crate) size: u64,
    /// When it was written or read last.
    pub(crate) used: SystemTime,
}

/// The files of a shard.
#[derive(Clone, Debug)]
pub(crate) struct ShardFiles {
    /// One for each key.
    pub(crate) records: Vec<FileEntry>,
    /// The contents in files of their own, each with the name of the record that should refer to it.
    pub(crate) contents: Vec<(FileName, FileEntry)>,
}

/// Why a folder cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// The system refuses it.
    System(PathBuf, io::Error),
    /// Others may write to it: they could put responses there.
    NotPrivate(PathBuf),
    /// It belongs to the user with this number, who may put responses there.
    NotOwn(PathBuf, u32),
    /// It is a link, and whoever may change that chooses the folder.
    Link(PathBuf),
    /// It has other files: it is not one of a cache.
    Foreign(PathBuf),
}

/// Creates the folder and those in it, for this user and group if there is one; checks that it may be used.
///
/// # Errors
///
/// Why it cannot be used.
pub fn prepare(path: &Path, owner: Option<(u32, Option<u32>)>) -> Result<(), FolderError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| FolderError::System(path, error)
    };
    let own = |path: &Path| match owner {
        Some((user, group)) => chown(path, Some(user), group).map_err(failed(path)),
        None => Ok(()),
    };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => own(path)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(path)(error)),
    }
    // Not what a link leads to: whoever may change the link would choose the folder.
    let metadata = fs::symlink_metadata(path).map_err(failed(path))?;
    if metadata.is_symlink() {
        return Err(FolderError::Link(path.to_owned()));
    }
    if !metadata.is_dir() {
        return Err(FolderError::System(path.to_owned(), Errno::NOTDIR.into()));
    }
    // Its owner decides about what is in it, whatever its mode. Root may do that anyway.
    let user = owner.map_or_else(|| geteuid().as_raw(), |(user, _)| user);
    if metadata.uid() != user && metadata.uid() != 0 {
        return Err(FolderError::NotOwn(path.to_owned(), metadata.uid()));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(FolderError::NotPrivate(path.to_owned()));
    }
    if !path.join(NEW).exists() {
        for entry in fs::read_dir(path).map_err(failed(path))? {
            // A file system of its own has this one.
            if entry.map_err(failed(path))?.file_name() != "lost+found" {
                return Err(FolderError::Foreign(path.to_owned()));
            }
        }
    }
    for name in std::iter::once(NEW.to_owned()).chain((0..SHARDS).map(|shard| format!("{shard:02x}"))) {
        let below = path.join(name);
        match DirBuilder::new().mode(0o700).create(&below) {
            Ok(()) => own(&below)?,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&below)(error)),
        }
    }
    Ok(())
}

impl Folder {
    /// Opens a folder that was prepared.
    pub(crate) fn open(path: &Path) -> Result<Self, FolderError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = open(path, flags, Mode::empty());
        let directory = directory.map_err(|error| FolderError::System(path.to_owned(), error.into()))?;
        Ok(Self { path: path.to_owned(), directory, discarded: Mutex::default(), spares: SpareFiles::default() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file of the folder itself, which is created if it is missing.
    pub(crate) fn state_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(openat(&self.directory, name, flags, FILE_MODE)?.into())
    }

    /// Returns the content of a file, or `None` if there is no such file. Marks it as used.
    pub(crate) fn read(&self, name: &FileName) -> io::Result<Option<Bytes>> {
        let mut file = match self.file(name) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() || metadata.len() > MAX_FILE {
            return Ok(None);
        }
        let mut content = Vec::with_capacity(metadata.len() as usize);
        file.read_to_end(&mut content)?;
        let used = metadata.modified().ok().and_then(|used| time::wall().duration_since(used).ok());
        if used.is_none_or(|used| used >= TOUCH_INTERVAL) {
            // Only the order of removals depends on it.
            let _ = futimens(&file, &NOW);
        }
        Ok(Some(content.into()))
    }

    /// The beginning of a file.
    pub(crate) fn beginning(&self, name: &FileName) -> io::Result<Vec<u8>> {
        self.first(name, BEGINNING)
    }

    fn first(&self, name: &FileName, bytes: u64) -> io::Result<Vec<u8>> {
        let mut beginning = Vec::new();
        self.file(name)?.take(bytes).read_to_end(&mut beginning)?;
        Ok(beginning)
    }

    /// Marks a file as used now.
    pub(crate) fn touch(&self, name: &FileName) -> io::Result<()> {
        Ok(futimens(self.file(name)?, &NOW)?)
    }

    /// The names of the contents in files that the file of this key refers to.
    pub(crate) fn contents_of(&self, name: &FileName) -> Vec<FileName> {
        let numbers = |bytes| content_numbers_of(&self.first(name, bytes).ok()?);
        // Few keys are so long that they need more than a block.
        numbers(BLOCK)
            .or_else(|| numbers(BEGINNING))
            .unwrap_or_default()
            .into_iter()
            .map(|number| name.with_number(number))
            .collect()
    }

    /// Opens a file to read it. The call does not wait for the other end of a pipe.
    pub(crate) fn file(&self, name: &FileName) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        openat(&self.directory, name.path(), flags, Mode::empty()).map(File::from)
    }

    /// Removes a file; whether there was one.
    pub(crate) fn remove(&self, name: &FileName) -> io::Result<bool> {
        match unlinkat(&self.directory, name.path(), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Bytes that a file takes; none if there is none.
    pub(crate) fn size(&self, name: &FileName) -> u64 {
        statat(&self.directory, name.path(), AtFlags::SYMLINK_NOFOLLOW)
            .map_or(0, |status| rounded(status.st_size as u64))
    }

    /// The files of a shard.
    pub(crate) fn shard(&self, shard: u8) -> io::Result<ShardFiles> {
        let mut records = Vec::new();
        let mut contents = Vec::new();
        for file in self.files(&format!("{shard:02x}"), shard)? {
            match file.name.of_record() {
                None => records.push(file),
                Some(record) => contents.push((record, file)),
            }
        }
        Ok(ShardFiles { records, contents })
    }

    pub(crate) fn files(&self, below: &str, shard: u8) -> io::Result<Vec<FileEntry>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let directory = openat(&self.directory, below, flags, Mode::empty())?;
        let mut files = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let name = FileName::of(format!("{below}/{}", entry?.file_name().to_string_lossy()), shard);
            let Ok(status) = statat(&self.directory, name.path(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if rustix::fs::FileType::from_raw_mode(status.st_mode).is_file() {
                let seconds = u64::try_from(status.st_mtime).unwrap_or(0);
                let used = SystemTime::UNIX_EPOCH + Duration::new(seconds, status.st_mtime_nsec as u32);
                files.push(FileEntry { name, size: rounded(status.st_size as u64), used });
            }
        }
        Ok(files)
    }
}

/// Bytes that a file of this length takes: whole blocks.
pub(crate) fn rounded(length: u64) -> u64 {
    length.div_ceil(BLOCK) * BLOCK
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(path, error) => write!(f, "{}: {error}", path.display()),
            Self::NotPrivate(path) => write!(
                f,
                "{}: others may write to the folder, and could put responses there; run: chmod go-w {0}",
                path.display()
            ),
            Self::NotOwn(path, user) => write!(
                f,
                "{}: the folder belongs to the user {user}, who could put responses there: name a new one, or make the user \
                 of the server its owner with chown",
                path.display()
            ),
            Self::Link(path) => write!(
                f,
                "{}: this is a link, and whoever may change it could put responses there: name the folder itself",
                path.display()
            ),
            Self::Foreign(path) => {
                write!(
                    f,
                    "{}: the folder has files that are not of a cache: name an empty or a new one",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(_, error) => Some(error),
            Self::NotPrivate(_) | Self::NotOwn(..) | Self::Link(_) | Self::Foreign(_) => None,
        }
    }
}

/// Where files are written.
pub(crate) const NEW: &str = "new";

/// Folders of files, by the first byte of their digests: 4,000 files each with a million.
pub(crate) const SHARDS: u16 = 256;

/// Readable to this user only: responses may be for some clients only.
pub(crate) const FILE_MODE: Mode = Mode::from_raw_mode(0o600);

/// Blocks of the usual file systems.
const BLOCK: u64 = 4096;

/// Larger files are nobody's: what is read is taken into memory.
const MAX_FILE: u64 = 1 << 30;

/// As much as the longest key needs: a target of 64 KiB, and additions.
const BEGINNING: u64 = 128 << 10;

/// How precise the order of removals is.
pub(crate) const TOUCH_INTERVAL: Duration = Duration::from_secs(600);

/// No file is left unwritten for so long while it arrives.
pub(crate) const UNFINISHED_AGE: Duration = Duration::from_secs(600);

/// The moment of the call.
pub(crate) const NOW: Timestamps = {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
};
