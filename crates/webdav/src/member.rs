//! A name in an open folder: what a request creates, replaces or removes.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{self, AtFlags, FileType, Mode, Stat},
    io::Errno,
};
use serow_files::{OpenError, Root};

use crate::{locks::parent_of, refusal::Refusal};

/// A name in an open folder.
#[derive(Debug)]
pub(crate) struct Member {
    /// The folder, into which no symbolic link led.
    pub(crate) folder: OwnedFd,
    /// The name.
    pub(crate) name: Vec<u8>,
}

/// The kind of file that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A symbolic link, which is not followed.
    Link,
    /// A device, socket or FIFO, which is not served.
    Special,
}

impl Member {
    /// Opens the folder around a path.
    ///
    /// # Errors
    ///
    /// The path of the root (403), or one whose folder does not exist (409).
    pub(crate) fn open(root: &Root, path: &[u8]) -> Result<Self, Refusal> {
        let Some(parent) = parent_of(path) else {
            return Err(Refusal::forbidden("this is the served folder itself"));
        };
        let folder = root.open_folder(parent).map_err(|error| match error {
            OpenError::NotFound | OpenError::Link => Refusal::no_parent(),
            error => error.into(),
        })?;
        let name = path[parent.len()..].strip_prefix(b"/").unwrap_or(&path[parent.len()..]);
        Ok(Self { folder, name: name.to_vec() })
    }

    /// The kind of the file; nothing if the name does not exist.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub(crate) fn kind(&self) -> Result<Option<Kind>, Refusal> {
        Ok(self.stat()?.map(|stat| Kind::of(FileType::from_raw_mode(stat.st_mode))))
    }

    /// The status of the file in the file system; nothing if the name does not exist.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, Refusal> {
        match fs::statat(&self.folder, self.name.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The permissions of the file that is there.
    pub(crate) fn mode(&self) -> Option<Mode> {
        let stat = self.stat().ok().flatten()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        is_file.then(|| Mode::from_raw_mode(stat.st_mode & 0o777))
    }
}

impl Kind {
    pub(crate) fn of(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}
