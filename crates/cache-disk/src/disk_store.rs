//! Stored responses, which are kept, found and removed while the server runs.

use std::{
    io,
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serow_cache::{
    ContentFile, ContentReference, ContentWriter, KeptContent, KeptResource, Key, MemoryStore, Persistence,
    PurgeRecord, Resource, content_numbers_of,
};

use crate::{
    claim::{Claim, ClaimError},
    content_file::{ArrivingFile, KeptFile},
    disk_health::DiskHealth,
    disk_space::DiskSpace,
    file_name::FileName,
    folder::{FileEntry, Folder, FolderError, rounded},
    pending::Pending,
    purge_log::PurgeLog,
};

/// Stored responses in the files of a folder.
#[derive(Debug)]
pub struct DiskStore {
    pub(crate) folder: Arc<Folder>,
    pub(crate) purges: PurgeLog,
    pub(crate) pending: Arc<Pending>,
    /// Nothing while another server uses the folder.
    claim: OnceLock<Claim>,
    /// The number of this server, which all its generations have.
    server: u64,
    pub(crate) space: Arc<DiskSpace>,
    pub(crate) health: Arc<DiskHealth>,
    is_claim_warned: AtomicBool,
    counts: AtomicCounts,
}

/// Counts of a store: the bytes that it has, and the files that it has read, written and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounts {
    /// Bytes that files take.
    pub bytes: u64,
    /// Bytes that they may take.
    pub limit: u64,
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
    evicted: AtomicU64,
}

impl DiskStore {
    /// The files of a folder that was [prepared](crate::prepare), which take at most so many bytes. `server` tells the
    /// generations of one server from other servers; its low half is the number of a process, for messages.
    ///
    /// # Errors
    ///
    /// The folder cannot be opened.
    pub fn open(path: &Path, limit: u64, server: u64) -> Result<Self, FolderError> {
        let folder = Folder::open(path)?;
        let purges = PurgeLog::open(&folder).map_err(|error| FolderError::System(path.join("purges"), error))?;
        Ok(Self {
            folder: Arc::new(folder),
            purges,
            pending: Arc::default(),
            claim: OnceLock::new(),
            server,
            space: Arc::new(DiskSpace::new(limit)),
            health: Arc::new(DiskHealth::new(path.to_owned())),
            is_claim_warned: AtomicBool::new(false),
            counts: AtomicCounts::default(),
        })
    }

