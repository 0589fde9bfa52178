//! A folder that processes of one machine share.

use std::{
    collections::HashMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Write},
    iter,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, chown},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::{FlockOperation, flock};
use serow_net::{private_folder::foreign_owner, time};

use super::{Lease, StorageError};

/// A folder that only its owner may read. Each value is a file, which is replaced as a whole.
#[derive(Debug)]
pub(crate) struct DirectoryStorage {
    folder: PathBuf,
}

impl DirectoryStorage {
    /// Creates the folder and those below it if they are missing, for this user and group. A sandbox may not allow that
    /// later.
    pub(crate) fn create(
        folder: &Path,
        below: &[String],
        owner: Option<(u32, Option<u32>)>,
    ) -> Result<(), StorageError> {
        for folder in iter::once(folder.to_owned()).chain(below.iter().map(|name| folder.join(name))) {
            if folder.exists() {
                continue;
            }
            create_folder(&folder)?;
            let Some((user, group)) = owner else { continue };
            chown(&folder, Some(user), group).map_err(|error| StorageError::File(folder, error))?;
        }
        let foreign = foreign_owner(folder, owner.map(|(user, _)| user));
        match foreign.map_err(|error| StorageError::File(folder.to_owned(), error))? {
            Some(user) => Err(StorageError::Foreign(folder.to_owned(), user)),
            None => Ok(()),
        }
    }

    /// Uses a folder that exists.
    pub(crate) fn open(folder: &Path) -> Result<Self, StorageError> {
        let metadata = fs::metadata(folder).map_err(|error| StorageError::File(folder.to_owned(), error))?;
        if metadata.mode() & 0o077 != 0 {
            return Err(StorageError::NotPrivate(folder.to_owned()));
        }
        let this = Self { folder: folder.to_owned() };
        remove_unfinished(folder, time::wall());
        // A folder that cannot be written is found at start, not when the first certificate has been issued.
        this.write("writable", b"")?;
        Ok(this)
    }

    pub(super) fn read(&self, key: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let path = self.folder.join(key);
        match fs::read(&path) {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StorageError::File(path, error)),
        }
    }

    pub(super) fn write(&self, key: &str, value: &[u8]) -> Result<(), StorageError> {
        self.write_with(key, value, Durability::Now)
    }

    pub(super) fn write_with(&self, key: &str, value: &[u8], durability: Durability) -> Result<(), StorageError> {
        let path = self.folder.join(key);
        let parent = path.parent().unwrap_or(&self.folder);
        create_folder(parent)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not visible under its name until it is whole; two processes do not write the same one.
        let unfinished = parent.join(format!(".{}-{number}{UNFINISHED}", process::id()));
        let written = write_new(&unfinished, value, durability).and_then(|()| fs::rename(&unfinished, &path));
        if let Err(error) = written {
            // It may be what fills the disk.
            let _ = fs::remove_file(&unfinished);
            return Err(StorageError::File(path, error));
        }
        match durability {
            // The rename itself reaches the disk with the folder.
            Durability::Now => {
                File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| StorageError::File(path, error))
            }
            Durability::Later => Ok(()),
        }
    }

    pub(super) fn remove(&self, key: &str) -> Result<(), StorageError> {
        let path = self.folder.join(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StorageError::File(path, error)),
            _ => Ok(()),
        }
    }

    /// Watches for changes after this call.
    pub(super) fn watch(&self) -> DirectoryWatch {
        let mut watch = DirectoryWatch { folder: self.folder.clone(), folders: HashMap::new(), files: HashMap::new() };
        watch.changes();
        watch
    }

    pub(super) fn lock(&self, name: &str) -> Result<Option<Lease>, StorageError> {
        let folder = self.folder.join("locks");
        create_folder(&folder)?;
        let path = folder.join(name);
        let opened = OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| StorageError::File(path.clone(), error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Lease::File { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(StorageError::File(path, error.into())),
        }
    }
}

/// When a value has to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// When it was written.
    Now,
    /// When the system writes it: without power it may be lost, which is noticed.
    Later,
}

/// Notices certificates that have been replaced.
pub(crate) struct DirectoryWatch {
    folder: PathBuf,
    /// When each folder of certificates changed last, and each of its files.
    folders: HashMap<PathBuf, SystemTime>,
    files: HashMap<PathBuf, SystemTime>,
}

impl DirectoryWatch {
    pub(super) fn changes(&mut self) -> Vec<String> {
        let mut changes = Vec::new();
        for folder in folders_of_certificates(&self.folder) {
            let changed = modified(&folder);
            // A file that is replaced changes its folder as well.
            if changed.is_none() || self.folders.insert(folder.clone(), changed.unwrap_or(UNIX_EPOCH)) == changed {
                continue;
            }
            for file in entries(&folder).filter(|file| file.extension().is_some_and(|extension| extension == "pem")) {
                let changed = modified(&file).unwrap_or(UNIX_EPOCH);
                if self.files.insert(file.clone(), changed) != Some(changed) {
                    changes.extend(file.strip_prefix(&self.folder).ok().and_then(Path::to_str).map(str::to_owned));
                }
            }
        }
        changes
    }
}

