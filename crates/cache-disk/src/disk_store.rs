//! What is kept, found and removed while the server runs.

use std::{
    io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::io::Errno;
use serow_cache::{
    ContentFile, ContentReference, KeptResource, Key, MemoryStore, NewContent, Persistence, PurgeRecord, Resource,
    encode,
};
use serow_net::{WarningPace, monotonic};

use crate::{
    claim::{Claim, ClaimError},
    content_file::{ArrivingFile, KeptFile},
    disk_space::DiskSpace,
    folder::{FileEntry, FileName, Folder, FolderError, rounded},
    pending::Pending,
    purge_log::PurgeLog,
};

/// Stored responses in the files of a folder.
#[derive(Debug)]
pub struct DiskStore {
    pub(crate) folder: Arc<Folder>,
    pub(crate) purges: PurgeLog,
    pub(crate) pending: Pending,
    /// Nothing while another server uses the folder.
    claim: OnceLock<Claim>,
    /// The number of this server, which all its generations have.
    server: u32,
    pub(crate) space: Arc<DiskSpace>,
    /// When files may be written again after an error, in milliseconds of the monotonic clock.
    paused_until: AtomicU64,
    /// Whether the disk has no room, although the files may take more.
    is_disk_full: AtomicBool,
    is_claim_warned: AtomicBool,
    warnings: WarningPace,
    counts: AtomicCounts,
}

/// What a store has done and has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Bytes that files take.
    pub bytes: u64,
    /// Files that were read for requests.
    pub found: u64,
    /// Files that were written.
    pub written: u64,
    /// Responses that were not written, since the disk was full or slow.
    pub dropped: u64,
    /// Files that were removed to make room.
    pub evicted: u64,
}

#[derive(Debug, Default)]
struct AtomicCounts {
    found: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
    evicted: AtomicU64,
}

impl DiskStore {
    /// The files of a folder that was [prepared](crate::prepare), which take at most so many bytes. `server` tells the
    /// generations of one server from other servers.
    ///
    /// # Errors
    ///
    /// The folder cannot be opened.
    pub fn open(path: &Path, limit: u64, server: u32) -> Result<Self, FolderError> {
        let folder = Folder::open(path)?;
        let purges = PurgeLog::open(&folder).map_err(|error| FolderError::System(path.join("purges"), error))?;
        Ok(Self {
            folder: Arc::new(folder),
            purges,
            pending: Pending::default(),
            claim: OnceLock::new(),
            server,
            space: Arc::new(DiskSpace::new(limit)),
            paused_until: AtomicU64::new(0),
            is_disk_full: AtomicBool::new(false),
            is_claim_warned: AtomicBool::new(false),
            warnings: WarningPace::new(),
            counts: AtomicCounts::default(),
        })
    }

    /// What it has done and has.
    #[must_use]
    pub fn counts(&self) -> DiskCounts {
        let AtomicCounts { found, written, dropped, evicted } = &self.counts;
        let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DiskCounts {
            bytes: self.space.used(),
            found: number(found),
            written: number(written),
            dropped: number(dropped),
            evicted: number(evicted),
        }
    }

    /// Claims the folder for this store, unless that is done or another server uses it.
    pub(crate) fn claim(&self, store: &MemoryStore) {
        if self.claim.get().is_some() {
            return;
        }
        match Claim::new(&self.folder, self.server) {
            Ok(claim) => {
                let purges = self.purges.read().unwrap_or_else(|error| {
                    self.warn("read the purges in", &error);
                    Vec::new()
                });
                store.adopt_history(purges, claim.version);
                let _ = self.claim.set(claim);
            }
            Err(error) => {
                if self.is_claim_warned.swap(true, Ordering::Relaxed) {
                    return;
                }
                let path = self.folder.path().display();
                match error {
                    ClaimError::Used(process) => tracing::warn!(
                        "cache: the server with the process {process} uses {path}: responses are kept in memory only until it \
                         ends; name a folder for each server"
                    ),
                    ClaimError::System(error) => {
                        tracing::warn!("cache: cannot lock {path}/owner: {error}; responses are kept in memory only");
                    }
                }
            }
        }
    }