    /// Returns the counts of the store.
    #[must_use]
    pub fn counts(&self) -> DiskCounts {
        let AtomicCounts { found, written, evicted } = &self.counts;
        let number = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DiskCounts {
            bytes: self.space.used(),
            limit: self.space.limit(),
            found: number(found),
            written: number(written),
            dropped: self.health.dropped(),
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
                    self.health.warn("read the purges in", &error);
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
        self.claim.get().is_some_and(Claim::is_newest) && self.health.is_writable()
    }

    /// Writes the record of what is stored for a key, unless it is removed meanwhile.
    pub(crate) fn write(&self, key: &Key, resource: &Resource, record: &[u8]) {
        if !self.is_writable() {
            self.pending.finish(|| ());
            return self.drop_response(resource);
        }
        match self.replace(key, resource, record) {
            Ok(true) => drop(self.counts.written.fetch_add(1, Ordering::Relaxed)),
            Ok(false) => {}
            Err(error) => {
                self.pending.finish(|| ());
                discard(resource);
                self.health.fail(&error);
            }
        }
    }

    /// A response is kept in memory only.
    fn drop_response(&self, resource: &Resource) {
        self.health.note_dropped();
        discard(resource);
    }

    /// Writes the files of a key in place of those before; whether it was not removed meanwhile.
    fn replace(&self, key: &Key, resource: &Resource, record: &[u8]) -> io::Result<bool> {
        let (name, numbers) = (FileName::of_key(key), content_numbers_of(record).unwrap_or_default());
        let is_referred = |file: &&Arc<dyn ContentFile>| numbers.contains(&file.reference().number);
        let (contents, purged): (Vec<_>, Vec<_>) = resource.all_content_files().partition(is_referred);
        // By their tags, before the record was made.
        purged.into_iter().for_each(|file| file.discard());
        let kept: Vec<_> = numbers.iter().map(|number| name.with_number(*number)).collect();
        let mut named = Vec::new();
        let written = name_contents(&contents, &name, &mut named).and_then(|are_there| {
            // A record refers to nothing that is not there.
            if !are_there {
                self.pending.finish(|| ());
                discard(resource);
                return Ok(false);
            }
            self.replace_record(record, &name, &kept)
        });
        if !matches!(written, Ok(true)) {
            named.iter().for_each(|name| self.remove_content(name));
        }
        written
    }

    /// Writes a record, and removes contents that only the one before referred to; whether it was not removed meanwhile.
    fn replace_record(&self, record: &[u8], name: &FileName, kept: &[FileName]) -> io::Result<bool> {
        let before = self.folder.size(name);
        let contents_before = if before > 0 { self.folder.contents_of(name) } else { Vec::new() };
        let mut new = Some(self.folder.write_record(record)?);
        let published = self.pending.finish(|| new.take().map(|new| self.folder.publish(new, record, name)));
        let Some(published) = published.flatten() else {
            new.into_iter().for_each(|new| self.folder.withdraw(new));
            return Ok(false);
        };
        published?;
        self.space.add(name, rounded(record.len() as u64));
        self.space.subtract(name, before);
        contents_before.iter().filter(|name| !kept.contains(name)).for_each(|name| self.remove_content(name));
        Ok(true)
    }

    /// Removes the contents that are to be removed.
    pub(crate) fn remove_discarded(&self) {
        for (name, _room) in self.folder.take_discarded() {
            match name.is_of_new_file() {
                // It has not been counted as a file.
                true => drop(self.folder.remove(&name)),
                false => self.remove_content(&name),
            }
        }
    }

    /// Removes a content that no record refers to any more.
    pub(crate) fn remove_content(&self, name: &FileName) {
        let size = self.folder.size(name);
        match self.folder.remove(name) {
            Ok(true) => self.space.subtract(name, size),
            Ok(false) => {}
            Err(error) => self.health.warn("remove a file of", &error),
        }
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
}

impl Persistence for DiskStore {
    fn keep(&self, key: &Key, resource: &Resource) {
        if !self.is_claimed() || !self.pending.add(key, resource) {
            self.drop_response(resource);
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
                // Somebody else may just have removed it.
                if was_there {
                    self.space.subtract(&name, size);
                }
                contents.into_iter().for_each(|name| self.folder.discard(name, None));
                was_pending || was_there
            }
            Err(error) => {
                self.health.warn("remove a file of", &error);
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
                self.health.warn("read a file of", &error);
                None
            }
        }
    }

    fn new_content(&self, key: &Key, length: Option<u64>) -> Option<Arc<dyn ContentWriter>> {
        if !self.is_writable() {
            return None;
        }
        let reservation = self.space.reserve(length.unwrap_or_default())?;
        match ArrivingFile::create(&self.folder, &self.health, &self.pending, FileName::of_key(key), reservation) {
            Ok(file) => Some(Arc::new(file)),
            Err(error) => {
                self.health.fail(&error);
                None
            }
        }
    }

    fn content(&self, key: &Key, reference: ContentReference) -> Arc<dyn ContentFile> {
        Arc::new(KeptFile::referred(&self.folder, &self.space, FileName::of_key(key), reference))
    }

    fn keep_purge(&self, purge: &PurgeRecord) {
        if self.is_claimed()
            && let Err(error) = self.purges.add(purge)
        {
            self.health.warn("write a purge to", &error);
        }
    }
}

/// Removes contents that have no name yet, since no record will refer to them.
fn discard(resource: &Resource) {
    resource.all_content_files().for_each(|file| file.discard());
}

/// Gives the contents of a record their names, and adds those that have just got them; whether all contents are there.
fn name_contents(contents: &[&Arc<dyn ContentFile>], record: &FileName, named: &mut Vec<FileName>) -> io::Result<bool> {
    for file in contents {
        match file.keep()? {
            KeptContent::Gone => return Ok(false),
            KeptContent::WasNamed => {}
            KeptContent::Named => named.push(record.with_number(file.reference().number)),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