/// `AUTHORITY/certificates` of each authority.
fn folders_of_certificates(folder: &Path) -> impl Iterator<Item = PathBuf> {
    entries(folder).map(|authority| authority.join("certificates")).filter(|folder| folder.is_dir())
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

/// Removes what processes were writing when they were killed, in this folder and those below it.
fn remove_unfinished(folder: &Path, now: SystemTime) {
    for path in entries(folder) {
        if path.is_dir() {
            remove_unfinished(&path, now);
            continue;
        }
        let is_unfinished = path
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with('.') && name.ends_with(UNFINISHED));
        let age = modified(&path).and_then(|written| now.duration_since(written).ok());
        if is_unfinished
            && age.is_some_and(|age| age > MAX_WRITING)
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, "{} is left", path.display());
        }
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn write_new(path: &Path, value: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(value)?;
    if durability == Durability::Now { file.sync_all() } else { Ok(()) }
}

fn create_folder(folder: &Path) -> Result<(), StorageError> {
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| StorageError::File(folder.to_owned(), error))
}

/// The end of the names of files that are not complete.
const UNFINISHED: &str = ".tmp";

/// A process writes a file within a second, so it has ended since. It may have run in another container, so its number
/// says nothing.
const MAX_WRITING: Duration = Duration::from_secs(3600);

/// How often changes by other processes are looked for.
pub(super) const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Tells the unfinished files of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn values_are_private_files_that_are_replaced_as_a_whole() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("acme");
        DirectoryStorage::create(&folder, &["a".to_owned()], None).unwrap();
        let storage = DirectoryStorage::open(&folder).unwrap();
        assert_eq!(storage.read("a/b.pem").unwrap(), None);
        storage.write("a/b.pem", b"one").unwrap();
        storage.write("a/b.pem", b"two").unwrap();
        assert_eq!(storage.read("a/b.pem").unwrap().unwrap(), b"two");
        let mode = |path: &str| fs::metadata(folder.join(path)).unwrap().mode() & 0o7777;
        assert_eq!((mode(""), mode("a"), mode("a/b.pem")), (0o700, 0o700, 0o600));
        assert_eq!(fs::read_dir(folder.join("a")).unwrap().count(), 1);
        storage.remove("a/b.pem").unwrap();
        storage.remove("a/b.pem").unwrap();
        assert_eq!(storage.read("a/b.pem").unwrap(), None);
    }

    #[test]
    fn unfinished_files_of_a_killed_process_are_removed_an_hour_later() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("acme");
        DirectoryStorage::create(&folder, &["a".to_owned()], None).unwrap();
        let names = ["a/.1-0.tmp", ".2-1.tmp", "a/b.tmp", "a/.b.pem"];
        names.iter().for_each(|name| fs::write(folder.join(name), "half").unwrap());
        let left = |after: Duration| {
            remove_unfinished(&folder, SystemTime::now() + after);
            names.into_iter().filter(|name| folder.join(name).exists()).collect::<Vec<_>>()
        };
        assert_eq!(left(Duration::from_secs(3500)), names);
        assert_eq!(left(Duration::from_secs(3700)), ["a/b.tmp", "a/.b.pem"]);
    }

    #[test]
    fn one_has_the_lock_until_it_gives_it_up() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let one = DirectoryStorage::open(folder.path()).unwrap();
        let other = DirectoryStorage::open(folder.path()).unwrap();
        let lease = one.lock("a").unwrap().unwrap();
        assert!(other.lock("a").unwrap().is_none());
        assert!(other.lock("b").unwrap().is_some());
        drop(lease);
        assert!(other.lock("a").unwrap().is_some());
    }

    #[test]
    fn a_folder_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let error = DirectoryStorage::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }

    #[test]
    fn a_folder_of_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("SKIPPED: only root can give folders to other users");
        }
        let folder = tempfile::tempdir().unwrap();
        chown(folder.path(), Some(1234), None).unwrap();
        let error = DirectoryStorage::create(folder.path(), &[], None).unwrap_err().to_string();
        assert!(error.contains("the user 1234") && error.contains("chown"), "{error}");
        DirectoryStorage::create(folder.path(), &[], Some((1234, None))).unwrap();
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let path = folder.path().join("file/acme");
        assert!(matches!(DirectoryStorage::create(&path, &[], None), Err(StorageError::File(..))));
    }
}
