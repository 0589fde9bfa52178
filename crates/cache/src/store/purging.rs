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
        match target {
            PurgeTarget::Tag(name) => {
                self.tags.purge(name, self.next_version(), mode);
                None
            }
            PurgeTarget::Uri(uri) if !self.has_additions.load(Ordering::Relaxed) => {
                Some(self.purge_key(&Key::of_uri(uri), mode))
            }
            PurgeTarget::Uri(uri) => Some(self.purge_where(|key| key.uri() == uri, mode)),
            PurgeTarget::Prefix(prefix) => Some(self.purge_where(|key| key.uri().starts_with(prefix), mode)),
            PurgeTarget::Everything => Some(self.purge_where(|_| true, mode)),
        }
    }

    pub(super) fn purge_key(&self, key: &Key, mode: PurgeMode) -> usize {
        let hash = self.hasher.hash_one(key);
        let mut invalidated = self.lock(hash);
        invalidated.note(hash, self.next_version());
        let found = match mode {
            PurgeMode::Remove => self.index.remove(key).map(|(_, resource)| resource),
            PurgeMode::Outdate(_) => self.index.peek(key),
        };
        found.map_or(0, |resource| resource.purge(mode))
    }

    /// Walks through the index, whose shards are locked one after the other.
    fn purge_where(&self, is_concerned: impl Fn(&Key) -> bool, mode: PurgeMode) -> usize {
        // All at once: a response that was on its way before must not be stored behind the walk.
        let mut stripes: Vec<_> = self.stripes.iter().map(lock_stripe).collect();
        let version = self.next_version();
        stripes.iter_mut().for_each(|stripe| stripe.note_all(version));
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
