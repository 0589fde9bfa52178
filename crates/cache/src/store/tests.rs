//! Responses in memory, and what displaces them.

use bytes::Bytes;
use serow_message::{Headers, Method, PackedHeaders, Scheme};

use super::*;
use crate::{
    content_range::ContentRange,
    extent::Extent,
    purge::PurgeTarget,
    stored::StoredHead,
    stored::tests::{headers, stored as head},
    vary::Variant,
};

fn key(path: &str) -> Key {
    Key::new(Scheme::Http, "a", path, None, &[])
}

/// A response that varies on the field `a`, which the request had with this value.
fn stored(scope: u32, value: &str, body: &'static str) -> Storable {
    let variant = Variant::of(&headers(&[("vary", "a")]), &headers(&[("a", value)])).unwrap();
    let head = StoredHead { variant, ..head(200, &[]) }.into();
    Storable { head, body: Bytes::from_static(body.as_bytes()).into(), scope, tags: TagNames::default() }
}

fn body(store: &MemoryStore, scope: u32, value: &str) -> Option<Bytes> {
    let resource = store.find(&key("/"))?;
    resource.select(scope, &Method::GET, &headers(&[("a", value)])).and_then(|stored| stored.body.memory().cloned())
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
    let large = Storable { body: Bytes::from(vec![0; 10_001]).into(), ..stored(0, "1", "") };
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
fn a_response_that_matches_other_requests_after_a_validation_takes_their_place() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    for value in ["1", "2"] {
        assert!(store.insert(key("/"), store.version(), stored(0, value, "a")));
    }
    let before = Arc::clone(store.find(&key("/")).unwrap().select(0, &Method::GET, &headers(&[("a", "1")])).unwrap());
    let after = store.find(&key("/")).unwrap().select(0, &Method::GET, &headers(&[("a", "2")])).unwrap().head.clone();
    store.replace(&key("/"), store.version(), &before, after.into(), &TagNames::default());
    assert_eq!((store.find(&key("/")).unwrap().of_scope(0).count(), body(&store, 0, "1")), (1, None));
}

#[test]
fn a_validation_from_before_a_purge_does_not_make_a_response_fresh() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
    let found = || Arc::clone(store.find(&key("/")).unwrap().of_scope(0).next().unwrap());
    let (before, version) = (found(), store.version());
    store.purge(PurgeTarget::Uri("http://a/"), PurgeMode::Outdate(Time::from_seconds(1_700_000_001)));
    store.replace(&key("/"), version, &before, before.head.clone().into(), &TagNames::default());
    assert!(found().outdated_since().is_some());
}

#[test]
fn a_second_purge_does_not_make_a_response_stale_for_a_shorter_time() {
    for (target, tag) in
        [(PurgeTarget::Uri("http://a/"), ""), (PurgeTarget::Tag(b"t"), "t"), (PurgeTarget::Everything, "")]
    {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        assert!(store.insert(key("/"), store.version(), tagged(tag)));
        let staleness = || {
            let stored = Arc::clone(store.find(&key("/")).unwrap().of_scope(0).next().unwrap());
            stored.current_head().freshness.staleness(Time::from_seconds(1_700_000_012)).as_secs()
        };
        for seconds in [2, 4, 6] {
            store.purge(target, PurgeMode::Outdate(Time::from_seconds(1_700_000_000 + seconds)));
            assert_eq!(staleness(), 10, "{target:?}");
        }
    }
}

#[test]
fn a_withdrawn_response_is_removed_and_does_not_come_back() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let version = store.version();
    for (scope, value) in [(0, "1"), (0, "2"), (1, "1")] {
        assert!(store.insert(key("/"), version, stored(scope, value, "a")));
    }
    let before = Arc::clone(store.find(&key("/")).unwrap().select(0, &Method::GET, &headers(&[("a", "1")])).unwrap());
    store.withdraw(&key("/"), &before);
    let found = [(0, "1"), (0, "2"), (1, "1")].map(|(scope, value)| body(&store, scope, value).is_some());
    assert_eq!(found, [false, true, true]);
    // It was on its way before.
    assert!(!store.insert(key("/"), version, stored(0, "1", "a")));
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
}

#[test]
fn a_replaced_response_keeps_its_content() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
    let before = Arc::clone(store.find(&key("/")).unwrap().select(0, &Method::GET, &headers(&[("a", "1")])).unwrap());
    let mut after = before.head.clone();
    after.headers = PackedHeaders::new(&headers(&[("x", "1")]));
    store.replace(&key("/"), store.version(), &before, after.clone().into(), &TagNames::default());
    let found = store.find(&key("/")).unwrap();
    assert!(found.select(0, &Method::GET, &headers(&[("a", "1")])).unwrap().head.headers.contains("x"));
    store.invalidate(&key("/"));
    store.replace(&key("/"), store.version(), &before, after.into(), &TagNames::default());
    assert!(store.find(&key("/")).is_none());
}

