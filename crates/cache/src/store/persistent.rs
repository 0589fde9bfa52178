//! The persistent part of the store: responses that another store keeps, and that are loaded on demand.

use std::{
    hash::BuildHasher,
    sync::{Arc, PoisonError, RwLock, atomic::Ordering},
};

use super::{MemoryStore, Resource, StoreVersion};
use crate::{
    key::Key,
    persistence::{KeptResource, Persistence},
    purge::{PurgeMode, PurgeRecord, PurgeTarget},
    record::{self, RecordedResponse},
    stored::Stored,
    stored_content::ContentWriter,
};

/// The place where responses are kept, and the purges that concern what is there.
#[derive(Debug)]
pub(super) struct PersistentPart {
    persistence: Arc<dyn Persistence>,
    purges: RwLock<Vec<PurgeRecord>>,
}

impl PersistentPart {
    pub(super) fn keep(&self, key: &Key, resource: &Resource) {
        self.persistence.keep(key, resource);
    }

    /// Whether there was something.
    pub(super) fn remove(&self, key: &Key) -> bool {
        self.persistence.remove(key)
    }

    /// Returns the effect of the purges of more than one key on a response: removed, or stale since when.
    fn judge(&self, key: &Key, scope: u32, version: u64) -> Option<PurgeMode> {
        let purges = self.purges.read().unwrap_or_else(PoisonError::into_inner);
        let concerning = purges.iter().filter(|purge| purge.concerns(key.uri(), scope, version));
        let mut concerning = concerning.map(|purge| purge.mode);
        let first = concerning.next()?;
        Some(concerning.fold(first, |mode, other| if other == PurgeMode::Remove { other } else { mode }))
    }

    /// Applies the purges of more than one key to a response; returns whether it is left.
    fn apply_purges(&self, key: &Key, stored: &Stored) -> bool {
        match self.judge(key, stored.scope, stored.version().0) {
            Some(PurgeMode::Remove) => return false,
            Some(PurgeMode::Outdate(at)) => stored.outdate(at),
            None => {}
        }
        true
    }
}

impl MemoryStore {
    /// Keeps there what is stored, and finds what was kept before; the first call counts.
    pub fn persist(&self, persistence: Arc<dyn Persistence>) {
        let _ = self.persistent.set(PersistentPart { persistence, purges: RwLock::default() });
    }

    /// Adopts the history of earlier processes: their purges, and a version that is larger than all of theirs.
    pub fn adopt_history(&self, purges: Vec<PurgeRecord>, version: u64) {
        let last = purges.iter().map(|purge| purge.version).max().unwrap_or_default();
        self.version.fetch_max(version.max(last) + 1, Ordering::AcqRel);
        for purge in &purges {
            if let Some(name) = purge.tag() {
                self.tags.purge(name, purge.version, purge.mode);
            }
        }
        if let Some(persistent) = self.persistent.get() {
            persistent.purges.write().unwrap_or_else(PoisonError::into_inner).extend(purges);
        }
    }

    /// A file for a content that is too large for memory: of this length, if it is known. Nothing if there is no place for
    /// it.
    #[must_use]
    pub fn new_content(&self, key: &Key, length: Option<u64>) -> Option<Arc<dyn ContentWriter>> {
        self.persistent.get()?.persistence.new_content(key, length)
    }

    /// The purges up to this version concern nothing any more that is kept.
    pub fn forget_purges(&self, version: u64) {
        if let Some(persistent) = self.persistent.get() {
            let mut purges = persistent.purges.write().unwrap_or_else(PoisonError::into_inner);
            purges.retain(|purge| purge.version > version);
        }
    }

    /// Whether there are purges that concern what is kept.
    #[must_use]
    pub fn has_persistent_purges(&self) -> bool {
        let persistent = self.persistent.get();
        persistent
            .is_some_and(|persistent| !persistent.purges.read().unwrap_or_else(PoisonError::into_inner).is_empty())
    }

    /// Keeps again what is kept for a key, as purges have left it.
    pub fn rewrite_kept(&self, key: &Key) {
        let _writer = self.lock(self.hasher.hash_one(key));
        if let (Some(persistent), Some(resource)) = (self.persistent.get(), self.kept(key)) {
            persistent.keep(key, &resource);
        }
    }

    /// Removes what is stored for a key, whose files are damaged, if it is still this.
    pub fn forget(&self, key: &Key, damaged: &Resource) {
        let _writer = self.lock(self.hasher.hash_one(key));
        if self.index.peek(key).is_some_and(|resource| resource.is(damaged)) {
            self.index.remove(key);
            if let Some(persistent) = self.persistent.get() {
                persistent.remove(key);
            }
        }
    }

    /// Whether there is something in memory for a key, which does not count as a use of it.
    #[must_use]
    pub fn has_in_memory(&self, key: &Key) -> bool {
        self.index.contains_key(key)
    }

