//! Served folders, and whether the user that the server runs as may read them.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Access, AtFlags, CWD, accessat},
    process::geteuid,
};

/// A folder that is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFolder {
    /// The folder.
    pub path: PathBuf,
    /// Whether its files are listed, for which it has to be read, not only entered.
    pub is_listed: bool,
}

/// A folder that this process, as it is, may not use: all requests below it get 403.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableFolder {
    folder: PathBuf,
    /// The folder itself, or one above it.
    obstacle: PathBuf,
    wanted: Wanted,
    user: u32,
}

/// What a user has to be allowed to do with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Enter,
    List,
}

impl ServedFolder {
    /// What keeps the effective user of this process from it; nothing where that may read it.
    pub fn unreadable(&self) -> Option<UnreadableFolder> {
        // Where this fails, the folder is gone, which others report.
        let path = std::path::absolute(&self.path).ok()?;
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.reverse();
        let closed = above.into_iter().find(|folder| !may(folder, Access::EXEC_OK));
        let closed = closed.map(|folder| (folder, Wanted::Enter));
        let unlisted = (self.is_listed && !may(&path, Access::READ_OK)).then_some((path.as_path(), Wanted::List));
        let (obstacle, wanted) = closed.or(unlisted)?;
        let (folder, obstacle) = (self.path.clone(), obstacle.to_owned());
        Some(UnreadableFolder { folder, obstacle, wanted, user: geteuid().as_raw() })
    }
}

/// Whether the effective user may do this. A missing file is not a matter of permissions.
fn may(path: &Path, access: Access) -> bool {
    use rustix::io::Errno;
    !matches!(accessat(CWD, path, access, AtFlags::EACCESS), Err(Errno::ACCESS | Errno::PERM))
}

impl fmt::Display for UnreadableFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { folder, obstacle, wanted, user } = self;
        let (folder, obstacle) = (folder.display(), obstacle.display());
        match wanted {
            Wanted::Enter => write!(
                f,
                "uid {user} may not enter {obstacle}, so all requests for files in {folder} get 403: allow it, as with \
                 chmod o+x {obstacle}"
            ),
            Wanted::List => write!(
                f,
                "uid {user} may not list {folder}, so requests for the folder itself get 403: allow it, as with chmod o+r \
                 {obstacle}, or write listing = false"
            ),
        }
    }
}