/// A response with these tags, which do not vary.
fn tagged(tags: &str) -> Storable {
    let mut fields = headers(&[("xkey", tags)]);
    Storable { tags: TagNames::take(&mut fields), head: head(200, &[]).into(), body: Bytes::new().into(), scope: 0 }
}

/// Whether something is stored for this path, and whether it is fresh.
fn state(store: &MemoryStore, path: &str) -> Option<bool> {
    let (resource, now) = (store.find(&key(path))?, Time::from_seconds(1_700_000_010));
    resource.select(0, &Method::GET, &Headers::new()).map(|stored| stored.current_head().freshness.is_fresh(now))
}

#[test]
fn purges_concern_what_they_name() {
    use PurgeTarget::{Everything, Prefix, Tag, Uri};
    let (now, paths) = (Time::from_seconds(1_700_000_005), ["/a", "/a/b", "/c"]);
    let cases = [
        (Uri("http://a/a"), Some(1), [false, true, true]),
        (Uri("http://a/"), Some(0), [true, true, true]),
        (Prefix("http://a/a"), Some(2), [false, false, true]),
        (Prefix("https://a/a"), Some(0), [true, true, true]),
        (Tag(b"all"), None, [false, false, false]),
        (Tag(b"/c"), None, [true, true, false]),
        (Tag(b"x"), None, [true, true, true]),
        (Everything, Some(3), [false, false, false]),
    ];
    for (target, count, kept) in cases {
        for mode in [PurgeMode::Remove, PurgeMode::Outdate(now)] {
            let store = MemoryStore::new(1 << 20, 1 << 10);
            let before = store.version();
            for path in paths {
                assert!(store.insert(key(path), before, tagged(&format!("all {path}"))));
            }
            assert_eq!(store.purge(target, mode), count, "{target:?} {mode:?}");
            let gone = if mode == PurgeMode::Remove { None } else { Some(false) };
            for (path, is_kept) in paths.into_iter().zip(kept) {
                assert_eq!(state(&store, path), if is_kept { Some(true) } else { gone }, "{target:?} {mode:?} {path}");
                // On its way when it was purged, and requested afterwards.
                let version = store.version();
                if mode == PurgeMode::Remove && !is_kept {
                    assert!(!store.insert(key(path), before, tagged(&format!("all {path}"))), "{target:?} {path}");
                }
                assert!(store.insert(key(path), version, tagged(&format!("all {path}"))));
                assert_eq!(state(&store, path), Some(true), "{target:?} {mode:?} {path}");
            }
        }
    }
}

#[test]
fn a_purge_of_a_route_leaves_other_routes_and_uris() {
    let keys = |scheme, path: &str| [&[][..], &[&b"1"[..]]].map(|texts| Key::new(scheme, "a", path, None, texts));
    let all = [keys(Scheme::Http, "/"), keys(Scheme::Https, "/"), keys(Scheme::Http, "/b")].concat();
    let is_fresh = |store: &MemoryStore, key: &Key, scope| {
        let stored = Arc::clone(store.find(key)?.select(scope, &Method::GET, &Headers::new())?);
        Some(stored.current_head().freshness.is_fresh(Time::from_seconds(1_700_000_010)))
    };
    for (mode, gone) in
        [(PurgeMode::Remove, None), (PurgeMode::Outdate(Time::from_seconds(1_700_000_005)), Some(false))]
    {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let before = store.version();
        for key in &all {
            assert!(store.insert(key.clone(), before, tagged("")));
        }
        for key in &all[..2] {
            assert!(store.insert(key.clone(), before, Storable { scope: 1, ..tagged("") }));
        }
        assert_eq!(store.purge(PurgeTarget::UriOfRoute("https://a/", 0), mode), Some(4), "{mode:?}");
        assert_eq!(store.purge(PurgeTarget::UriOfRoute("http://a/none", 0), mode), Some(0), "{mode:?}");
        let states: Vec<_> = all.iter().map(|key| is_fresh(&store, key, 0)).collect();
        assert_eq!(states, [gone, gone, gone, gone, Some(true), Some(true)], "{mode:?}");
        assert!(all[..2].iter().all(|key| is_fresh(&store, key, 1) == Some(true)), "{mode:?}");
        // On their way when the URI was purged.
        assert!(all[..4].iter().all(|key| !store.insert(key.clone(), before, tagged(""))), "{mode:?}");
    }
}

