//! Parts and whole responses of several versions in any order: whoever asks gets bytes of one version, and never a part in
//! place of the whole.
//!
//! The long run: `PROPTEST_CASES=1000000 cargo test --release -p serow-cache --test suite parts`.

use std::{ops::Range, time::Duration};

use bytes::Bytes;
use proptest::prelude::*;
use serow_cache::{
    CacheRules, ExchangeTimes, Key, MemoryStore, PurgeMode, PurgeTarget, Selection, Storable, Stored, StoredBody,
    StoredContent, StoringRequest, TagNames, Time, select_of_part, storable,
};
use serow_message::{Headers, Method, Scheme, StatusCode};

#[derive(Clone, Debug)]
enum Step {
    /// The origin sends these bytes of a version.
    Part(u8, Range<u64>),
    /// The origin sends all of a version.
    Whole(u8),
    Invalidate,
    Outdate,
    /// So many seconds pass.
    Wait(u64),
    /// A client asks for these bytes, or for all; if it has this version, if it says so.
    Ask(Method, Option<Range<u64>>, Option<u8>),
}

/// Bytes of a version; some have different lengths, too.
fn content(version: u8) -> Vec<u8> {
    (0..LENGTH + version / 2).map(|place| place.wrapping_mul(31).wrapping_add(version.wrapping_mul(97))).collect()
}

fn etag(version: u8) -> String {
    format!("\"{version}\"")
}

fn range() -> impl Strategy<Value = Range<u64>> {
    (0..u64::from(LENGTH)).prop_flat_map(|start| (start + 1..=u64::from(LENGTH)).prop_map(move |end| start..end))
}

fn step() -> impl Strategy<Value = Step> {
    let method = prop_oneof![9 => Just(Method::GET), 1 => Just(Method::HEAD)];
    prop_oneof![
        6 => (0..VERSIONS, range()).prop_map(|(version, range)| Step::Part(version, range)),
        1 => (0..VERSIONS).prop_map(Step::Whole),
        1 => Just(Step::Invalidate),
        1 => Just(Step::Outdate),
        1 => (0..100_u64).prop_map(Step::Wait),
        8 => (method, prop::option::weighted(0.9, range()), prop::option::weighted(0.3, 0..VERSIONS))
            .prop_map(|(method, range, version)| Step::Ask(method, range, version)),
    ]
}

/// Stores what the origin has sent, as far as it may be stored.
fn store(memory: &MemoryStore, now: Time, version: u8, range: Option<Range<u64>>) {
    let (mut request, mut response, whole) = (Headers::new(), Headers::new(), content(version));
    response.append("cache-control", "max-age=60").unwrap();
    response.append("etag", etag(version)).unwrap();
    let (status, bytes) = match range {
        None => (StatusCode::OK, whole),
        Some(range) => {
            request.append("range", format!("bytes={}-{}", range.start, range.end - 1)).unwrap();
            let place = format!("bytes {}-{}/{}", range.start, range.end - 1, whole.len());
            response.append("content-range", place).unwrap();
            (StatusCode::PARTIAL_CONTENT, whole[range.start as usize..range.end as usize].to_vec())
        }
    };
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let exchange = ExchangeTimes { sent: now, received: now };
    let (head, extent) = storable(request, status, &response, &CacheRules::default(), exchange).unwrap();
    let body = StoredBody::new(StoredContent::Memory(Bytes::from(bytes)), extent).unwrap();
    memory.insert(key(), memory.version(), Storable { head, body, scope: 0, tags: TagNames::default() });
}

/// Checks what a client gets of a stored response.
fn check(stored: &Stored, request: &Headers, method: &Method, range: Option<&Range<u64>>, condition: Option<u8>) {
    let version = (0..VERSIONS).find(|version| stored.head.etag() == Some(etag(*version).as_bytes())).unwrap();
    let whole = content(version);
    assert_eq!(stored.head.status, StatusCode::OK);
    match &stored.body {
        StoredBody::Whole(content) => assert_eq!(content.memory().unwrap(), &whole),
        StoredBody::Part(part) => {
            assert_eq!(*method, Method::GET);
            assert!(condition.is_none_or(|condition| condition == version));
            let (place, bytes) = (part.place(), part.content().memory().unwrap());
            let selection = select_of_part(request, &stored.head, place).unwrap();
            assert_eq!(selection, Selection::Part(range.unwrap().clone()));
            let range = range.unwrap();
            let sent = &bytes[(range.start - place.range().start) as usize..(range.end - place.range().start) as usize];
            assert_eq!(sent, &whole[range.start as usize..range.end as usize]);
            assert_eq!(place.complete_length(), whole.len() as u64);
        }
    }
}

proptest! {
    #[test]
    fn no_request_gets_bytes_of_two_versions_or_a_part_as_the_whole(steps in prop::collection::vec(step(), 1..40)) {
        let (memory, mut now) = (MemoryStore::new(1 << 20, 1 << 10), Time::from_seconds(1_700_000_000));
        for step in steps {
            match step {
                Step::Part(version, range) => store(&memory, now, version, Some(range)),
                Step::Whole(version) => store(&memory, now, version, None),
                Step::Invalidate => memory.invalidate(&key()),
                Step::Outdate => drop(memory.purge(PurgeTarget::Uri("http://a/"), PurgeMode::Outdate(now))),
                Step::Wait(seconds) => now = now.after(Duration::from_secs(seconds)),
                Step::Ask(method, range, condition) => {
                    let mut request = Headers::new();
                    if let Some(range) = &range {
                        request.append("range", format!("bytes={}-{}", range.start, range.end - 1)).unwrap();
                    }
                    if let Some(version) = condition {
                        request.append("if-range", etag(version)).unwrap();
                    }
                    let Some(resource) = memory.find(&key()) else { continue };
                    prop_assert!(resource.of_scope(0).count() <= 1, "one for each variant");
                    if let Some(stored) = resource.select(0, &method, &request) {
                        check(stored, &request, &method, range.as_ref(), condition);
                    }
                }
            }
        }
    }
}

fn key() -> Key {
    Key::new(Scheme::Http, "a", "/", None, &[])
}

const VERSIONS: u8 = 3;

/// Bytes of the shortest version.
const LENGTH: u8 = 40;
