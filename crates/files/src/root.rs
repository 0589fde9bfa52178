//! The folder that is served, and opening what lies beneath it.
//!
//! The kernel keeps every path within the folder (`openat2` with `RESOLVE_BENEATH`): a symbolic link that leaves it, or
//! a folder that is moved away while a path is walked, is refused where no check of strings could see it. Only where the
//! settings say so, links may leave the folder.

use std::{
    ffi::OsStr,
    fs::File,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::{
    fs::{self, AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat},
    io::Errno,
};
use serow_message::FileVersion;

use crate::{error::FilesError, owned_links, unopened};

/// The rule for symbolic links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Symlinks {
    /// They are followed as long as they stay within the folder. One with an absolute target leaves it, whatever the
    /// target.
    #[default]
    WithinRoot,
    /// Paths with a symbolic link in them answer 404.
    Refuse,
    /// They are followed wherever they lead, if the link and its target have the same owner: a user who may create
    /// links in the folder cannot publish files of others.
    SameOwner,
    /// They are followed wherever they lead.
    All,
}

/// An open folder, beneath which everything served lies. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Root {
    folder: Arc<Folder>,
    symlinks: Symlinks,
    walk: Walk,
}

/// The folder itself.
#[derive(Debug)]
struct Folder {
    descriptor: OwnedFd,
    /// As it was opened, for messages.
    path: PathBuf,
}

/// How paths are kept within the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// By `openat2`, Linux 5.6 and later.
    Kernel,
    /// Name by name, following no symbolic link at all: for kernels and sandboxes without `openat2`. Stricter than need
    /// be, but as safe.
    ByName,
}

/// A file or folder that was opened.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(OpenFile),
    /// A folder.
    Folder(OwnedFd),
}

/// A file or folder that was found, open for nothing but a look at it (`O_PATH`).
#[derive(Debug)]
pub enum Located {
    /// A regular file.
    File(OwnedFd),
    /// A folder.
    Folder(OwnedFd),
}

/// A regular file, and what it was when it was opened.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// Its version.
    pub version: FileVersion,
}

/// Why nothing was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// There is nothing that may be served (404): no such name, a device or socket.
    NotFound,
    /// A symbolic link that is not followed, or a path that leaves the root (404).
    Link,
    /// The server's user may not read it (403).
    Forbidden,
    /// No descriptors or memory are left for the moment (503).
    Exhausted,
    /// The disk or the file system fails (500).
    Failed,
}

impl Root {
    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// If it does not exist, is not a folder, or must not be entered.
    pub fn open(path: &Path, symlinks: Symlinks) -> Result<Self, FilesError> {
        let folder = fs::open(path, FOLDER_FLAGS, Mode::empty()).map_err(|error| explained(path, error))?;
        let walk = if has_openat2(&folder) { Walk::Kernel } else { Walk::ByName };
        Ok(Self { folder: Arc::new(Folder { descriptor: folder, path: path.to_owned() }), symlinks, walk })
    }

    /// The same folder, with links treated so.
    pub(crate) fn with(self, symlinks: Symlinks) -> Self {
        Self { symlinks, ..self }
    }

    /// Opens a file or folder below the root, for reading. The path has no empty name, no `.` and no `..`; an empty
    /// path is the root itself.
    ///
    /// # Errors
    ///
    /// Why there is nothing to read; the log says more of files that exist.
    pub fn open_below(&self, path: &[u8]) -> Result<Opened, OpenError> {
        let descriptor = self.open_descriptor(path, READ_FLAGS).map_err(|errno| {
            let error = OpenError::of(errno);
            if !error.is_missing() {
                unopened::log(&self.folder.path, path, errno);
            }
            error
        })?;
        let file = File::from(descriptor);
        let metadata = file.metadata().map_err(|_| OpenError::Failed)?;
        if metadata.is_file() {
            Ok(Opened::File(OpenFile { version: FileVersion::of(&metadata), file }))
        } else if metadata.is_dir() {
            Ok(Opened::Folder(file.into()))
        } else {
            Err(OpenError::NotFound)
        }
    }

    /// Finds what a path leads to, without the right to read it; the path as for [`Self::open_below`]. `None` where there
    /// is neither a file nor a folder that may be served.
    #[must_use]
    pub fn locate(&self, path: &[u8]) -> Option<Located> {
        let descriptor = self.open_descriptor(path, OFlags::PATH | OFlags::CLOEXEC).ok()?;
        let kind = FileType::from_raw_mode(fs::fstat(&descriptor).ok()?.st_mode);
        match kind {
            FileType::RegularFile => Some(Located::File(descriptor)),
            FileType::Directory => Some(Located::Folder(descriptor)),
            _ => None,
        }
    }

