//! The served folders that are open: shared by all handlers and threads of the process, and limited in number, since a
//! server may have thousands of sites.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::RandomState;
use rustix::process::{Resource, getrlimit};

use crate::{
    error::FilesError,
    root::{Root, Symlinks},
};

/// How many served folders the process keeps open, where so many descriptors are allowed (`ulimit -n`). Beyond, the
/// folder that was not used for the longest is closed, and opened again for the next file that is not in memory.
#[must_use]
pub fn max_open_folders(descriptors: usize) -> usize {
    (descriptors / PART_OF_FOLDERS).clamp(1, MAX_OPEN_FOLDERS)
}

/// The folder at this path, opened again if it was not opened very recently. `now` is in milliseconds.
pub(crate) fn root(path: &Path, symlinks: Symlinks, now: u64) -> Result<Root, FilesError> {
    if let Some(root) = open().recent(path, now) {
        return Ok(root.with(symlinks));
    }
    // Without the lock, which others would wait for as long as a network file system takes.
    let root = match Root::open(path, symlinks) {
        Err(error) if error.is_exhaustion() => {
            open().close_others(path);
            match Root::open(path, symlinks) {
                // The folder still exists: the open descriptor stands for it until there are free ones again.
                Err(error) if error.is_exhaustion() => {
                    let known = open().any(path).map(|root| root.with(symlinks));
                    return known.ok_or(error);
                }
                opened => opened,
            }
        }
        opened => opened,
    };
    match root {
        Ok(root) => {
            open().keep(path, root.clone(), now);
            Ok(root)
        }
        Err(error) => {
            open().close(path);
            Err(error)
        }
    }
}

/// The open folders of the process.
fn open() -> MutexGuard<'static, OpenFolders> {
    static OPEN: LazyLock<Mutex<OpenFolders>> = LazyLock::new(|| {
        let descriptors = getrlimit(Resource::Nofile).current.and_then(|limit| usize::try_from(limit).ok());
        Mutex::new(OpenFolders::new(max_open_folders(descriptors.unwrap_or(usize::MAX))))
    });
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Open folders by path.
#[derive(Debug)]
struct OpenFolders {
    limit: usize,
    folders: HashMap<PathBuf, Kept, RandomState>,
    /// Uses so far.
    uses: u64,
}

#[derive(Debug)]
struct Kept {
    root: Root,
    /// In milliseconds.
    opened: u64,
    /// The number of its last use.
    used: u64,
}

impl OpenFolders {
    fn new(limit: usize) -> Self {
        Self { limit, folders: HashMap::default(), uses: 0 }
    }

    /// The folder, if it was opened recently.
    fn recent(&mut self, path: &Path, now: u64) -> Option<Root> {
        self.uses += 1;
        let kept = self.folders.get_mut(path)?;
        kept.used = self.uses;
        (now.wrapping_sub(kept.opened) < ROOT_FRESH_FOR).then(|| kept.root.clone())
    }

    /// The folder, whenever it was opened.
    fn any(&self, path: &Path) -> Option<Root> {
        self.folders.get(path).map(|kept| kept.root.clone())
    }

    fn keep(&mut self, path: &Path, root: Root, now: u64) {
        self.uses += 1;
        if let Some(kept) = self.folders.get_mut(path) {
            *kept = Kept { root, opened: now, used: self.uses };
            return;
        }
        while self.folders.len() >= self.limit {
            let oldest = self.folders.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone());
            let Some(oldest) = oldest else { break };
            self.folders.remove(&oldest);
        }
        self.folders.insert(path.to_owned(), Kept { root, opened: now, used: self.uses });
    }

    fn close(&mut self, path: &Path) {
        self.folders.remove(path);
    }

    /// Closes all folders but this one, when the process is out of descriptors.
    fn close_others(&mut self, path: &Path) {
        self.folders.retain(|other, _| other == path);
    }
}

/// How long the descriptor of the root is used for its path, in milliseconds: after this time a new folder, or a
/// symbolic link to it, that a deployment moved into the old one's place is served.
const ROOT_FRESH_FOR: u64 = 50;

/// Folders get a thirty-second of the descriptors: most servers have fewer sites, and opening one again takes less than
/// opening the file in it.
const PART_OF_FOLDERS: usize = 32;

/// More are not searched for the one to close.
const MAX_OPEN_FOLDERS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_that_was_not_used_for_the_longest_is_closed() {
        let place = tempfile::tempdir().unwrap();
        let mut open = OpenFolders::new(2);
        let path = |name: &str| place.path().join(name);
        for name in ["a", "b", "c"] {
            std::fs::create_dir(path(name)).unwrap();
        }
        let root = |name: &str| Root::open(&path(name), Symlinks::WithinRoot).unwrap();
        open.keep(&path("a"), root("a"), 0);
        open.keep(&path("b"), root("b"), 0);
        assert!(open.recent(&path("a"), 0).is_some());
        open.keep(&path("c"), root("c"), 0);
        let known = ["a", "b", "c"].map(|name| open.any(&path(name)).is_some());
        assert_eq!(known, [true, false, true]);
        open.close_others(&path("c"));
        assert_eq!(["a", "c"].map(|name| open.any(&path(name)).is_some()), [false, true]);
    }

    #[test]
    fn a_folder_is_used_for_fifty_milliseconds() {
        let place = tempfile::tempdir().unwrap();
        let mut open = OpenFolders::new(2);
        open.keep(place.path(), Root::open(place.path(), Symlinks::WithinRoot).unwrap(), 1000);
        // A clock that is behind, as that of another thread may be, has it opened again.
        for (now, is_recent) in [(1000, true), (1049, true), (1050, false), (999, false)] {
            assert_eq!(open.recent(place.path(), now).is_some(), is_recent, "{now}");
        }
        assert!(open.any(place.path()).is_some());
    }

    #[test]
    fn folders_get_a_part_of_the_descriptors() {
        let cases = [(0, 1), (64, 2), (1024, 32), (20_000, 256), (usize::MAX, 256)];
        for (descriptors, folders) in cases {
            assert_eq!(max_open_folders(descriptors), folders, "{descriptors}");
        }
    }
}
