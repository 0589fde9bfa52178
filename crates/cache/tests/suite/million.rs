//! A million stored responses: what they take, and how long purges last. Run with:
//!
//! ```sh
//! cargo test --release -p serow-cache --test suite -- --ignored --nocapture million
//! ```

use std::{
    fs,
    sync::Barrier,
    time::{Duration, Instant},
};

use serow_cache::{
    CacheRules, ExchangeTimes, Key, MemoryStore, PurgeMode, PurgeTarget, Storable, StoringRequest, TagNames, Time,
    storable,
};
use serow_message::{Headers, Method, Scheme, StatusCode};

const COUNT: usize = 1_000_000;
const BODY: usize = 100;

fn response(tags: &str) -> Storable {
    let mut headers = Headers::new();
    headers.append("cache-control", "max-age=3600").unwrap();
    headers.append("content-type", "text/html; charset=utf-8").unwrap();
    headers.append("surrogate-key", tags).unwrap();
    let tags = TagNames::take(&mut headers);
    let now = Time::from_seconds(1_700_000_000);
    let (request, exchange) = (Headers::new(), ExchangeTimes { sent: now, received: now });
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let (head, _) = storable(request, StatusCode::OK, &headers, &CacheRules::default(), exchange).unwrap();
    Storable { head, body: bytes::Bytes::from(vec![b'x'; BODY]).into(), scope: 0, tags }
}

fn key(number: usize) -> Key {
    Key::new(Scheme::Https, "www.example.com", &format!("/{number:07}"), None, &[])
}

/// Bytes of memory that this process takes.
fn memory() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
}

#[test]
#[ignore = "a measurement, of which docs/measurements/cache.md has the figures"]
fn a_million_responses() {
    let store = MemoryStore::new(4 << 30, 8 << 20);
    let before = memory();
    for number in 0..COUNT {
        assert!(store.insert(key(number), store.version(), response("all page")));
    }
    assert_eq!(store.size().1, COUNT);
    let head = store.find(&key(0)).unwrap().select(0, &Method::GET, &Headers::new()).unwrap().head.size();
    let each = (memory() - before) / COUNT;
    let text = key(0).as_bytes().len() + BODY;
    println!("{each} bytes for each response, of which {text} are key and content, and {head} the head");
    purge(&store, "a tag", PurgeTarget::Tag(b"all"), true);
    assert!(store.find(&key(1)).unwrap().select(0, &Method::GET, &Headers::new()).is_none());
    for number in 0..COUNT {
        assert!(store.insert(key(number), store.version(), response("all page")));
    }
    purge(&store, "a URL", PurgeTarget::Uri("https://www.example.com/0000001"), true);
    purge(&store, "a prefix that nothing has", PurgeTarget::Prefix("https://www.example.com/x"), false);
    purge(&store, "a prefix", PurgeTarget::Prefix("https://www.example.com/0"), false);
    assert_eq!(store.size().1, 0);
}

/// Purges while others look for responses, the slowest of which counts.
fn purge(store: &MemoryStore, what: &str, target: PurgeTarget<'_>, is_short: bool) {
    let is_done = std::sync::atomic::AtomicBool::new(false);
    let begun = Barrier::new(2);
    let (took, slowest) = std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let (mut slowest, mut number) = (Duration::ZERO, 0);
            begun.wait();
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let start = Instant::now();
                std::hint::black_box(store.find(&key(number % COUNT)));
                slowest = slowest.max(start.elapsed());
                number += 7919;
            }
            slowest
        });
        begun.wait();
        let start = Instant::now();
        store.purge(target, PurgeMode::Remove);
        let took = start.elapsed();
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        (took, others.join().unwrap())
    });
    println!("purge of {what}: {took:?}; the slowest lookup meanwhile {slowest:?}");
    assert!(!is_short || took < Duration::from_millis(10), "{what}: {took:?}");
}
