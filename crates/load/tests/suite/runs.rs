//! Whole runs against servers in this process: every request is accounted for.

mod faults;
mod scripts;
mod server;

use std::time::Duration;

use bytes::Bytes;
use http::Version;
use serow_client::{Destination, Dialer, Origin};
use serow_load::{Batch, Parts, Plan, Requests, Results, Run};
use server::Counting;

/// Both versions, with as many requests at a time as is usual there.
const VERSIONS: [(Version, usize); 2] = [(Version::HTTP_11, 1), (Version::HTTP_2, 8)];

/// A plan of a few requests for this place.
fn plan(destination: Destination, version: Version, streams: usize) -> Plan {
    Plan {
        origin: Origin::of_url("http://localhost/").unwrap().0,
        dialer: Dialer { destination, encryption: None, timeout: Duration::from_secs(5) },
        version,
        requests: Requests::Fixed(vec![(1, batch("GET", "/", ""))]),
        threads: 2,
        connections: 5,
        streams,
        keep_alive: true,
        duration: None,
        count: Some(1000),
        rate: None,
        warm_up: Duration::ZERO,
        timeout: Duration::from_secs(10),
    }
}

fn batch(method: &str, path: &str, body: &'static str) -> Batch {
    let body = Bytes::from_static(body.as_bytes());
    Batch::new(&Parts { method, path, host: "localhost", headers: &[], body, close: false }).unwrap()
}

fn run(plan: Plan) -> Results {
    Run::new(plan).run(|_| {}, |results| results).unwrap()
}

#[test]
fn requests_are_counted_alike_on_both_sides() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let results = run(plan(server.tcp(), version, streams));
        assert_eq!((results.requests, server.count()), (1000, 1000), "{version:?}");
        assert_eq!(results.errors.all(), 0, "{version:?}: {:?}", results.errors);
        assert_eq!((results.latencies.count(), results.statuses[&200]), (1000, 1000), "{version:?}");
        assert_eq!(results.connections_made, 5, "{version:?}");
        assert_eq!(results.time_series.iter().map(|step| step.requests).sum::<u64>(), 1000, "{version:?}");
        let unix = run(plan(server.unix(), version, streams));
        assert_eq!((unix.requests, server.count()), (1000, 2000), "{version:?}");
    }
}

#[test]
fn those_under_way_at_the_end_are_awaited() {
    for (version, streams) in VERSIONS {
        let server = Counting::slow(Duration::from_millis(30));
        let duration = Some(Duration::from_millis(250));
        let results = run(Plan { count: None, duration, ..plan(server.tcp(), version, streams) });
        assert!(results.requests > 5, "{version:?}");
        assert_eq!((results.requests, results.errors.all()), (server.count(), 0), "{version:?}");
        assert!(results.elapsed >= Duration::from_millis(250), "{version:?}: {:?}", results.elapsed);
    }
}

#[test]
fn the_warm_up_does_not_count() {
    for (version, streams) in VERSIONS {
        for rate in [None, Some(2000.0)] {
            let server = Counting::start();
            let warm_up = Duration::from_millis(150);
            let results = run(Plan { warm_up, rate, count: Some(100), ..plan(server.tcp(), version, streams) });
            assert!(server.count() > 100, "{version:?} {rate:?}: {}", server.count());
            // Nor do responses that come behind its end to requests that went before.
            assert_eq!((results.requests, results.errors.all()), (100, 0), "{version:?} {rate:?}");
        }
    }
}

#[test]
fn a_connection_for_each_request() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        for destination in [server.tcp(), server.unix()] {
            let before = server.count();
            let results = run(Plan { keep_alive: false, count: Some(200), ..plan(destination, version, streams) });
            assert_eq!((results.requests, server.count() - before), (200, 200), "{version:?}");
            assert_eq!((results.connections_made, results.errors.all()), (200, 0), "{version:?}");
        }
    }
}

#[test]
fn bodies_go_out_and_come_back() {
    static LARGE: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    // More than a window and a socket hold.
    let large = LARGE.get_or_init(|| "0123456789abcdef".repeat(40_000));
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let requests = Requests::Fixed(vec![(3, batch("POST", "/echo", large)), (1, batch("GET", "/", ""))]);
        let results = run(Plan { requests, count: Some(40), ..plan(server.tcp(), version, streams) });
        assert_eq!((results.requests, results.errors.all()), (40, 0), "{version:?}: {:?}", results.errors);
        assert!(results.bytes > 30 * large.len() as u64, "{version:?}: {}", results.bytes);
        assert_eq!(server.received(), 30 * large.len() as u64, "{version:?}");
    }
}

#[test]
fn a_planned_rate_is_kept() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let (duration, rate) = (Some(Duration::from_millis(500)), Some(400.0));
        let results = run(Plan { count: None, duration, rate, ..plan(server.tcp(), version, streams) });
        assert_eq!(results.requests + results.unsent, 200, "{version:?}: {results:?}");
        assert_eq!((results.requests, results.errors.all()), (server.count(), 0), "{version:?}");
    }
}

#[test]
fn latencies_count_from_when_a_request_was_due() {
    for (version, _) in VERSIONS {
        // 20 ms each and one at a time: half of what is due.
        let server = Counting::slow(Duration::from_millis(20));
        let plan =
            Plan { threads: 1, connections: 1, count: Some(20), rate: Some(100.0), ..plan(server.tcp(), version, 1) };
        let results = run(plan);
        assert_eq!((results.requests, results.errors.all()), (20, 0), "{version:?}");
        // The last was due after 190 ms and answered after 400.
        let longest = Duration::from_nanos(results.latencies.most());
        assert!(longest >= Duration::from_millis(190), "{version:?}: {longest:?}");
    }
}