    /// The path of the folder without symbolic links.
    #[must_use]
    pub fn real_path(&self) -> Vec<u8> {
        real_path(&self.folder.descriptor).unwrap_or_else(|| self.folder.path.as_os_str().as_bytes().to_vec())
    }

    /// Opens a folder below the root, to be passed through or changed (`O_PATH`); the path as for [`Self::open_below`].
    ///
    /// # Errors
    ///
    /// As for [`Self::open_below`]; a file that is not a folder is not found.
    pub fn open_folder(&self, path: &[u8]) -> Result<OwnedFd, OpenError> {
        self.open_descriptor(path, FOLDER_FLAGS).map_err(OpenError::of)
    }

    /// Returns the file system's data about a name within an open folder that lies at `folder_path` below the root;
    /// `None` for a name that [`Self::open_below`] would refuse as not_found.
    pub fn describe(&self, folder: impl AsFd, folder_path: &[u8], name: &[u8]) -> Option<Stat> {
        let stat = fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let described = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                fs::fstat(self.open_descriptor(&below(folder_path, name), OFlags::PATH | OFlags::CLOEXEC).ok()?).ok()?
            }
            _ => stat,
        };
        matches!(FileType::from_raw_mode(described.st_mode), FileType::RegularFile | FileType::Directory)
            .then_some(described)
    }

    pub(crate) fn open_descriptor(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        match (self.symlinks, self.walk) {
            (Symlinks::SameOwner, _) => owned_links::open(&self.folder.descriptor, path, flags),
            (_, Walk::Kernel) => self.open_by_kernel(path, flags),
            (Symlinks::All, Walk::ByName) => {
                rustix::io::retry_on_intr(|| fs::openat(&self.folder.descriptor, path, flags, Mode::empty()))
            }
            (Symlinks::WithinRoot | Symlinks::Refuse, Walk::ByName) => self.open_by_name(path, flags),
        }
    }

    /// Which links are followed in it.
    pub(crate) fn symlinks(&self) -> Symlinks {
        self.symlinks
    }

    /// The path of a name below it, for messages.
    pub(crate) fn shown(&self, path: &[u8]) -> PathBuf {
        self.folder.path.join(OsStr::from_bytes(path))
    }

    fn open_by_kernel(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let links = match self.symlinks {
            Symlinks::All => ResolveFlags::empty(),
            Symlinks::Refuse => ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS,
            Symlinks::WithinRoot | Symlinks::SameOwner => ResolveFlags::BENEATH,
        };
        let resolve = links | ResolveFlags::NO_MAGICLINKS;
        let mut tries = AGAIN_TRIES;
        loop {
            match fs::openat2(&self.folder.descriptor, path, flags, Mode::empty(), resolve) {
                Err(Errno::INTR) => {}
                // openat2(2): a rename somewhere in the system while `..` of a link was walked; ask again.
                Err(Errno::AGAIN) if tries > 0 => tries -= 1,
                opened => return opened,
            }
        }
    }

    fn open_by_name(&self, path: &[u8], flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let open = |folder: &OwnedFd, name: &[u8], flags| {
            rustix::io::retry_on_intr(|| fs::openat(folder, name, flags | OFlags::NOFOLLOW, Mode::empty()))
        };
        let Some(slash) = path.iter().rposition(|&byte| byte == b'/') else {
            return open(&self.folder.descriptor, path, flags);
        };
        let mut names = path[..slash].split(|&byte| byte == b'/');
        let first = names.next().unwrap_or_default();
        let mut folder = open(&self.folder.descriptor, first, FOLDER_FLAGS)?;
        for name in names {
            folder = open(&folder, name, FOLDER_FLAGS)?;
        }
        open(&folder, &path[slash + 1..], flags)
    }
}

impl OpenError {
    /// Whether the client receives 404.
    pub fn is_missing(self) -> bool {
        matches!(self, Self::NotFound | Self::Link)
    }