#[test]
fn displaced_uris_are_counted_and_others_are_not() {
    let store = MemoryStore::new(100_000, 10_000);
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "a")));
    assert!(store.insert(key("/"), store.version(), stored(0, "1", "b")));
    store.invalidate(&key("/"));
    assert_eq!((store.evictions(), store.capacity()), (0, 100_000));
    for number in 0..1000 {
        assert!(store.insert(key(&format!("/{number}")), store.version(), stored(0, "1", "0123456789")));
    }
    assert_eq!(store.evictions() + store.size().1 as u64, 1000);
}

#[test]
fn tags_that_were_purged_since_a_version() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let names = TagNames::take(&mut headers(&[("xkey", "a b")]));
    let before = store.version();
    assert!(!store.were_purged(&names, before));
    for (tag, mode, expected) in
        [("c", PurgeMode::Remove, false), ("b", PurgeMode::Outdate(Time::from_seconds(1)), true)]
    {
        store.purge(PurgeTarget::Tag(tag.as_bytes()), mode);
        assert_eq!(store.were_purged(&names, before), expected, "{tag}");
    }
    assert!(!store.were_purged(&names, store.version()));
}

#[test]
fn all_keys_of_a_uri_are_purged() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    let keys = [b"1", b"2"].map(|addition| Key::new(Scheme::Http, "a", "/", None, &[addition]));
    for key in &keys {
        assert!(store.insert(key.clone(), store.version(), tagged("")));
    }
    assert_eq!(store.purge(PurgeTarget::Uri("http://a/"), PurgeMode::Remove), Some(2));
    assert!(keys.iter().all(|key| store.find(key).is_none()));
}

#[test]
fn a_validated_response_keeps_its_tags_unless_it_gets_others() {
    for (tags, purged, is_there) in [("", "a", false), ("b", "a", true), ("b", "b", false)] {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        assert!(store.insert(key("/"), store.version(), tagged("a")));
        let before = Arc::clone(store.find(&key("/")).unwrap().select(0, &Method::GET, &Headers::new()).unwrap());
        let names = TagNames::take(&mut headers(&[("xkey", tags)]));
        store.replace(&key("/"), store.version(), &before, before.head.clone().into(), &names);
        store.purge(PurgeTarget::Tag(purged.as_bytes()), PurgeMode::Remove);
        assert_eq!(state(&store, "/").is_some(), is_there, "{tags:?} {purged}");
    }
}

/// Bytes from here on of a whole of ten, with this entity tag.
fn part(start: u64, etag: &str, body: &'static str) -> Storable {
    let place = ContentRange::new(start..start + body.len() as u64, 10).unwrap();
    let body = StoredBody::new(Bytes::from_static(body.as_bytes()).into(), Extent::Part(place)).unwrap();
    Storable { body, head: head(200, &[("etag", etag)]).into(), scope: 0, tags: TagNames::default() }
}

fn whole(etag: &str, body: &'static str) -> Storable {
    Storable { body: Bytes::from_static(body.as_bytes()).into(), ..part(0, etag, "0") }
}

/// The kind of stored response that a request with this range gets.
fn bytes(store: &MemoryStore, range: &str) -> Option<&'static str> {
    let resource = store.find(&key("/"))?;
    let stored = resource.select(0, &Method::GET, &headers(&[("range", range)]))?;
    Some(match stored.body.extent() {
        Extent::Whole => "whole",
        Extent::Part(_) => "part",
    })
}

#[test]
fn a_part_answers_requests_for_what_it_has() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    assert!(store.insert(key("/"), store.version(), part(2, "\"a\"", "2345")));
    assert_eq!((bytes(&store, "bytes=3-4"), bytes(&store, "bytes=0-4")), (Some("part"), None));
    let resource = store.find(&key("/")).unwrap();
    assert!(resource.select(0, &Method::GET, &Headers::new()).is_none(), "it is not the whole");
    assert!(resource.select(0, &Method::HEAD, &headers(&[("range", "bytes=3-4")])).is_none());
    assert!(resource.part(0, &Headers::new()).is_some() && resource.part(1, &Headers::new()).is_none());
}

#[test]
fn a_part_takes_the_place_of_a_whole_only_if_that_is_of_no_use() {
    for (before, is_stale, is_stored) in [
        (part(7, "\"a\"", "789"), false, true),
        (part(0, "\"b\"", "0123456"), false, true),
        (whole("\"a\"", "0123456789"), false, false),
        (whole("\"b\"", "0123456789"), false, false),
        (whole("\"a\"", "0123456789"), true, false),
        (whole("\"b\"", "0123456789"), true, true),
    ] {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let mut new = part(2, "\"a\"", "2345");
        if is_stale {
            new.head.freshness.received = Time::from_seconds(1_700_000_100);
        }
        let context = format!("{before:?} {is_stale}");
        assert!(store.insert(key("/"), store.version(), before));
        assert_eq!(store.insert(key("/"), store.version(), new), is_stored, "{context}");
        assert_eq!(bytes(&store, "bytes=3-4"), Some(if is_stored { "part" } else { "whole" }), "{context}");
        assert_eq!(store.find(&key("/")).unwrap().of_scope(0).count(), 1, "{context}");
        assert!(store.insert(key("/"), store.version(), whole("\"c\"", "0123456789")));
        assert_eq!(bytes(&store, "bytes=3-4"), Some("whole"), "{context}");
    }
}

