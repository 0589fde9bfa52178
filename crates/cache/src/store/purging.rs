//! Purges of the store in memory.

use std::{
    cell::{Cell, RefCell},
    hash::BuildHasher,
    sync::atomic::Ordering,
};

use super::{MemoryStore, Resource, StoreVersion, lock_stripe};
use crate::{
    key::Key,
    purge::{PurgeMode, PurgeTarget},
    tags::TagNames,
};

impl MemoryStore {
    /// Purges responses: how many, but for a tag, where nobody counts them. Responses to requests that were forwarded
    /// before are not stored, or are concerned as well.
    pub fn purge(&self, target: PurgeTarget<'_>, mode: PurgeMode) -> Option<usize> {
        let count = match target {
            PurgeTarget::Tag(name) => {
                let version = self.next_version();
                self.note_persistent_purges(&[target], mode, version);
                self.tags.purge(name, version, mode);
                return None;
            }
            PurgeTarget::Uri(uri) if self.has_additions.load(Ordering::Relaxed) => {
                self.purge_where(|key| key.is_of(uri), target, mode)
            }
            PurgeTarget::Uri(uri) => {
                let count = self.purge_key(&Key::of_uri(uri), mode);
                self.note_persistent_purges(&[target], mode, self.next_version());
                count
            }
            PurgeTarget::UriOfRoute(uri, scope) => self.purge_uri_of_route(uri, scope, mode),
            PurgeTarget::Prefix(prefix) => {
                self.purge_where(|key| key.as_bytes().starts_with(prefix.as_bytes()), target, mode)
            }
            PurgeTarget::Everything => self.purge_where(|_| true, target, mode),
        };
        Some(count)
    }

    fn purge_uri_of_route(&self, uri: &str, scope: u32, mode: PurgeMode) -> usize {
        let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
        let uris = ["http://", "https://"].map(|scheme| [scheme, rest].concat());
        let targets = uris.each_ref().map(|uri| PurgeTarget::UriOfRoute(uri, scope));
        let count: usize = uris.iter().map(|uri| self.purge_key_of_route(&Key::of_uri(uri), scope, mode)).sum();
        if self.has_additions.load(Ordering::Relaxed) {
            self.note_purge_of_all(&targets, mode);
            let found = RefCell::new(Vec::new());
            self.index.retain(|key, _| {
                if key.has_additions() && uris.iter().any(|uri| key.is_of(uri)) {
                    found.borrow_mut().push(key.clone());
                }
                true
            });
            return count
                + found.into_inner().iter().map(|key| self.purge_key_of_route(key, scope, mode)).sum::<usize>();
        }
        // Keys that are not in memory may have additions.
        let version = self.next_version();
        self.note_persistent_purges(&targets, mode, version);
        count
    }

    fn purge_key_of_route(&self, key: &Key, scope: u32, mode: PurgeMode) -> usize {
        let hash = self.hasher.hash_one(key);
        let mut invalidated = self.lock(hash);
        invalidated.note(hash, self.next_version());
        let Some(resource) = self.stored(key) else { return 0 };
        let (purged, kept): (Vec<_>, Vec<_>) = resource.all().iter().cloned().partition(|stored| stored.scope == scope);
        match mode {
            _ if purged.is_empty() => {}
            PurgeMode::Outdate(now) => {
                purged.iter().for_each(|stored| stored.outdate(now));
                self.put(key.clone(), resource.clone());
            }
            PurgeMode::Remove => self.put_or_remove(key, kept, resource.uncacheable()),
        }
        purged.iter().filter(|stored| !stored.is_removed()).count()
    }

    /// Whether any of these tags was purged since this version.
    #[must_use]
    pub fn were_purged(&self, tags: &TagNames, version: StoreVersion) -> bool {
        self.tags.were_purged(tags, version.0)
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
                self.put(key.clone(), resource.clone());
                count
            }
        }
    }

    /// Walks through the index, whose shards are locked one after the other. Responses that are not in memory are not
    /// counted.
    fn purge_where(&self, is_concerned: impl Fn(&Key) -> bool, target: PurgeTarget<'_>, mode: PurgeMode) -> usize {
        let version = self.note_purge_of_all(&[target], mode);
        let (count, removed) = (Cell::new(0), RefCell::new(Vec::new()));
        self.index.retain(|key, resource| {
            if is_concerned(key) {
                count.set(count.get() + resource.purge(mode));
                if mode == PurgeMode::Remove {
                    removed.borrow_mut().push(key.clone());
                }
            }
            true
        });
        // One by one: to free them takes longer than to find them, and others would wait for the shard.
        removed.into_inner().iter().for_each(|key| self.remove_older(key, version));
        count.get()
    }

    /// Removes responses from before this version. Others may have been stored beside them since.
    fn remove_older(&self, key: &Key, version: u64) {
        let _writer = self.lock(self.hasher.hash_one(key));
        let Some(resource) = self.index.peek(key) else { return };
        let newer: Vec<_> = resource.all().iter().filter(|stored| stored.version().0 >= version).cloned().collect();
        if newer.is_empty() {
            self.index.remove(key);
        } else if newer.len() < resource.all().len() {
            self.insert_in_place(key.clone(), Resource::new(newer, None));
        }
    }

    /// All at once: a response that was on its way before must not be stored behind a walk. Returns the version of the
    /// purges.
    fn note_purge_of_all(&self, targets: &[PurgeTarget<'_>], mode: PurgeMode) -> u64 {
        let mut stripes: Vec<_> = self.stripes.iter().map(lock_stripe).collect();
        let version = self.next_version();
        stripes.iter_mut().for_each(|stripe| stripe.note_all(version));
        let purges = self.remember_purges(targets, mode, version);
        drop(stripes);
        self.keep_purges(&purges);
        version
    }
}

impl Resource {
    /// A purge concerns these responses; how many there are.
    fn purge(&self, mode: PurgeMode) -> usize {
        if let PurgeMode::Outdate(now) = mode {
            self.all().iter().for_each(|stored| stored.outdate(now));
        }
        self.response_count()
    }
}
