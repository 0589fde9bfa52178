//! The store in memory, which all workers share.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use serow_message::Headers;

use crate::{key::Key, stored::Stored, time::Time};

/// Stored responses in memory of a limited size, which all workers share. The index is of the S3-FIFO kind: a scan of
/// URIs that are asked for once does not displace those that are asked for often.
pub struct MemoryStore {
    index: Cache<Key, Arc<Resource>, Weight>,
    max_object: usize,
    hasher: RandomState,
    /// Locks of stripes: a thread that changes a resource holds that of its stripe.
    writers: Box<[Mutex<()>]>,
    /// How often resources of a stripe were invalidated.
    versions: Box<[AtomicU64]>,
}

/// What is stored for one URI.
#[derive(Debug, Default)]
pub struct Resource {
    /// The variants, the newest first.
    variants: Box<[Arc<Stored>]>,
    /// Until when responses of this route are expected not to be stored.
    uncacheable: Option<(u32, Time)>,
}

/// What was stored for a URI when a request was forwarded. A response to the request is stored only if the URI was not
/// invalidated since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceVersion(u64);

/// Bytes that a resource is counted as.
#[derive(Clone, Debug)]
struct Weight;

impl Weighter<Key, Arc<Resource>> for Weight {
    fn weight(&self, key: &Key, resource: &Arc<Resource>) -> u64 {
        let variant = |stored: &Arc<Stored>| stored.body.len() + stored.head.size() + VARIANT_SIZE;
        (key.as_bytes().len() + RESOURCE_SIZE + resource.variants.iter().map(variant).sum::<usize>()) as u64
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
        let index = match options {
            Ok(options) => {
                Cache::with_options(options, Weight, DefaultHashBuilder::default(), DefaultLifecycle::default())
            }
            // Both numbers are there.
            Err(_) => Cache::with_weighter(expected, size, Weight),
        };
        Self {
            index,
            max_object,
            hasher: RandomState::new(),
            writers: std::iter::repeat_with(Mutex::default).take(STRIPES).collect(),
            versions: std::iter::repeat_with(AtomicU64::default).take(STRIPES).collect(),
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

    /// What is stored for a URI.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Arc<Resource>> {
        self.index.get(key)
    }

    /// The version of a URI now.
    #[must_use]
    pub fn version(&self, key: &Key) -> ResourceVersion {
        ResourceVersion(self.versions[self.stripe(key)].load(Ordering::Acquire))
    }

    /// Stores a response, in place of those that its request would have got; whether it was stored. It is not if the URI
    /// was invalidated since this version.
    pub fn insert(&self, key: Key, version: ResourceVersion, stored: Stored) -> bool {
        if stored.body.len() > self.max_object {
            return false;
        }
        let stripe = self.stripe(&key);
        let _writer = self.lock(stripe);
        if self.versions[stripe].load(Ordering::Acquire) != version.0 {
            return false;
        }
        let before = self.index.peek(&key);
        let before = before.iter().flat_map(|resource| resource.variants.iter());
        let is_other = |other: &&Arc<Stored>| other.scope != stored.scope || other.head.variant != stored.head.variant;
        let others: Vec<_> = before.filter(is_other).take(MAX_VARIANTS - 1).cloned().collect();
        let variants = std::iter::once(Arc::new(stored)).chain(others).collect();
        self.index.insert(key, Arc::new(Resource { variants, uncacheable: None }));
        true
    }

    /// Replaces a stored response by one with the same content, if it is still there.
    pub fn replace(&self, key: &Key, before: &Arc<Stored>, after: Stored) -> Arc<Stored> {
        let after = Arc::new(after);
        let _writer = self.lock(self.stripe(key));
        if let Some(resource) = self.index.peek(key) {
            let mut variants: Vec<_> = resource.variants.to_vec();
            if let Some(place) = variants.iter().position(|stored| Arc::ptr_eq(stored, before)) {
                variants.remove(place);
                variants.insert(0, Arc::clone(&after));
                let resource = Resource { variants: variants.into(), uncacheable: None };
                self.index.insert(key.clone(), Arc::new(resource));
            }
        }
        after
    }

    /// Notes that responses of this route for this URI are not stored: until then, requests do not wait for one another.
    pub fn note_uncacheable(&self, key: &Key, scope: u32, until: Time) {
        let _writer = self.lock(self.stripe(key));
        let variants = self.index.peek(key).map(|resource| resource.variants.clone()).unwrap_or_default();
        self.index.insert(key.clone(), Arc::new(Resource { variants, uncacheable: Some((scope, until)) }));
    }

    /// Removes all that is stored for a URI. Responses to requests that were forwarded before are not stored, either.
    pub fn invalidate(&self, key: &Key) {
        let stripe = self.stripe(key);
        let _writer = self.lock(stripe);
        self.versions[stripe].fetch_add(1, Ordering::AcqRel);
        self.index.remove(key);
    }

    fn stripe(&self, key: &Key) -> usize {
        (self.hasher.hash_one(key) as usize) % STRIPES
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    fn lock(&self, stripe: usize) -> MutexGuard<'_, ()> {
        self.writers[stripe].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resource {
    /// The stored responses of this route, the newest first.
    pub fn of_scope(&self, scope: u32) -> impl Iterator<Item = &Arc<Stored>> + Clone {
        self.variants.iter().filter(move |stored| stored.scope == scope)
    }

    /// The stored response of this route that a request with these headers gets: the most recent that it matches
    /// (RFC 9111 §4).
    #[must_use]
    pub fn select(&self, scope: u32, request: &Headers) -> Option<&Arc<Stored>> {
        let mut matching = self.of_scope(scope).filter(|stored| stored.head.variant.matches(request));
        let first = matching.next()?;
        Some(matching.fold(first, |latest, other| if other.head.date() > latest.head.date() { other } else { latest }))
    }

    /// Whether a response of this route is expected not to be stored.
    #[must_use]
    pub fn is_uncacheable(&self, scope: u32, now: Time) -> bool {
        self.uncacheable.is_some_and(|(other, until)| other == scope && now < until)
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("MemoryStore").field("max_object", &self.max_object).finish_non_exhaustive()
    }
}

/// Locks and versions: more than threads, so that they rarely wait for one another; an invalidation keeps the responses
/// to a 256th of all requests in flight from being stored.
const STRIPES: usize = 256;

/// Shards of the index, each with a lock of its own.
const MAX_SHARDS: usize = 64;

/// Variants of one URI. Clients choose the fields that responses vary on: without a limit, one URI would displace all
/// others, and a lookup would take ever longer.
const MAX_VARIANTS: usize = 32;

/// Bytes that a resource takes in the index, beside key and variants: the test `memory_of_an_entry` measures it.
const RESOURCE_SIZE: usize = 96;

/// Bytes that a variant takes beside its fields and its content: as measured by the same test.
const VARIANT_SIZE: usize = 176;

/// Bytes of a usual response, from which the index reserves its memory.
const EXPECTED_OBJECT: u64 = 16 << 10;

/// Entries for which the index reserves memory at first; it grows with more.
const MAX_EXPECTED: usize = 100_000;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serow_message::Scheme;

    use super::*;
    use crate::{stored::tests::stored as head, vary::Variant};

    fn key(path: &str) -> Key {
        Key::new(Scheme::Http, "a", path, None, &[])
    }

    fn headers(fields: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
        headers
    }

    /// A response that varies on the field `a`, which the request had with this value.
    fn stored(scope: u32, value: &str, body: &'static str) -> Stored {
        let variant = Variant::of(&headers(&[("vary", "a")]), &headers(&[("a", value)])).unwrap();
        Stored {
            head: crate::StoredHead { variant, ..head(200, &[]) },
            body: Bytes::from_static(body.as_bytes()),
            scope,
        }
    }

    fn body(store: &MemoryStore, scope: u32, value: &str) -> Option<Bytes> {
        let resource = store.find(&key("/"))?;
        resource.select(scope, &headers(&[("a", value)])).map(|stored| stored.body.clone())
    }

    #[test]
    fn variants_and_routes_are_stored_beside_each_other() {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let version = store.version(&key("/"));
        for (scope, value, body) in [(0, "1", "old"), (0, "2", "two"), (1, "1", "other"), (0, "1", "new")] {
            assert!(store.insert(key("/"), version, stored(scope, value, body)));
        }
        assert_eq!(body(&store, 0, "1").as_deref(), Some(&b"new"[..]));
        assert_eq!(body(&store, 0, "2").as_deref(), Some(&b"two"[..]));
        assert_eq!(body(&store, 1, "1").as_deref(), Some(&b"other"[..]));
        assert_eq!(body(&store, 1, "2"), None);
    }

    #[test]
    fn responses_from_before_an_invalidation_are_not_stored() {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let version = store.version(&key("/"));
        assert!(store.insert(key("/"), version, stored(0, "1", "a")));
        store.invalidate(&key("/"));
        assert_eq!(body(&store, 0, "1"), None);
        assert!(!store.insert(key("/"), version, stored(0, "1", "a")));
        assert!(store.insert(key("/"), store.version(&key("/")), stored(0, "1", "b")));
    }

    #[test]
    fn one_uri_has_a_limited_number_of_variants() {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let version = store.version(&key("/"));
        for number in 0..1000 {
            assert!(store.insert(key("/"), version, stored(0, &number.to_string(), "x")));
        }
        let resource = store.find(&key("/")).unwrap();
        assert_eq!(resource.of_scope(0).count(), MAX_VARIANTS);
        assert_eq!(body(&store, 0, "999").as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn memory_is_limited() {
        let store = MemoryStore::new(100_000, 10_000);
        for number in 0..10_000 {
            let key = key(&format!("/{number}"));
            let version = store.version(&key);
            assert!(store.insert(key, version, stored(0, "1", "0123456789")));
            assert!(store.size().0 <= 100_000);
        }
        assert!(store.size().1 > 50, "{:?}", store.size());
        let large = Stored { body: vec![0; 10_001].into(), ..stored(0, "1", "") };
        assert!(!store.insert(key("/"), store.version(&key("/")), large));
    }

    #[test]
    fn uncacheable_uris_are_remembered_for_a_while() {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let until = Time::from_seconds(10);
        store.note_uncacheable(&key("/"), 0, until);
        let is_noted = |scope, seconds| {
            let resource = store.find(&key("/")).unwrap();
            resource.is_uncacheable(scope, Time::from_seconds(seconds))
        };
        assert!(is_noted(0, 9) && !is_noted(0, 10) && !is_noted(1, 9));
        assert!(store.insert(key("/"), store.version(&key("/")), stored(0, "1", "a")));
        assert!(!is_noted(0, 9));
    }

    #[test]
    fn a_replaced_response_keeps_its_content() {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        assert!(store.insert(key("/"), store.version(&key("/")), stored(0, "1", "a")));
        let before = Arc::clone(store.find(&key("/")).unwrap().select(0, &headers(&[("a", "1")])).unwrap());
        let mut after = Stored::clone(&before);
        after.head.headers.append("x", "1").unwrap();
        store.replace(&key("/"), &before, after);
        let found = store.find(&key("/")).unwrap();
        assert!(found.select(0, &headers(&[("a", "1")])).unwrap().head.headers.contains("x"));
        store.invalidate(&key("/"));
        store.replace(&key("/"), &before, Stored::clone(&before));
        assert!(store.find(&key("/")).is_none());
    }
}