#[test]
fn a_part_leaves_the_note_that_the_whole_cannot_be_stored() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    store.note_uncacheable(&key("/"), 0, Time::from_seconds(10));
    let is_noted = || store.find(&key("/")).unwrap().is_uncacheable(0, Time::from_seconds(9));
    assert!(store.insert(key("/"), store.version(), part(2, "\"a\"", "2345")) && is_noted());
    assert!(store.insert(key("/"), store.version(), whole("\"a\"", "0123456789")) && !is_noted());
}

#[test]
fn parts_of_one_version_are_combined() {
    let stored_after = |before: Storable, new: Storable| {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        assert!(store.insert(key("/"), store.version(), before));
        store.insert(key("/"), store.version(), new);
        let resource = store.find(&key("/")).unwrap();
        let stored: Vec<_> = resource.of_scope(0).cloned().collect();
        assert_eq!(stored.len(), 1);
        let bytes = stored[0].body.memory().unwrap().clone();
        (stored[0].head.headers.get("x-new").is_some(), stored[0].body.extent(), bytes)
    };
    let new = |start, etag, body| {
        let mut new = part(start, etag, body);
        let mut headers = new.head.headers.to_headers();
        headers.append("x-new", "1").unwrap();
        new.head.headers = PackedHeaders::new(&headers);
        new
    };
    let place = |start, end| Extent::Part(ContentRange::new(start..end, 10).unwrap());
    for (before, after, expected) in [
        (part(2, "\"a\"", "234"), new(5, "\"a\"", "56"), (true, place(2, 7), "23456")),
        (part(5, "\"a\"", "567"), new(2, "\"a\"", "2345"), (true, place(2, 8), "234567")),
        (part(2, "\"a\"", "23456"), new(3, "\"a\"", "34"), (true, place(2, 7), "23456")),
        (part(0, "\"a\"", "01234"), new(5, "\"a\"", "56789"), (true, Extent::Whole, "0123456789")),
        // Never of different versions.
        (part(2, "\"b\"", "234"), new(5, "\"a\"", "56"), (true, place(5, 7), "56")),
        // A request for one byte does not displace a longer part.
        (part(2, "\"a\"", "234"), new(8, "\"a\"", "8"), (false, place(2, 5), "234")),
        (part(2, "\"a\"", "234"), new(6, "\"a\"", "678"), (true, place(6, 9), "678")),
    ] {
        let context = format!("{before:?} {after:?}");
        let (is_new, extent, bytes) = stored_after(before, after);
        assert_eq!((is_new, extent, &bytes[..]), (expected.0, expected.1, expected.2.as_bytes()), "{context}");
    }
}

#[test]
fn a_combined_part_has_the_newest_tags() {
    for (first, second, purged, is_there) in
        [("a", "a", "a", false), ("a", "", "a", false), ("a", "b", "b", false), ("a", "b", "a", true)]
    {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let tags = |tags| TagNames::take(&mut headers(&[("xkey", tags)]));
        for (start, names, body) in [(2, first, "234"), (5, second, "56")] {
            let part = Storable { tags: tags(names), ..part(start, "\"a\"", body) };
            assert!(store.insert(key("/"), store.version(), part));
        }
        store.purge(PurgeTarget::Tag(purged.as_bytes()), PurgeMode::Remove);
        assert_eq!(bytes(&store, "bytes=2-6").is_some(), is_there, "{first} {second} {purged}");
    }
}

#[test]
fn parts_that_would_not_be_stored_are_of_no_use() {
    let store = MemoryStore::new(1 << 20, 1 << 10);
    assert!(store.insert(key("/"), store.version(), part(2, "\"a\"", "234")));
    let resource = store.find(&key("/")).unwrap();
    let before = resource.of_scope(0).next().unwrap();
    for (range, etag, expected) in [
        (6..8, "\"a\"", false),
        (6..9, "\"a\"", true),
        (6..8, "\"b\"", true),
        (5..6, "\"a\"", true),
        (3..4, "\"a\"", true),
    ] {
        let place = ContentRange::new(range.clone(), 10).unwrap();
        let found = is_part_of_use(&head(200, &[("etag", etag)]), place, before);
        assert_eq!(found, expected, "{range:?} {etag}");
    }
}
