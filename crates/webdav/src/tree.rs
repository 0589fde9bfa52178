//! Folders with all that is in them: looking through, copying, removing.
//!
//! Names are opened one by one in open folders, and no symbolic link is followed, so that nothing outside the folder is
//! reached whatever others move meanwhile. All of this blocks, and runs on a thread for that.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use serow_files::{Opened, Root, UPLOAD_PREFIX, below};

use crate::{
    dead_properties,
    member::Kind,
    quota::{Reservation, length},
    refusal::Refusal,
    writable_folder::WritableFolder,
};

/// How much a request may still do.
#[derive(Debug)]
pub(crate) struct Budget {
    entries: usize,
    depth: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { entries: MAX_ENTRIES, depth: MAX_DEPTH }
    }
}

impl Budget {
    fn spend_entry(&mut self) -> Result<(), Refusal> {
        self.entries = self.entries.checked_sub(1).ok_or_else(|| {
            Refusal::forbidden("the folder has more than 100000 entries: do it in parts, or on the server")
        })?;
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Refusal> {
        let deeper = self.depth.checked_sub(1);
        self.depth = deeper.ok_or_else(|| {
            Refusal::forbidden("the folder has more than 64 levels: do it in parts, or on the server")
        })?;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth += 1;
    }
}

/// Opens a folder in a folder, to list it.
///
/// # Errors
///
/// The file system's; that of a symbolic link is [`Errno::LOOP`] or [`Errno::NOTDIR`].
pub(crate) fn open_folder(folder: impl AsFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    fs::openat(folder, name, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty())
}

/// How a survey treats names that are not served, which a client does not know of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unserved {
    /// They go with the folder.
    Allowed,
    /// The folder stays because of them.
    Refused,
}

/// Makes sure that all that is in a folder can be changed: it must not be too large, and nothing in it may be another
/// route's, at any of these paths of the folder.
///
/// # Errors
///
/// Why it cannot.
pub(crate) fn survey(
    shared: &WritableFolder,
    folder: &OwnedFd,
    paths: &[Vec<u8>],
    unserved: Unserved,
    budget: &mut Budget,
) -> Result<(), Refusal> {
    let hidden = shared.folder.hidden();
    budget.enter()?;
    for entry in entries(folder)? {
        let (name, kind) = entry?;
        budget.spend_entry()?;
        if unserved == Unserved::Refused && !hidden.allows(&name) && !name.starts_with(UPLOAD_PREFIX.as_bytes()) {
            return Err(Refusal::forbidden("it contains files that are not served: remove them on the server"));
        }
        let paths: Vec<_> = paths.iter().map(|path| below(path, &name)).collect();
        paths.iter().try_for_each(|path| shared.permit_path(path, kind))?;
        if kind == Kind::Folder {
            survey(shared, &open_folder(folder, &name)?, &paths, unserved, budget)?;
        }
    }
    budget.leave();
    Ok(())
}

/// The result of a removal.
#[derive(Debug, Default)]
pub(crate) struct Removal {
    /// The paths that could not be removed, and why.
    pub(crate) failures: Vec<(Vec<u8>, Errno)>,
    /// The bytes of the files that were removed, if they are counted.
    pub(crate) bytes: u64,
    /// Whether there is a quota, for which they are counted.
    pub(crate) is_counted: bool,
}

/// Removes a name and all that is below it, as far as possible. `path` is its path below the root.
pub(crate) fn remove(folder: impl AsFd, name: &[u8], kind: Kind, path: Vec<u8>, removal: &mut Removal) {
    let before = removal.failures.len();
    if kind == Kind::Folder {
        if let Err(errno) = remove_content(&folder, name, &path, removal) {
            removal.failures.push((path, errno));
            return;
        }
        // RFC 4918 §9.6.1: a folder that is not empty stays, which is not worth mentioning.
        if removal.failures.len() > before {
            return;
        }
    }
    let flags = if kind == Kind::Folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let bytes = match removal.is_counted && kind == Kind::File {
        true => fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_or(0, |stat| length(&stat)),
        false => 0,
    };
    match fs::unlinkat(folder, name, flags) {
        Ok(()) => removal.bytes = removal.bytes.saturating_add(bytes),
        Err(Errno::NOENT) => {}
        Err(errno) if removal.failures.len() < MAX_FAILURES => removal.failures.push((path, errno)),
        Err(_) => {}
    }
}

