//! Files that are not visible until they are complete.
//!
//! ```text
//!  open(O_TMPFILE) ── write … ──▶ linkat(name)                             a new name
//!                            └──▶ linkat(temporary name) ── renameat(name) a replaced file
//! ```
//!
//! The file has no name while it is written, so that nothing is left of it if the server is killed. File systems without
//! such files (NFS, FUSE) get a temporary name, which is never served. A temporary name can be left behind if the server
//! is killed between two system calls, or there; a DELETE of the folder removes it.
//!
//! Data is not synchronised with the disk: the kernel writes it within about half a minute, as after uploads to nginx and
//! Apache. A crash of the server loses nothing of it; a crash of the machine may lose uploads of that time.

use std::{
    fs::File,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    sync::Arc,
};

use rustix::{
    fs::{self, AtFlags, CWD, Mode, OFlags, RenameFlags},
    io::Errno,
};
use serow_files::UPLOAD_PREFIX;

/// A file that is written and not visible yet.
#[derive(Debug)]
pub(crate) struct Upload {
    file: Arc<File>,
    folder: OwnedFd,
    /// The temporary name, on file systems where a file needs one.
    name: Option<String>,
}

/// How an upload treats a file that has the name already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It is replaced.
    Replace,
    /// It stays: the new one is refused with [`Errno::EXIST`].
    Keep,
}

impl Upload {
    /// Creates a file in a folder.
    ///
    /// # Errors
    ///
    /// The file system's.
    pub(crate) fn create(folder: impl AsFd) -> rustix::io::Result<Self> {
        let folder = folder.as_fd().try_clone_to_owned().map_err(|_| Errno::MFILE)?;
        // It is read for its entity tag.
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        match fs::openat(&folder, ".", flags | OFlags::TMPFILE, NEW_FILE) {
            Ok(file) => Ok(Self { file: Arc::new(file.into()), folder, name: None }),
            // open(2): a file system without unnamed files, and an old kernel.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => Self::create_named(folder),
            Err(errno) => Err(errno),
        }
    }

    fn create_named(folder: OwnedFd) -> rustix::io::Result<Self> {
        let name = temporary_name()?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let file = fs::openat(&folder, name.as_str(), flags, NEW_FILE)?;
        Ok(Self { file: Arc::new(file.into()), folder, name: Some(name) })
    }

    /// The file, to be written.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Makes the file visible under this name, with these permissions if they are given.
    ///
    /// # Errors
    ///
    /// The file system's; the name is then what it was before.
    pub(crate) fn publish(
        mut self,
        name: &[u8],
        existing: Existing,
        mode: Option<Mode>,
    ) -> rustix::io::Result<Arc<File>> {
        let file = Arc::clone(&self.file);
        if let Some(mode) = mode {
            // Only its owner may; otherwise the file keeps the permissions of a new one.
            let _ = fs::fchmod(&file, mode);
        }
        match (&self.name, existing) {
            (None, Existing::Keep) => link(&file, &self.folder, name)?,
            (None, Existing::Replace) => {
                let temporary = temporary_name()?;
                link(&file, &self.folder, temporary.as_bytes())?;
                self.name = Some(temporary);
                self.rename(name, existing)?;
            }
            (Some(_), _) => self.rename(name, existing)?,
        }
        self.name = None;
        Ok(file)
    }

    fn rename(&self, name: &[u8], existing: Existing) -> rustix::io::Result<()> {
        let Some(temporary) = self.name.as_deref() else { return Ok(()) };
        rename(&self.folder, temporary.as_bytes(), &self.folder, name, existing)
    }
}

impl Drop for Upload {
    /// Removes what was not published. To free a large file takes long, for which the event loop has no time.
    fn drop(&mut self) {
        if let Some(name) = self.name.take() {
            let _ = fs::unlinkat(&self.folder, name, AtFlags::empty());
        }
        let file = Arc::clone(&self.file);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(file));
        }
    }
}

/// Renames something, within or between folders.
///
/// # Errors
///
/// [`Errno::EXIST`] if the name exists and is to be kept, and the file system's.
pub(crate) fn rename(
    from: impl AsFd,
    old: &[u8],
    to: impl AsFd,
    new: &[u8],
    existing: Existing,
) -> rustix::io::Result<()> {
    match existing {
        Existing::Replace => fs::renameat(from, old, to, new),
        Existing::Keep => match fs::renameat_with(&from, old, &to, new, RenameFlags::NOREPLACE) {
            // renameat2(2): the file system does not know the flag. A name that appears in between is replaced.
            Err(Errno::INVAL | Errno::NOSYS) if fs::statat(&to, new, AtFlags::SYMLINK_NOFOLLOW).is_err() => {
                fs::renameat(from, old, to, new)
            }
            Err(Errno::INVAL | Errno::NOSYS) => Err(Errno::EXIST),
            outcome => outcome,
        },
    }
}

/// Gives a file a name.
fn link(file: &File, folder: &OwnedFd, name: &[u8]) -> rustix::io::Result<()> {
    match fs::linkat(file, "", folder, name, AtFlags::EMPTY_PATH) {
        // open(2), AT_EMPTY_PATH: before Linux 6.10, only a privileged process can do this without /proc.
        Err(Errno::NOENT) => {
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            fs::linkat(CWD, path, folder, name, AtFlags::SYMLINK_FOLLOW)
        }
        outcome => outcome,
    }
}

/// An unpredictable name that is never served.
///
/// # Errors
///
/// There are no random numbers.
pub(crate) fn temporary_name() -> rustix::io::Result<String> {
    Ok(format!("{UPLOAD_PREFIX}{:032x}", random()?))
}

/// A random number.
pub(crate) fn random() -> rustix::io::Result<u128> {
    let mut bytes = [0; 16];
    let length = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if length == bytes.len() { Ok(u128::from_ne_bytes(bytes)) } else { Err(Errno::IO) }
}

/// The mode of new files, less the umask: users that serve the folder as well can read them.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);

#[cfg(test)]
mod tests {
    use std::{fs::read_to_string, io::Write, path::Path};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_visible_before_a_file_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let open = || OwnedFd::from(File::open(path).unwrap());
        let create = |folder: OwnedFd| Upload::create(folder);
        for create in [create, Upload::create_named] {
            let write = |text: &str| {
                let upload = create(open()).unwrap();
                upload.file().as_ref().write_all(text.as_bytes()).unwrap();
                assert!(names(path).iter().all(|name| name == "a" || name.starts_with(UPLOAD_PREFIX)));
                upload
            };
            drop(write("dropped"));
            assert_eq!(names(path), [""; 0]);
            write("one").publish(b"a", Existing::Keep, None).unwrap();
            assert_eq!(write("two").publish(b"a", Existing::Keep, None).err(), Some(Errno::EXIST));
            assert_eq!(
                (names(path), read_to_string(path.join("a")).unwrap()),
                (vec!["a".to_owned()], "one".to_owned())
            );
            write("three").publish(b"a", Existing::Replace, Some(Mode::from_raw_mode(0o640))).unwrap();
            assert_eq!(
                (names(path), read_to_string(path.join("a")).unwrap()),
                (vec!["a".to_owned()], "three".to_owned())
            );
            std::fs::remove_file(path.join("a")).unwrap();
            std::fs::create_dir(path.join("a")).unwrap();
            assert!(write("four").publish(b"a", Existing::Replace, None).is_err());
            assert_eq!(names(path), ["a"]);
            std::fs::remove_dir(path.join("a")).unwrap();
        }
    }
}
