//! Responses in memory, and what displaces them.

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
    Stored { head: crate::StoredHead { variant, ..head(200, &[]) }, body: Bytes::from_static(body.as_bytes()), scope }
}

fn body(store: &MemoryStore, scope: u32, value: &str) -> Option<Bytes> {
    let resource = store.find(&key("/"))?;
    resource.select(scope, &headers(&[("a", value)])).map(|stored| stored.body.clone())
}

#[test]
fn variants_and_routes_are_stored_beside_each_other() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let version = store.version();
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
    let version = store.version();
    assert!(store.insert(key("/"), version, stored(0, "1", "a")));
    store.invalidate(&key("/"));
    assert_eq!(body(&store, 0, "1"), None);
    assert!(!store.insert(key("/"), version, stored(0, "1", "a")));
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "b")));
}

#[test]
fn invalidations_of_other_uris_do_no_harm() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let version = store.version();
    (0..STRIPES).for_each(|number| store.invalidate(&key(&format!("/{number}"))));
    assert!(store.is_current(&key("/"), version));
    assert!(store.insert(key("/"), version, stored(0, "1", "a")));
}

#[test]
fn one_uri_has_a_limited_number_of_variants() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let version = store.version();
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
        let version = store.version();
        assert!(store.insert(key, version, stored(0, "1", "0123456789")));
        assert!(store.size().0 <= 100_000);
    }
    assert!(store.size().1 > 50, "{:?}", store.size());
    let large = Stored { body: vec![0; 10_001].into(), ..stored(0, "1", "") };
    assert!(!store.insert(key("/"), store.version(), large));
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
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
    assert!(!is_noted(0, 9));
}

#[test]
fn a_replaced_response_keeps_its_content() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
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
