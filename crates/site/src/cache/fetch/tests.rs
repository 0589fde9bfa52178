//! Requests that wait for one another, by a clock that the tests set.

use serow::{Handler, Response};
use serow_cache::Time;
use tokio::{
    runtime::Builder,
    task::{LocalSet, spawn_local},
    time::sleep,
};

use super::*;
use crate::cache::{CacheSettings, CacheStore, RouteCache, origin::Origin};

fn cache() -> ResponseCache {
    let store = CacheStore::since(Time::from_seconds(1_700_000_000), 1 << 20, 1 << 12);
    RouteCache::new(store, CacheSettings::default(), String::new()).with_origin(Origin::default())
}

/// When clients that ask at these moments have their responses, in milliseconds.
async fn ends(cache: &ResponseCache, origin: impl Handler, starts: &[u64]) -> Vec<u128> {
    let begin = Instant::now();
    let clients = starts.iter().map(|start| {
        let (cache, origin, start) = (cache.clone(), origin.clone(), *start);
        spawn_local(async move {
            sleep(Duration::from_millis(start)).await;
            let mut request = Request::get("/");
            request.headers.append("host", "a.example").unwrap();
            drop(cache.respond(&origin, request).await);
            begin.elapsed().as_millis()
        })
    });
    let mut ends = Vec::new();
    for client in clients.collect::<Vec<_>>() {
        ends.push(client.await.unwrap());
    }
    ends
}

fn run(test: impl Future<Output = ()>) {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test);
}

#[test]
fn slow_responses_that_are_not_stored_do_not_hold_others_up() {
    run(async {
        let origin = |_: Request| async {
            sleep(Duration::from_secs(12)).await;
            Response::text("x").with("cache-control", "no-store")
        };
        let cache = cache();
        // Each waits for five seconds at most.
        assert_eq!(ends(&cache, origin, &[0, 500, 2000, 13_000]).await, [12_000, 17_500, 19_000, 25_000]);
        // It is remembered for longer than such a response takes.
        sleep(Duration::from_secs(60)).await;
        assert_eq!(ends(&cache, origin, &[0, 500]).await, [12_000, 12_500]);
    });
}

#[test]
fn others_go_on_without_a_request_that_hangs() {
    run(async {
        let is_first = std::rc::Rc::new(std::cell::Cell::new(true));
        let origin = move |_: Request| {
            let hangs = is_first.replace(false);
            async move {
                if hangs {
                    sleep(Duration::from_secs(60)).await;
                }
                Response::text("x").with("cache-control", "max-age=100")
            }
        };
        assert_eq!(ends(&cache(), origin, &[0, 1000, 7000]).await, [60_000, 6000, 7000]);
    });
}
