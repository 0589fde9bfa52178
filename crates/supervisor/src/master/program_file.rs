//! The file of a program, to notice that another version has taken its place.

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// The identity of a program's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProgramFile {
    device: u64,
    inode: u64,
    /// The time of the last change, in seconds and nanoseconds.
    modified: (i64, i64),
    length: u64,
}

impl ProgramFile {
    /// The file at this path, or where its links lead; `None` if there is none.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let modified = (file.mtime(), file.mtime_nsec());
        Some(Self { device: file.dev(), inode: file.ino(), modified, length: file.len() })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn another_file_in_its_place_or_behind_its_link_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("old"), "same").unwrap();
        fs::write(path("new"), "same").unwrap();
        symlink("old", path("link")).unwrap();
        let before = ProgramFile::at(&path("link"));
        assert!(before.is_some());
        assert_eq!((before, ProgramFile::at(&path("link"))), (ProgramFile::at(&path("old")), before));
        fs::remove_file(path("link")).unwrap();
        assert_eq!(ProgramFile::at(&path("link")), None);
        symlink("new", path("link")).unwrap();
        assert_ne!(ProgramFile::at(&path("link")), before);
        fs::rename(path("new"), path("old")).unwrap();
        assert_ne!(ProgramFile::at(&path("old")), before);
        let before = ProgramFile::at(&path("old"));
        fs::write(path("old"), "written again").unwrap();
        assert_ne!(ProgramFile::at(&path("old")), before);
    }
}
