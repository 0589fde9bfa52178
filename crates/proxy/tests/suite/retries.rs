//! Requests that are sent again, through a proxy with real servers.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow::{Request, Response, StatusCode};
use serow_ports::refusing_address;
use serow_proxy::{
    Administration, CrashSettings, ForwardingSettings, PassiveSettings, RetrySettings, ServerSettings, Successor,
    Upstream, UpstreamSettings,
};

use crate::support::{Origin, Proxied, read_head, read_response, server};

/// A server that answers with this status, and counts the requests.
fn counting(status: u16) -> (Origin, Arc<AtomicU64>) {
    let count = Arc::<AtomicU64>::default();
    let counter = Arc::clone(&count);
    let origin = Origin::serve(move |request: Request| {
        counter.fetch_add(1, Ordering::Relaxed);
        async move {
            let _ = request.body.collect(1 << 16).await;
            Response::plain_status(StatusCode::from_u16(status).unwrap())
        }
    });
    (origin, count)
}

/// A server that reads a head and closes the connection without a word, and counts that.
fn breaking() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::<AtomicU64>::default();
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let read = connection.read(&mut [0; 4096]).unwrap();
            // Before the connection is closed: the client's next step may be to read the count.
            counter.fetch_add(u64::from(read > 0), Ordering::Relaxed);
        }
    });
    (address, count)
}

fn proxied(servers: &[SocketAddr], retries: RetrySettings) -> Proxied {
    let mut settings = UpstreamSettings::new("test", servers.iter().map(|address| server(*address)).collect());
    settings.retries = retries;
    // A failing server stays in rotation, so that each request shows its retries.
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    Proxied::with(settings, ForwardingSettings::default())
}

fn ask(proxied: &Proxied, method: &str, body: &str) -> String {
    let mut client = proxied.connect();
    let head = format!("{method} / HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all((head + body).as_bytes()).unwrap();
    read_response(&mut client).get(9..12).unwrap().to_owned()
}

/// How many of six requests were answered with 200 while each second one went to the wrong server first, and how many
/// are counted at servers when they are over.
fn outcomes(wrong: SocketAddr, retries: &RetrySettings, method: &str, body: &str) -> (usize, u32) {
    let (good, _) = counting(200);
    let proxied = proxied(&[wrong, good.address()], retries.clone());
    let good = (0..6).filter(|_| ask(&proxied, method, body) == "200").count();
    (good, proxied.upstream.servers().iter().map(|server| server.active()).sum())
}

#[test]
fn safe_requests_are_retried() {
    let everything = RetrySettings { budget: 100, ..RetrySettings::default() };
    let all_methods = RetrySettings { all_methods: true, ..everything.clone() };
    let nothing = RetrySettings { tries: 1, ..everything.clone() };
    let (breaking, _) = breaking();
    let (sick, _) = counting(503);
    let on_status = RetrySettings { on_status: vec![StatusCode::SERVICE_UNAVAILABLE], ..everything.clone() };
    let gone = refusing_address();
    let cases = [
        ("no connection", gone, &everything, "GET", "", true),
        ("no connection", gone, &everything, "POST", "hello", true),
        ("no connection", gone, &nothing, "GET", "", false),
        ("closed", breaking, &everything, "GET", "", true),
        ("closed", breaking, &everything, "DELETE", "", true),
        ("closed", breaking, &everything, "POST", "", false),
        ("closed", breaking, &all_methods, "POST", "", true),
        ("closed", breaking, &everything, "PUT", "hello", true),
        ("closed", breaking, &everything, "POST", "hello", false),
        ("closed", breaking, &all_methods, "POST", "hello", true),
        ("closed", breaking, &nothing, "GET", "", false),
        ("503", sick.address(), &everything, "GET", "", false),
        ("503", sick.address(), &on_status, "GET", "", true),
        ("503", sick.address(), &on_status, "POST", "", false),
    ];
    for (what, wrong, retries, method, body, all_good) in cases {
        let (good, active) = outcomes(wrong, retries, method, body);
        assert_eq!(good, if all_good { 6 } else { 3 }, "{what} {method} {body:?}");
        assert_eq!(active, 0, "{what} {method} {body:?}");
    }
}

#[test]
fn the_only_server_is_not_retried_for_a_status() {
    let (sick, count) = counting(503);
    let retries = RetrySettings { on_status: vec![StatusCode::SERVICE_UNAVAILABLE], ..RetrySettings::default() };
    assert_eq!(ask(&proxied(&[sick.address()], retries), "GET", ""), "503");
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[test]
fn the_retry_budget_limits_retries() {
    let (breaking, count) = breaking();
    let proxied = proxied(&[breaking], RetrySettings::default());
    let began = std::time::Instant::now();
    for _ in 0..100 {
        assert_eq!(ask(&proxied, "GET", ""), "502");
    }
    let asked = count.load(Ordering::Relaxed);
    // A fifth, and three of each second.
    let most = 100 + 20 + 3 * (began.elapsed().as_secs() + 1);
    assert!((103..=most).contains(&asked), "{asked} {most}");
}

/// A server that answers each connection's first request, and closes it without a word when the second one comes.
fn hasty() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            crate::support::read_head(&mut connection);
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
            crate::support::read_head(&mut connection);
        }
    });
    address
}