fn remove_content(folder: impl AsFd, name: &[u8], path: &[u8], removal: &mut Removal) -> rustix::io::Result<()> {
    let inner = open_folder(folder, name)?;
    // All names first: what is read after a removal is not specified (readdir(3)).
    let names: Vec<_> = entries(&inner)?.collect::<rustix::io::Result<_>>()?;
    for (name, kind) in names {
        remove(&inner, &name, kind, below(path, &name), removal);
    }
    Ok(())
}

/// A folder that is open, and its path below the root.
#[derive(Clone, Copy)]
pub(crate) struct OpenFolder<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) folder: &'a OwnedFd,
}

/// A COPY of a folder.
pub(crate) struct FolderCopy<'a> {
    pub(crate) shared: &'a WritableFolder,
    pub(crate) root: &'a Root,
    pub(crate) budget: Budget,
    pub(crate) reservation: &'a mut Reservation,
}

impl FolderCopy<'_> {
    /// Copies what clients see of a folder into another one, which is to be at the path of `to`. Symbolic links to files that are served are copied as files; other links, and what is not served,
    /// are left out.
    ///
    /// # Errors
    ///
    /// The folder is too large, a part of it is another route's here or there, or the file system fails.
    pub(crate) fn copy(&mut self, from: OpenFolder<'_>, to: OpenFolder<'_>) -> Result<(), Refusal> {
        self.budget.enter()?;
        dead_properties::copy(from.folder, to.folder);
        for entry in entries(from.folder)? {
            let (name, kind) = entry?;
            self.budget.spend_entry()?;
            if !self.shared.folder.hidden().allows(&name) {
                continue;
            }
            let (path, destination) = (below(from.path, &name), below(to.path, &name));
            match kind {
                Kind::Folder => {
                    self.permit(&path, &destination, kind)?;
                    fs::mkdirat(to.folder, name.as_slice(), NEW_FOLDER)?;
                    let (inner, new) = (open_folder(from.folder, &name)?, open_folder(to.folder, &name)?);
                    let inner = OpenFolder { path: &path, folder: &inner };
                    self.copy(inner, OpenFolder { path: &destination, folder: &new })?;
                }
                Kind::File | Kind::Link => {
                    if let Ok(Opened::File(source)) = self.root.open_below(&path) {
                        self.permit(&path, &destination, Kind::File)?;
                        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                        let target = fs::openat(to.folder, name.as_slice(), flags, Mode::from_raw_mode(0o666))?;
                        copy_file(&source.file, &File::from(target), self.reservation)?;
                    } else if kind == Kind::File {
                        return Err(Refusal::forbidden("it contains files that the server's user may not read"));
                    }
                }
                Kind::Special => {}
            }
        }
        self.budget.leave();
        Ok(())
    }

    /// Whether something may be read at one path and created at another.
    fn permit(&self, path: &[u8], destination: &[u8], kind: Kind) -> Result<(), Refusal> {
        if !self.shared.is_own(path, kind == Kind::Folder) {
            return Err(Refusal::of_another_route());
        }
        self.shared.permit_path(destination, kind)
    }
}

/// Copies content and properties.
///
/// # Errors
///
/// The file system's, and that the quota is reached.
pub(crate) fn copy_file(mut from: &File, mut to: &File, reservation: &mut Reservation) -> Result<(), Refusal> {
    // A file that grows meanwhile is not copied beyond what was reserved.
    let length = from.metadata()?.len();
    reservation.add(length)?;
    io::copy(&mut io::Read::take(&mut from, length), &mut to)?;
    dead_properties::copy(from, to);
    Ok(())
}

/// The entries of a folder, without `.` and `..`.
pub(crate) fn entries(
    folder: &OwnedFd,
) -> rustix::io::Result<impl Iterator<Item = rustix::io::Result<(Vec<u8>, Kind)>> + use<>> {
    let stat_folder = folder.try_clone().map_err(|_| Errno::MFILE)?;
    let entries = Dir::read_from(folder)?.map(move |entry| {
        let entry = entry?;
        let name = entry.file_name().to_bytes().to_vec();
        let file_type = match entry.file_type() {
            // Some file systems do not say.
            FileType::Unknown if name != b"." && name != b".." => {
                let stat = fs::statat(&stat_folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(stat.st_mode)
            }
            known => known,
        };
        Ok((name, Kind::of(file_type)))
    });
    Ok(entries.filter(|entry| !matches!(entry, Ok((name, _)) if name == b"." || name == b"..")))
}

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The mode of new folders, less the umask.
pub(crate) const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);

/// About a second of system calls. A client could otherwise occupy threads for hours.
const MAX_ENTRIES: usize = 100_000;

/// Each level keeps two folders open.
const MAX_DEPTH: usize = 64;

/// A response that names more is not read by anybody.
const MAX_FAILURES: usize = 100;