    /// Returns the state of a record of this key: gone if all of it was purged, unchanged if no purge concerns it.
    #[must_use]
    pub fn judge_record(&self, key: &Key, record: &bytes::Bytes) -> RecordVerdict {
        let Some(persistent) = self.persistent.get() else { return RecordVerdict::Unchanged };
        let Some(responses) = record::decode(key, record, &*persistent.persistence) else { return RecordVerdict::Gone };
        let count = responses.len();
        let is_plain = |response: &RecordedResponse| response.outdated_at.is_none();
        let was_plain = responses.iter().filter(|response| is_plain(response)).count();
        let resource = self.resource_of(key, responses);
        let is_current = |stored: &&Arc<Stored>| stored.outdated_since().is_none();
        match resource {
            None => RecordVerdict::Gone,
            Some(resource) => {
                let plain = resource.all().iter().filter(is_current).count();
                match resource.all().len() == count && plain == was_plain {
                    true => RecordVerdict::Unchanged,
                    false => RecordVerdict::Changed,
                }
            }
        }
    }

    pub(super) fn find_persistent(&self, key: &Key) -> Option<Resource> {
        self.persistent.get()?;
        let hash = self.hasher.hash_one(key);
        // With the lock, no purge is half done: what it has yet to remove must not come from there with its version.
        let version = {
            let _writer = self.lock(hash);
            self.version()
        };
        let resource = self.kept(key)?;
        let invalidated = self.lock(hash);
        // It may have been removed or replaced meanwhile.
        if invalidated.is_after(hash, version.0) {
            return None;
        }
        if let Some(newer) = self.index.peek(key) {
            return Some(newer);
        }
        self.index.insert(key.clone(), resource.clone());
        Some(resource)
    }

    /// The resource that is kept for a key, without the responses that were purged.
    pub(super) fn kept(&self, key: &Key) -> Option<Resource> {
        let persistence = &*self.persistent.get()?.persistence;
        match persistence.find(key)? {
            KeptResource::Unwritten(resource) => self.unpurged(key, resource),
            KeptResource::Record(bytes) => self.resource_of(key, record::decode(key, &bytes, persistence)?),
        }
    }

    /// The responses of a resource that has not been written yet that the purges of more than one key have left.
    fn unpurged(&self, key: &Key, resource: Resource) -> Option<Resource> {
        let persistent = self.persistent.get()?;
        let is_left = |stored: &&Arc<Stored>| persistent.apply_purges(key, stored);
        let variants: Vec<_> = resource.all().iter().filter(is_left).cloned().collect();
        match variants.len() {
            0 => None,
            length if length == resource.all().len() => Some(resource),
            _ => Some(Resource::new(variants, None)),
        }
    }

    fn resource_of(&self, key: &Key, responses: Vec<RecordedResponse>) -> Option<Resource> {
        let persistent = self.persistent.get()?;
        let mut variants = Vec::new();
        for RecordedResponse { response, version, outdated_at } in responses.into_iter().rev() {
            // Of a process whose counter this one has not seen: purges have to come after it.
            self.version.fetch_max(version, Ordering::AcqRel);
            let tags = self.tags.of_names(&response.tags);
            let stored = Stored::new(response.head, response.body, response.scope, StoreVersion(version), tags);
            outdated_at.into_iter().for_each(|at| stored.outdate(at));
            if persistent.apply_purges(key, &stored) && !stored.is_removed() {
                variants.push(Arc::new(stored));
            }
        }
        (!variants.is_empty()).then(|| Resource::new(variants, None))
    }

    /// Notes purges for what is not in memory, and keeps them for the next process.
    pub(super) fn note_persistent_purges(&self, targets: &[PurgeTarget<'_>], mode: PurgeMode, version: u64) {
        self.keep_purges(&self.remember_purges(targets, mode, version));
    }

    /// Notes purges for what is not in memory.
    pub(super) fn remember_purges(
        &self,
        targets: &[PurgeTarget<'_>],
        mode: PurgeMode,
        version: u64,
    ) -> Vec<PurgeRecord> {
        let Some(persistent) = self.persistent.get() else { return Vec::new() };
        let purges: Vec<_> = targets.iter().map(|target| PurgeRecord::new(version, mode, *target)).collect();
        persistent.purges.write().unwrap_or_else(PoisonError::into_inner).extend(purges.iter().cloned());
        purges
    }

    /// Keeps purges for the next process. It waits for the disk: nothing that requests need is locked.
    pub(super) fn keep_purges(&self, purges: &[PurgeRecord]) {
        if let Some(persistent) = self.persistent.get() {
            purges.iter().for_each(|purge| persistent.persistence.keep_purge(purge));
        }
    }

    /// The version now, for purges that are to be forgotten.
    #[must_use]
    pub fn current_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}

/// The state of a record after purges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordVerdict {
    /// No purge concerns it.
    Unchanged,
    /// Something of it was removed, or is stale.
    Changed,
    /// Nothing of it is left, or it is damaged.
    Gone,
}
