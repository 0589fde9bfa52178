//! The store in memory, which all workers share.

mod contents;
mod persistent;
mod purging;
mod resource;
mod succession;

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use quick_cache::{DefaultHashBuilder, Lifecycle, OptionsBuilder, Weighter, sync::Cache};

use crate::{
    invalidated::Invalidated,
    key::Key,
    purge::PurgeMode,
    store_version::StoreVersion,
    stored::{Storable, Stored},
    stored_body::StoredBody,
    storing::StorableHead,
    tags::{TagNames, Tags},
    time::Time,
};

pub use self::{contents::ResourceSize, persistent::RecordVerdict, resource::Resource, succession::is_part_of_use};
use self::{
    persistent::PersistentPart,
    resource::Uncacheable,
    succession::{combined, takes_place},
};

/// Stored responses in memory of a limited size, which all workers share. The index is of the S3-FIFO kind: a scan of
/// URIs that are asked for once does not displace those that are asked for often.
pub struct MemoryStore {
    index: Cache<Key, Resource, Weight, DefaultHashBuilder, Displacement>,
    evictions: Arc<AtomicU64>,
    max_object: usize,
    hasher: RandomState,
    /// A thread that changes a resource holds the lock of its stripe.
    stripes: Box<[Mutex<Invalidated>]>,
    /// How often anything was invalidated or purged.
    version: AtomicU64,
    tags: Tags,
    /// Whether a URI can have several keys.
    has_additions: AtomicBool,
    /// The part of the store that outlives the process.
    persistent: OnceLock<PersistentPart>,
}

/// Bytes that a resource is counted as.
#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Resource> for Weight {
    fn weight(&self, key: &Key, resource: &Resource) -> u64 {
        (key.as_bytes().len() + INDEX_SIZE + resource.size()) as u64
    }
}

/// Counts what is displaced, and frees it when the index is not locked any more.
#[derive(Clone, Debug)]
struct Displacement {
    count: Arc<AtomicU64>,
}

impl Lifecycle<Key, Resource> for Displacement {
    type RequestState = [Option<(Key, Resource)>; 2];

    fn before_evict(&self, _: &mut Self::RequestState, _: &Key, _: &mut Resource) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Replaced ones come here, too.
    fn on_evict(&self, state: &mut Self::RequestState, key: Key, resource: Resource) {
        // A response rarely displaces more; then they are freed at once.
        if let Some(place) = state.iter_mut().find(|place| place.is_none()) {
            *place = Some((key, resource));
        }
    }
}

impl MemoryStore {
    /// A store for so many bytes, of which a response takes at most `max_object`.
    #[must_use]
    pub fn new(size: u64, max_object: usize) -> Self {
        let expected = usize::try_from(size / EXPECTED_OBJECT).unwrap_or(usize::MAX).clamp(1, MAX_EXPECTED);
        // Each shard has its part of the memory, and the largest response has to fit in it.
        let shards = size / (2 * max_object.max(1) as u64);
        let options = OptionsBuilder::new()
            .estimated_items_capacity(expected)
            .weight_capacity(size)
            .shards(usize::try_from(shards).unwrap_or(usize::MAX).clamp(1, MAX_SHARDS).next_power_of_two())
            .build();
        let evictions = Arc::new(AtomicU64::new(0));
        let (hashes, displacement) = (DefaultHashBuilder::default(), Displacement { count: Arc::clone(&evictions) });
        let index = match options {
            Ok(options) => Cache::with_options(options, Weight, hashes, displacement),
            // Both numbers are there.
            Err(_) => Cache::with(expected, size, Weight, hashes, displacement),
        };
        Self {
            index,
            evictions,
            max_object,
            hasher: RandomState::new(),
            stripes: std::iter::repeat_with(Mutex::default).take(STRIPES).collect(),
            version: AtomicU64::new(0),
            tags: Tags::default(),
            has_additions: AtomicBool::new(false),
            persistent: OnceLock::new(),
        }
    }

    /// Bytes of the largest content that is stored.
    #[must_use]
    pub fn max_object(&self) -> usize {
        self.max_object
    }

    /// Bytes that all responses take, and how many URIs there are.
    #[must_use]
    pub fn size(&self) -> (u64, usize) {
        (self.index.weight(), self.index.len())
    }