    pub(crate) fn of(errno: Errno) -> Self {
        match errno {
            // EXDEV: the path leaves the root. ELOOP: a refused or circular link.
            Errno::LOOP | Errno::XDEV => Self::Link,
            // ENXIO, ENODEV: a socket or a device without driver. ESTALE: it went away on a network file system. EINVAL:
            // a name this file system cannot have.
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::NAMETOOLONG
            | Errno::NXIO
            | Errno::NODEV
            | Errno::STALE
            | Errno::INVAL
            | Errno::ILSEQ => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::Forbidden,
            Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN => Self::Exhausted,
            _ => Self::Failed,
        }
    }
}

/// The path of an open file or folder, without symbolic links; `None` without /proc, or where it has been removed.
#[must_use]
pub fn real_path(descriptor: impl AsFd) -> Option<Vec<u8>> {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", descriptor.as_fd().as_raw_fd());
    let path = fs::readlink(link, Vec::new()).ok()?.into_bytes();
    (path.first() == Some(&b'/') && !path.ends_with(REMOVED)).then_some(path)
}

/// The kernel's mark behind the path of a file that has been removed.
const REMOVED: &[u8] = b" (deleted)";

/// The path of a name in a folder; the folder's path is empty for the root.
#[must_use]
pub fn below(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Old kernels lack `openat2` (ENOSYS), and so do sandboxes whose list of system calls is older than it (EPERM).
fn has_openat2(folder: &OwnedFd) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let opened = fs::openat2(folder, ".", flags, Mode::empty(), ResolveFlags::BENEATH);
    !matches!(opened, Err(Errno::NOSYS | Errno::PERM))
}

fn explained(path: &Path, error: Errno) -> FilesError {
    let path = PathBuf::from(path);
    match error {
        Errno::NOENT => FilesError::Missing(path),
        Errno::NOTDIR => FilesError::NotAFolder(path),
        error => FilesError::Unreadable(path, error.into()),
    }
}

