//! Reading a folder, a few entries at a time.

use std::{io, os::fd::OwnedFd};

use rustix::fs::{Dir, FileType, Stat};

use crate::{request_path::Hidden, root::Root, settings::FilesSettings, withheld::Withheld};

/// A folder to be listed.
pub(crate) struct Listed {
    pub(crate) root: Root,
    /// Where it lies below the root.
    pub(crate) path: Vec<u8>,
    pub(crate) folder: OwnedFd,
}

/// A file or folder in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) is_folder: bool,
    /// In bytes; 0 for a folder.
    pub(super) size: u64,
    /// In seconds since 1970.
    pub(super) modified: i64,
}

/// A folder being read. Only what would be served is taken: files and folders, and links to them within the root.
pub(super) struct Reader {
    root: Root,
    path: Vec<u8>,
    folder: Dir,
    hidden: Hidden,
    withheld: Withheld,
    limit: usize,
    entries: Vec<Entry>,
    /// Whether there were more than the limit.
    is_cut: bool,
}

impl Reader {
    pub(super) fn new(listed: Listed, settings: &FilesSettings) -> io::Result<Self> {
        Ok(Self {
            root: listed.root,
            path: listed.path,
            folder: Dir::new(listed.folder)?,
            hidden: settings.hidden,
            withheld: Withheld::of(settings),
            limit: settings.listing_limit,
            entries: Vec::new(),
            is_cut: false,
        })
    }

    /// Reads at most so many entries further; says whether that was all.
    pub(super) fn read(&mut self, count: usize) -> io::Result<bool> {
        for _ in 0..count {
            let Some(entry) = self.folder.read() else {
                return Ok(true);
            };
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || !self.hidden.allows(name) || name.contains(&b'\\') {
                continue;
            }
            let Some(stat) = self.root.describe(self.folder.fd()?, &self.path, name) else { continue };
            let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
            if !is_folder && self.withheld.contains(name) {
                continue;
            }
            if self.entries.len() == self.limit {
                self.is_cut = true;
                return Ok(true);
            }
            self.entries.push(Entry::new(name, &stat));
        }
        Ok(false)
    }

    /// Returns the entries that were read, and whether there were more.
    pub(super) fn finish(&mut self) -> (Vec<Entry>, bool) {
        (std::mem::take(&mut self.entries), self.is_cut)
    }
}

impl Entry {
    // The types of these fields differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn new(name: &[u8], stat: &Stat) -> Self {
        let is_folder = FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Self {
            name: name.to_vec(),
            is_folder,
            size: if is_folder { 0 } else { u64::try_from(stat.st_size).unwrap_or(0) },
            modified: stat.st_mtime as i64,
        }
    }
}
