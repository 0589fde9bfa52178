//! Each client gets only what the origin would let this client have: random origins and clients with the cache between them, and a
//! model of RFC 9111 that knows nothing of the cache and judges each response.
//!
//! | part | file |
//! | --- | --- |
//! | a client's request, and what of it the origin goes by | `transparency/client.rs` |
//! | an origin that changes its mind; what it has said | `transparency/origin.rs`; `transparency/said.rs` |
//! | whether a client might get a response | `transparency/model.rs` |
//!
//! Clock and dice are the test's own, so a number of a case says all of it. The long run:
//! `PROPTEST_CASES=10000000 cargo test --profile checked -p serow-site --lib transparency`.

mod client;
mod dice;
mod model;
mod origin;
mod said;

use std::{cell::RefCell, rc::Rc, time::Duration};

use serow::{Handler, Request};
use serow_cache::{CacheRules, PurgeTarget, Time};
use serow_gateway::TrustedProxies;
use serow_message::Network;
use tokio::{
    runtime::Builder,
    task::{LocalSet, spawn_local, yield_now},
    time::sleep,
};

use self::{
    client::{Ask, HOST, PATHS, TRUSTED},
    dice::Dice,
    model::{Delivered, Event, Verdict},
    origin::{World, respond},
};
use super::{CacheSettings, CacheStore, IgnoredQuery, ResponseCache, RouteCache, origin::Origin};

/// How often each kind of verdict was given.
#[derive(Debug, Default)]
struct Seen {
    own: usize,
    validated: usize,
    withdrawn: usize,
    hits: usize,
    stale: usize,
    none: usize,
}

#[test]
fn no_client_gets_what_the_origin_would_not_let_it_have() {
    let wanted = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(EXCHANGES);
    let first = std::env::var("TRANSPARENCY_CASE").ok().and_then(|text| text.parse().ok());
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let (mut seen, mut count) = (Seen::default(), 0);
    for number in first.unwrap_or(0).. {
        let local = LocalSet::new();
        count += local.block_on(&runtime, case(number, &mut seen));
        if count >= wanted || first.is_some() {
            break;
        }
    }
    println!("{count} exchanges: {seen:?}");
    // A test in which nothing is stored, validated or withdrawn would say nothing.
    let least = if first.is_some() { 0 } else { count / 1000 };
    assert!([seen.own, seen.validated, seen.hits, seen.stale].iter().all(|seen| *seen >= least), "{seen:?}");
    assert!(first.is_some() || seen.withdrawn > 0, "{seen:?}");
}

/// Runs a case; how many exchanges it had.
async fn case(number: u64, seen: &mut Seen) -> usize {
    let mut dice = Dice::new(number);
    let world = Rc::new(RefCell::new(World::new(dice.fork())));
    let ignores = dice.one_in(2);
    let cache = cache(ignores);
    let origin = {
        let world = Rc::clone(&world);
        move |request: Request| respond(Rc::clone(&world), request)
    };
    let mut judged = 0;
    for _ in 0..STEPS {
        change(&world, &cache, &mut dice).await;
        let count = if dice.one_in(5) { 2 + dice.below(3) } else { 1 };
        let asks: Vec<_> = (0..count).map(|_| Ask::random(&mut dice, ignores)).collect();
        let mut clients = Vec::new();
        let similar = dice.one_in(2);
        for ask in &asks {
            // Requests for the same response at the same time share it.
            let ask = if similar { asks[0].clone() } else { ask.clone() };
            clients.push(spawn_local(exchange(Rc::clone(&world), cache.clone(), origin.clone(), ask)));
            yield_now().await;
        }
        for client in clients {
            let delivered = client.await.unwrap();
            judged += 1;
            let mut world = world.borrow_mut();
            match model::judge(&mut world, &delivered) {
                Ok(Verdict::Own) => seen.own += 1,
                Ok(Verdict::Validated { is_withdrawn }) => {
                    seen.validated += 1;
                    seen.withdrawn += usize::from(is_withdrawn);
                }
                Ok(Verdict::Hit { is_stale: false }) => seen.hits += 1,
                Ok(Verdict::Hit { is_stale: true }) => seen.stale += 1,
                Ok(Verdict::Nothing) => seen.none += 1,
                Err(why) => panic!("TRANSPARENCY_CASE={number}: {why}\n{delivered:#?}\n{}", world.story(&delivered)),
            }
        }
    }
    judged
}

/// Changes the world between requests: time passes, the origin changes, responses are purged.
async fn change(world: &Rc<RefCell<World>>, cache: &ResponseCache, dice: &mut Dice) {
    if dice.one_in(3) {
        sleep(Duration::from_millis(dice.of(&[1, 400, 1000, 2500, 6000, 70_000]))).await;
    }
    if dice.one_in(3) {
        world.borrow_mut().change(dice);
    }
    if dice.one_in(20) {
        let (path, is_soft) = (dice.below(PATHS), dice.one_in(2));
        for scheme in ["http", "https"] {
            let uri = format!("{scheme}://{HOST}/{path}");
            let _ = cache.store.purge(PurgeTarget::Uri(&uri), is_soft);
        }
        world.borrow_mut().note(Event::Purge { path, is_soft });
    }
}

/// Has the cache answer a request.
async fn exchange(world: Rc<RefCell<World>>, cache: ResponseCache, origin: impl Handler, mut ask: Ask) -> Delivered {
    let request = world.borrow_mut().asked(&mut ask);
    let asked = world.borrow().now();
    let index = world.borrow_mut().index();
    let response = cache.respond(&origin, request).await;
    let got = world.borrow().now();
    let delivered = Delivered::of(ask, asked, got, index, response).await;
    if delivered.ask.is_unsafe() && delivered.status < 400 {
        let event = Event::Invalidation(delivered.ask.key());
        world.borrow_mut().note(event);
    }
    delivered
}

/// A cache whose route believes some proxies, has a key of its own, and a handler that sets a field.
fn cache(ignores: bool) -> ResponseCache {
    let store = CacheStore::since(Time::from_seconds(1_700_000_000), 1 << 20, 1 << 12);
    let settings = CacheSettings {
        rules: CacheRules::default(),
        key_fields: vec!["x-tenant".to_owned()],
        key_cookies: vec!["lang".to_owned()],
        ignored_query: if ignores { IgnoredQuery::Names(vec!["utm".to_owned()]) } else { IgnoredQuery::Nothing },
        ..CacheSettings::default()
    };
    let trust: TrustedProxies = [TRUSTED.parse::<Network>().unwrap()].into_iter().collect();
    let origin = Origin { trust, set_fields: vec![b"x-set"[..].into()], name: String::new() };
    RouteCache::new(store, settings, String::new()).with_origin(origin)
}

/// Exchanges of a run that is not the long one.
const EXCHANGES: usize = 100_000;

/// Steps of a case.
const STEPS: usize = 120;