/// To pass through a folder needs only search permission, which `O_PATH` asks for.
pub(crate) const FOLDER_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// `O_NONBLOCK`: opening a FIFO must not wait for a writer that never comes. `O_NOCTTY`: nor may a terminal become ours.
const READ_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// Renames happen, but not this often while one short path is walked; beyond, the client asks again (503).
const AGAIN_TRIES: usize = 8;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// A folder with a file of each kind, beside one that must not be reached.
    fn playground() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        std::fs::create_dir_all(root.join("folder/inner")).unwrap();
        std::fs::write(place.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("file"), "file").unwrap();
        std::fs::write(root.join("folder/inner/deep"), "deep").unwrap();
        for (target, link) in [
            ("file", "to-file"),
            ("folder", "to-folder"),
            ("../secret", "to-secret"),
            ("../../root/file", "folder/out-and-in"),
            ("../file", "folder/up"),
            ("/etc/passwd", "absolute"),
            ("..", "parent"),
            ("circle", "circle"),
            ("nowhere", "dangling"),
            ("/proc/self/root/etc/passwd", "magic"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        place
    }

    /// Opens a path and names its type; a link that is not followed is the same to clients as a missing file.
    fn open(root: &Root, path: &str) -> Result<&'static str, OpenError> {
        let found = root.open_below(path.as_bytes()).map(|opened| match opened {
            Opened::File(_) => "file",
            Opened::Folder(_) => "folder",
        });
        found.map_err(|error| if error.is_missing() { OpenError::NotFound } else { error })
    }

    #[test]
    fn paths_stay_within_the_root() {
        let place = playground();
        let path = place.path().join("root");
        let within = Root::open(&path, Symlinks::WithinRoot).unwrap();
        let none = Root::open(&path, Symlinks::Refuse).unwrap();
        let by_name = Root { walk: Walk::ByName, ..within.clone() };
        let not_found = Err(OpenError::NotFound);
        let long = "x".repeat(300);
        // Path; with links within the root; without links, by the kernel and name by name.
        let cases = [
            ("", Ok("folder"), Ok("folder")),
            ("file", Ok("file"), Ok("file")),
            ("folder", Ok("folder"), Ok("folder")),
            ("folder/inner/deep", Ok("file"), Ok("file")),
            ("file/deep", not_found, not_found),
            ("nothing", not_found, not_found),
            ("to-file", Ok("file"), not_found),
            ("to-folder/inner/deep", Ok("file"), not_found),
            ("folder/up", Ok("file"), not_found),
            ("folder/out-and-in", not_found, not_found),
            ("to-secret", not_found, not_found),
            ("absolute", not_found, not_found),
            ("parent", not_found, not_found),
            ("parent/secret", not_found, not_found),
            ("circle", not_found, not_found),
            ("dangling", not_found, not_found),
            ("magic", not_found, not_found),
            ("fifo", not_found, not_found),
            ("socket", not_found, not_found),
            (&long, not_found, not_found),
        ];
        for (path, with_links, without) in cases {
            assert_eq!(open(&within, path), with_links, "{path}");
            assert_eq!(open(&none, path), without, "{path} without links");
            assert_eq!(open(&by_name, path), without, "{path} by name");
        }
        for (root, path, expected) in [
            (&within, "to-secret", OpenError::Link),
            (&within, "parent/secret", OpenError::Link),
            (&within, "dangling", OpenError::NotFound),
            (&within, "socket", OpenError::NotFound),
            (&none, "to-file", OpenError::Link),
        ] {
            assert_eq!(root.open_below(path.as_bytes()).err(), Some(expected), "{path}");
        }
        // The kernel, too, refuses paths that the first fence keeps away.
        assert_eq!(open(&within, "../secret"), not_found);
        assert_eq!(open(&within, "/etc/passwd"), not_found);
    }

    #[test]
    fn links_leave_the_root_where_the_settings_say_so() {
        let place = playground();
        let path = place.path().join("root");
        let all = Root::open(&path, Symlinks::All).unwrap();
        let all_by_name = Root { walk: Walk::ByName, ..all.clone() };
        let owned = Root::open(&path, Symlinks::SameOwner).unwrap();
        let not_found = Err(OpenError::NotFound);
        let is_root = rustix::process::geteuid().is_root();
        for (path, expected) in [
            ("", Ok("folder")),
            ("file", Ok("file")),
            ("folder/inner/deep", Ok("file")),
            ("to-file", Ok("file")),
            ("to-folder", Ok("folder")),
            ("to-folder/inner/deep", Ok("file")),
            ("folder/up", Ok("file")),
            ("folder/out-and-in", Ok("file")),
            ("to-secret", Ok("file")),
            ("parent/secret", Ok("file")),
            ("parent/root/folder/inner", Ok("folder")),
            ("file/deep", not_found),
            ("to-file/deep", not_found),
            ("circle", not_found),
            ("dangling", not_found),
            ("nothing", not_found),
            ("fifo", not_found),
            ("socket", not_found),
        ] {
            assert_eq!(open(&all, path), expected, "{path} with all links");
            assert_eq!(open(&all_by_name, path), expected, "{path} with all links by name");
            assert_eq!(open(&owned, path), expected, "{path} with links of the same owner");
        }
        assert_eq!(open(&all, "absolute"), Ok("file"));
        assert_eq!(open(&all, "magic"), not_found, "a magic link");
        // /etc/passwd is root's.
        assert_eq!(open(&owned, "absolute"), if is_root { Ok("file") } else { not_found });
    }

    #[test]
    fn unreadable_files_are_forbidden() {
        if rustix::process::geteuid().is_root() {
            return;
        }
        let place = playground();
        let path = place.path().join("root");
        std::fs::set_permissions(path.join("file"), std::fs::Permissions::from_mode(0o000)).unwrap();
        let root = Root::open(&path, Symlinks::WithinRoot).unwrap();
        assert_eq!(open(&root, "file"), Err(OpenError::Forbidden));
    }

    #[test]
    fn a_root_that_is_none_is_explained() {
        let place = playground();
        let open = |name: &str| Root::open(&place.path().join(name), Symlinks::WithinRoot).unwrap_err();
        assert!(matches!(open("nothing"), FilesError::Missing(_)));
        assert!(matches!(open("secret"), FilesError::NotAFolder(_)));
        assert!(open("nothing").to_string().contains("create it"));
    }

    #[test]
    fn links_that_leave_the_root_have_no_description() {
        let place = playground();
        let root = Root::open(&place.path().join("root"), Symlinks::WithinRoot).unwrap();
        let Ok(Opened::Folder(folder)) = root.open_below(b"") else { panic!("no folder") };
        let cases = [
            ("file", true),
            ("folder", true),
            ("to-file", true),
            ("to-secret", false),
            ("absolute", false),
            ("dangling", false),
            ("fifo", false),
            ("socket", false),
            ("nothing", false),
        ];
        for (name, described) in cases {
            assert_eq!(root.describe(&folder, b"", name.as_bytes()).is_some(), described, "{name}");
        }
    }
}