    /// Whether it is found out who uses the folder, and it is this server.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claim.get().is_some()
    }

    /// Whether this process may write: it is the newest of its server, and the disk has not failed lately.
    pub(crate) fn is_writable(&self) -> bool {
        let now = millis(monotonic());
        self.claim.get().is_some_and(Claim::is_newest) && now >= self.paused_until.load(Ordering::Relaxed)
    }

    /// Writes what is stored for a key, unless it is removed meanwhile.
    pub(crate) fn write(&self, key: &Key, resource: &Resource) {
        if !self.is_writable() {
            self.pending.finish(|| ());
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
            resource.content_files().for_each(|file| file.abandon());
            return;
        }
        match self.replace(key, resource) {
            Ok(true) => {}
            Ok(false) => resource.content_files().for_each(|file| file.abandon()),
            Err(error) => {
                self.pending.finish(|| ());
                resource.content_files().for_each(|file| file.abandon());
                self.fail(&error);
            }
        }
    }

    /// Writes the files of a key in place of those before; whether it was not removed meanwhile.
    fn replace(&self, key: &Key, resource: &Resource) -> io::Result<bool> {
        let (record, name) = (encode(key, resource), FileName::of_key(key));
        // A record refers to nothing that is not there.
        resource.content_files().try_for_each(|file| file.keep())?;
        let new = self.folder.write_new(&record)?;
        let (before, contents_before) = (self.folder.size(&name), self.folder.contents_of(&name));
        match self.pending.finish(|| self.folder.rename(&new, &name)) {
            Some(Ok(())) => {
                self.counts.written.fetch_add(1, Ordering::Relaxed);
                self.space.add(&name, rounded(record.len() as u64));
                self.space.subtract(&name, before);
                let kept: Vec<_> =
                    resource.content_files().map(|file| name.with_number(file.reference().number)).collect();
                contents_before.iter().filter(|name| !kept.contains(name)).for_each(|name| self.remove_content(name));
                Ok(true)
            }
            Some(Err(error)) => {
                let _ = self.folder.remove(&new);
                Err(error)
            }
            None => {
                let _ = self.folder.remove(&new);
                Ok(false)
            }
        }
    }

    /// Removes a content that no record refers to any more.
    pub(crate) fn remove_content(&self, name: &FileName) {
        let size = self.folder.size(name);
        match self.folder.remove(name) {
            Ok(true) => self.space.subtract(name, size),
            Ok(false) => {}
            Err(error) => self.warn("remove a file of", &error),
        }
    }

    /// Whether room has to be made although the files may take more; it says so once.
    pub(crate) fn take_disk_full(&self) -> bool {
        self.is_disk_full.swap(false, Ordering::Relaxed)
    }

    /// There is room again.
    pub(crate) fn resume(&self) {
        self.paused_until.store(0, Ordering::Relaxed);
    }

    /// Removes the file of a key, and the contents that it refers to, to make room.
    pub(crate) fn evict(&self, file: &FileEntry) -> io::Result<()> {
        let contents = self.folder.contents_of(&file.name);
        if self.folder.remove(&file.name)? {
            self.space.subtract(&file.name, file.size);
            contents.iter().for_each(|name| self.remove_content(name));
            self.counts.evicted.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn fail(&self, error: &io::Error) {
        self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        self.paused_until.store(millis(monotonic() + PAUSE), Ordering::Relaxed);
        let is_full = matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT));
        self.is_disk_full.fetch_or(is_full, Ordering::Relaxed);
        self.warn("write to", error);
    }

    pub(crate) fn warn(&self, action: &str, error: &io::Error) {
        if !self.warnings.is_due() {
            return;
        }
        let path = self.folder.path().display();
        let advice = match Errno::from_io_error(error) {
            Some(Errno::NOSPC | Errno::DQUOT) => "the disk is full: make room, or set a smaller dir-size",
            Some(Errno::ROFS) => "the file system is read-only",
            Some(Errno::ACCESS | Errno::PERM) => "the folder has to belong to the server's user",
            _ => "responses are kept in memory only meanwhile",
        };
        tracing::warn!("cache: cannot {action} {path}: {error}; {advice}");
    }
}

impl Persistence for DiskStore {
    fn keep(&self, key: &Key, resource: &Arc<Resource>) {
        if !self.is_claimed() || !self.pending.add(key, resource) {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn remove(&self, key: &Key) -> bool {
        if !self.is_claimed() {
            return false;
        }
        let name = FileName::of_key(key);
        let (was_pending, removed) = self.pending.remove(key, || {
            let (size, contents) = (self.folder.size(&name), self.folder.contents_of(&name));
            self.folder.remove(&name).map(|was_there| (was_there, size, contents))
        });
        match removed {
            Ok((was_there, size, contents)) => {
                self.space.subtract(&name, size);
                contents.iter().for_each(|name| self.remove_content(name));
                was_pending || was_there
            }
            Err(error) => {
                self.warn("remove a file of", &error);
                was_pending
            }
        }
    }

    fn find(&self, key: &Key) -> Option<KeptResource> {
        if !self.is_claimed() {
            return None;
        }
        if let Some(resource) = self.pending.find(key) {
            return Some(KeptResource::Unwritten(resource));
        }
        match self.folder.read(&FileName::of_key(key)) {
            Ok(content) => {
                let content = content?;
                self.counts.found.fetch_add(1, Ordering::Relaxed);
                Some(KeptResource::Record(content))
            }
            Err(error) => {
                self.warn("read a file of", &error);
                None
            }
        }
    }

    fn new_content(&self, key: &Key, length: Option<u64>) -> Option<Box<dyn NewContent>> {
        if !self.is_writable() {
            return None;
        }
        let reservation = self.space.reserve(length.unwrap_or_default())?;
        match ArrivingFile::create(&self.folder, FileName::of_key(key), reservation) {
            Ok(file) => Some(Box::new(file)),
            Err(error) => {
                self.fail(&error);
                None
            }
        }
    }

    fn content(&self, key: &Key, reference: ContentReference) -> Arc<dyn ContentFile> {
        Arc::new(KeptFile::referred(&self.folder, &self.space, &FileName::of_key(key), reference))
    }

    fn keep_purge(&self, purge: &PurgeRecord) {
        if self.is_claimed()
            && let Err(error) = self.purges.add(purge)
        {
            self.warn("write a purge to", &error);
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// After an error of the disk, as long as an administrator takes to notice.
const PAUSE: Duration = Duration::from_secs(10);
