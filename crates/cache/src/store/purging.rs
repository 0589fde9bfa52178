//! Purges of the store in memory.

use std::{
    hash::BuildHasher,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{MemoryStore, Resource, lock_stripe};
use crate::{
    key::Key,
    purge::{PurgeMode, PurgeTarget},
};

impl MemoryStore {
    /// Purges responses: how many, but for a tag, where nobody counts them. Responses to requests that were forwarded
    /// before are not stored, or are concerned as well.
    pub fn purge(&self, target: PurgeTarget<'_>, mode: PurgeMode) -> Option<usize> {
        let count = match target {
            PurgeTarget::Tag(name) => {
                let version = self.next_version();
                self.note_persistent_purge(target, mode, version);
                self.tags.purge(name, version, mode);
                return None;
            }
            PurgeTarget::Uri(uri) if self.has_additions.load(Ordering::Relaxed) => {
                self.purge_where(|key| key.uri() == uri, target, mode)
            }
            PurgeTarget::Uri(uri) => {
                let count = self.purge_key(&Key::of_uri(uri), mode);
                self.note_persistent_purge(target, mode, self.next_version());
                count
            }
            PurgeTarget::Prefix(prefix) => self.purge_where(|key| key.uri().starts_with(prefix), target, mode),
            PurgeTarget::Everything => self.purge_where(|_| true, target, mode),
        };
        Some(count)
    }

    /// Purges what is stored for one key; how many responses, of which those that are not in memory count as one.
    pub(super) fn purge_key(&self, key: &Key, mode: PurgeMode) -> usize {
        let hash = self.hasher.hash_one(key);
        let mut invalidated = self.lock(hash);
        invalidated.note(hash, self.next_version());
        match mode {
            PurgeMode::Remove => {
                let removed = self.index.remove(key).map_or(0, |(_, resource)| resource.purge(mode));
                let was_kept = self.persistent.get().is_some_and(|persistent| persistent.remove(key));
                removed.max(was_kept.into())
            }
            PurgeMode::Outdate(_) => {
                let Some(resource) = self.stored(key) else { return 0 };
                let count = resource.purge(mode);
                self.put(key.clone(), resource);
                count
            }
        }
    }

    /// Walks through the index, whose shards are locked one after the other. What is not in memory is not counted.
    fn purge_where(&self, is_concerned: impl Fn(&Key) -> bool, target: PurgeTarget<'_>, mode: PurgeMode) -> usize {
        // All at once: a response that was on its way before must not be stored behind the walk.
        let mut stripes: Vec<_> = self.stripes.iter().map(lock_stripe).collect();
        let version = self.next_version();
        stripes.iter_mut().for_each(|stripe| stripe.note_all(version));
        self.note_persistent_purge(target, mode, version);
        drop(stripes);
        let count = AtomicUsize::new(0);
        self.index.retain(|key, resource| {
            let is_purged = is_concerned(key);
            if is_purged {
                count.fetch_add(resource.purge(mode), Ordering::Relaxed);
            }
            !is_purged || mode != PurgeMode::Remove
        });
        count.into_inner()
    }
}

impl Resource {
    /// A purge concerns these responses; how many there are.
    fn purge(&self, mode: PurgeMode) -> usize {
        if let PurgeMode::Outdate(now) = mode {
            self.variants.iter().for_each(|stored| stored.outdate(now));
        }
        self.variants.len()
    }
}