#[test]
fn a_connection_that_was_closed_while_idle_is_no_try() {
    let nothing = RetrySettings { tries: 1, on_broken: false, ..RetrySettings::default() };
    let proxied = proxied(&[hasty()], nothing);
    for number in 0..20 {
        assert_eq!(ask(&proxied, "GET", ""), "200", "{number}");
    }
    let report = &proxied.upstream.report().servers[0];
    // All but the first went onto a connection that was there, and then onto one of their own.
    assert_eq!((report.requests, report.failures, report.retries), (39, 0, 0));
    assert_eq!(ask(&proxied, "POST", ""), "502", "the server may have seen it");
}

/// A server that answers `/well`, and at `/poison` leaves the upstream in this way and closes the connection.
fn quitting(upstream: Arc<OnceLock<Upstream>>, leave: fn(&Upstream, &str)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            while read_head(&mut connection).starts_with("GET /well ") {
                connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
            }
            leave(upstream.get().unwrap(), &address.to_string());
        }
    });
    address
}

#[test]
fn a_server_that_has_ended_has_crashed_with_the_request_and_one_that_is_down_has_not() {
    let ended: fn(&Upstream, &str) = |upstream, name| drop(upstream.remove_server(name).unwrap());
    let down: fn(&Upstream, &str) = |upstream, name| drop(upstream.administrate(name, Administration::Down).unwrap());
    // One of the others crashes with it as well, and no second one; or two of them.
    for (leave, crashes) in [(ended, 1), (down, 2)] {
        assert_eq!(crashes_after(leave), crashes);
    }
}

/// How many of three servers crash with a request, after the first has left.
fn crashes_after(leave: fn(&Upstream, &str)) -> u64 {
    let slot = Arc::<OnceLock<Upstream>>::default();
    let (first, others) = (quitting(Arc::clone(&slot), leave), [breaking(), breaking(), breaking()]);
    let mut servers = vec![server(first)];
    servers.extend(others.iter().map(|(address, _)| ServerSettings { backup: true, ..server(*address) }));
    let mut settings = UpstreamSettings::new("test", servers);
    settings.crashes = Some(CrashSettings { min_servers: Some(2), successor: Successor::Elsewhere });
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    slot.set(proxied.upstream.clone()).ok().unwrap();
    let mut client = proxied.connect();
    for (path, status) in [("/well", "200"), ("/poison", "502")] {
        client.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(read_response(&mut client).get(9..12), Some(status), "{path}");
    }
    others.map(|(_, count)| count.load(Ordering::Relaxed)).iter().sum()
}

#[test]
fn a_request_crashes_two_processes_at_most_though_others_have_just_crashed_at_their_sockets() {
    let servers = [breaking(), breaking(), breaking(), breaking()];
    let mut settings = UpstreamSettings::new("test", servers.iter().map(|(address, _)| server(*address)).collect());
    settings.crashes = Some(CrashSettings { min_servers: Some(2), successor: Successor::SameSocket });
    settings.retries = RetrySettings { budget: 100, ..RetrySettings::default() };
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let mut client = proxied.connect();
    let mut before = 0;
    // The last is known by then.
    for (path, crashes) in [("/a", 2), ("/b", 2), ("/c", 2), ("/d", 2), ("/a", 1)] {
        client.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(read_response(&mut client).get(9..12), Some("502"), "{path}");
        let all: u64 = servers.iter().map(|(_, count)| count.load(Ordering::Relaxed)).sum();
        assert_eq!(all - before, crashes, "{path}");
        before = all;
    }
}

/// A server that closes its first connection at the second request, and on all others never answers.
fn falling_silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut first = listener.accept().unwrap().0;
        read_head(&mut first);
        first.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        read_head(&mut first);
        drop(first);
        let _silent: Vec<_> = listener.incoming().collect();
    });
    address
}

#[test]
fn a_server_that_closes_a_connection_and_is_then_slow_has_not_crashed() {
    let (others, count) = counting(200);
    let other = ServerSettings { backup: true, ..server(others.address()) };
    let mut settings = UpstreamSettings::new("test", vec![server(falling_silent()), other]);
    settings.crashes = Some(CrashSettings { min_servers: Some(2), successor: Successor::Elsewhere });
    settings.timeouts.response = Duration::from_millis(300);
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let mut client = proxied.connect();
    for _ in 0..2 {
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        assert_eq!(read_response(&mut client).get(9..12), Some("200"));
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
}