    /// Bytes that all responses may take.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.index.capacity()
    }

    /// How many URIs were displaced, since the memory was full.
    #[must_use]
    pub fn evictions(&self) -> u64 {
        self.evictions.load(Ordering::Relaxed)
    }

    /// How many tags there are.
    #[must_use]
    pub fn tag_count(&self) -> usize {
        self.tags.len()
    }

    /// Returns the responses that are stored for a URI.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Resource> {
        let resource = self.index.get(key).or_else(|| self.find_persistent(key))?;
        resource.add_requests(1);
        Some(resource)
    }

    /// The version now.
    #[must_use]
    pub fn version(&self) -> StoreVersion {
        StoreVersion(self.version.load(Ordering::Acquire))
    }

    /// Whether a URI was not invalidated since this version.
    #[must_use]
    pub fn is_current(&self, key: &Key, version: StoreVersion) -> bool {
        let hash = self.hasher.hash_one(key);
        !self.lock(hash).is_after(hash, version.0)
    }

    /// Stores a response, in place of those that its request would have got; whether it was stored. It is not if the URI
    /// was invalidated, or one of its tags purged, since this version; nor if it is a part of what is stored as a whole.
    pub fn insert(&self, key: Key, version: StoreVersion, response: Storable) -> bool {
        let Storable { head, body, scope, tags } = response;
        let is_too_large = body.memory().is_some_and(|bytes| bytes.len() > self.max_object);
        if is_too_large || tags.is_over_limit() {
            return false;
        }
        let tags = self.tags.of_names(&tags);
        self.add(key, version, Arc::new(Stored::new(head, body, scope, version, tags)))
    }

    /// Stores the content of a stored response with this head as well, as far as that is possible. Tags replace those
    /// before.
    pub fn insert_variant(
        &self,
        key: Key,
        version: StoreVersion,
        before: &Stored,
        head: StorableHead,
        tags: &TagNames,
    ) {
        let stored = self.with_head(before, version, head, tags);
        self.add(key, version, Arc::new(stored));
    }

    fn add(&self, key: Key, version: StoreVersion, stored: Arc<Stored>) -> bool {
        if key.has_additions() {
            self.has_additions.store(true, Ordering::Relaxed);
        }
        let hash = self.hasher.hash_one(&key);
        let invalidated = self.lock(hash);
        if invalidated.is_after(hash, version.0) || stored.is_removed() {
            return false;
        }
        let resource = self.stored(&key);
        let before = resource.iter().flat_map(Resource::all).filter(|other| !other.is_removed());
        let is_other = |other: &Arc<Stored>| !other.is_for_same(&stored);
        let (others, same): (Vec<_>, Vec<_>) = before.cloned().partition(is_other);
        let joined = same.iter().find_map(|before| {
            let body = combined(&stored, before, self.max_combined())?;
            Some(Arc::new(stored.with_body(body, before)))
        });
        let stored = match joined {
            Some(joined) => joined,
            None if same.iter().all(|before| takes_place(&stored.head, stored.body.extent(), before)) => stored,
            None => return false,
        };
        // Parts are stored of what is too long to be stored as a whole.
        let is_part = matches!(stored.body, StoredBody::Part(_));
        let uncacheable = resource.as_ref().filter(|_| is_part).and_then(Resource::uncacheable);
        let variants = std::iter::once(stored).chain(others.into_iter().take(MAX_VARIANTS - 1)).collect();
        self.put(key, Resource::new(variants, uncacheable));
        true
    }

    /// Bytes of the longest part that others are added to. All of it is written again for each of them.
    fn max_combined(&self) -> usize {
        let is_kept = self.persistent.get().is_some();
        if is_kept { self.max_object.min(MAX_COMBINED_RECORD) } else { self.max_object }
    }

    /// Returns the responses that are stored for a URI, to change them.
    fn stored(&self, key: &Key) -> Option<Resource> {
        self.index.peek(key).or_else(|| self.kept(key))
    }

    /// Puts it into the index, and keeps it if there is a place for it. The caller has locked the stripe.
    fn put(&self, key: Key, resource: Resource) {
        self.insert_in_place(key.clone(), resource.clone());
        if let Some(persistent) = self.persistent.get() {
            persistent.keep(&key, &resource);
        }
    }

    /// Puts it into the index in place of what is there, whose requests it takes over.
    fn insert_in_place(&self, key: Key, resource: Resource) {
        if let Some(before) = self.index.peek(&key) {
            resource.take_over_requests(&before);
        }
        self.index.insert(key, resource);
    }

    /// Replaces the head of a stored response, if it is still there and its URI was not purged since, by one of this version.
    /// Tags replace those before.
    pub fn replace(&self, key: &Key, version: StoreVersion, before: &Arc<Stored>, head: StorableHead, tags: &TagNames) {
        let after = Arc::new(self.with_head(before, version, head, tags));
        let hash = self.hasher.hash_one(key);
        let invalidated = self.lock(hash);
        let Some(resource) = self.index.peek(key).filter(|_| !invalidated.is_after(hash, version.0)) else { return };
        if resource.all().iter().any(|stored| Arc::ptr_eq(stored, before)) {
            // It may match others' requests now, for which something else is stored.
            let is_other = |other: &&Arc<Stored>| !Arc::ptr_eq(other, before) && !other.is_for_same(&after);
            let others = resource.all().iter().filter(is_other).cloned();
            self.put(key.clone(), Resource::new(std::iter::once(Arc::clone(&after)).chain(others).collect(), None));
        }
    }

    /// Makes a stored response stale, since a newer version was seen (RFC 9111 §4.3.5).
    pub fn outdate(&self, key: &Key, version: StoreVersion, before: &Arc<Stored>) {
        self.replace(key, version, before, StorableHead::outdated(before), &TagNames::default());
    }

    /// Removes a stored response that the origin has withdrawn: it must not be stored any more, nor must responses to requests
    /// that were forwarded before.
    pub fn withdraw(&self, key: &Key, before: &Stored) {
        let hash = self.hasher.hash_one(key);
        let mut invalidated = self.lock(hash);
        invalidated.note(hash, self.next_version());
        if let Some(resource) = self.stored(key) {
            let others = resource.all().iter().filter(|other| !other.is_for_same(before)).cloned().collect();
            self.put_or_remove(key, others, resource.uncacheable());
        }
    }

    /// Leaves these responses for a URI. The caller has locked the stripe.
    fn put_or_remove(&self, key: &Key, left: Vec<Arc<Stored>>, uncacheable: Option<Uncacheable>) {
        if !left.is_empty() {
            return self.put(key.clone(), Resource::new(left, uncacheable));
        }
        self.index.remove(key);
        if let Some(persistent) = self.persistent.get() {
            persistent.remove(key);
        }
    }

    /// Notes that responses of this route for this URI are not stored: until then, requests do not wait for one another.
    pub fn note_uncacheable(&self, key: &Key, scope: u32, until: Time) {
        let _writer = self.lock(self.hasher.hash_one(key));
        let variants = self.stored(key).map(|resource| resource.all().to_vec()).unwrap_or_default();
        self.insert_in_place(key.clone(), Resource::new(variants, Some(Uncacheable { scope, until })));
    }

    fn with_head(&self, before: &Stored, version: StoreVersion, head: StorableHead, tags: &TagNames) -> Stored {
        let tags = if tags.is_empty() { before.tags().into() } else { self.tags.of_names(tags) };
        Stored::new(head, before.body.clone(), before.scope, version, tags)
    }

    fn next_version(&self) -> u64 {
        self.version.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// Removes all that is stored for a URI. Responses to requests that were forwarded before are not stored, either.
    pub fn invalidate(&self, key: &Key) {
        self.purge_key(key, PurgeMode::Remove);
    }

    /// Locks the stripe of a key with this hash.
    fn lock(&self, hash: u64) -> MutexGuard<'_, Invalidated> {
        lock_stripe(&self.stripes[hash as usize % STRIPES])
    }
}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock_stripe(stripe: &Mutex<Invalidated>) -> MutexGuard<'_, Invalidated> {
    stripe.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MemoryStore").field("max_object", &self.max_object).finish_non_exhaustive()
    }
}

/// Parts of all URIs whose writers wait for one another: many more than threads, so that they rarely do.
const STRIPES: usize = 256;

/// Shards of the index, each with a lock of its own.
const MAX_SHARDS: usize = 64;

/// Variants of one URI. Clients choose the fields that responses vary on: without a limit, one URI would displace all
/// others, and a lookup would take ever longer.
const MAX_VARIANTS: usize = 32;

/// Bytes of a combined part that is written to a folder: there, a longer part usually has a file of its own.
const MAX_COMBINED_RECORD: usize = 256 << 10;

/// Bytes that the index needs for an entry: key, value, the places of its neighbours, and a place in a table that is
/// half full.
const INDEX_SIZE: usize = 72;

/// Bytes of a usual response, from which the index reserves its memory.
const EXPECTED_OBJECT: u64 = 16 << 10;

/// Entries for which the index reserves memory at first; it grows with more.
const MAX_EXPECTED: usize = 100_000;

#[cfg(test)]
mod tests;
