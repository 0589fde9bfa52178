//! Time limits of less than a second, measured from a client.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use serow_proxy::{
    ForwardingSettings, ForwardingTimeouts, PassiveSettings, RetrySettings, UpstreamSettings, UpstreamTimeouts,
};

use crate::support::{Proxied, read_head, server};

/// A server that takes requests, and of `/half` sends a part of a response.
fn silent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                if read_head(&mut connection).starts_with("GET /half ") {
                    connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").unwrap();
                }
                let _ = connection.read(&mut [0]);
            });
        }
    });
    address
}

/// How long it takes until a request has failed.
fn measure(proxied: &Proxied, path: &str) -> Duration {
    let mut client: TcpStream = proxied.connect();
    let began = Instant::now();
    client.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut response = Vec::new();
    // A response that is cut off ends with a reset.
    let _ = client.read_to_end(&mut response);
    let status = if path == "/half" { "HTTP/1.1 200 " } else { "HTTP/1.1 504 " };
    assert!(response.starts_with(status.as_bytes()), "{}", response.escape_ascii());
    began.elapsed()
}

#[test]
fn limits_below_a_second_are_never_early_and_not_a_tick_late() {
    let address = silent();
    let long = Duration::from_secs(60);
    let usual = UpstreamTimeouts { response: long, transfer: long, ..UpstreamTimeouts::default() };
    for limit in [50, 100, 500].map(Duration::from_millis) {
        let cases = [
            ("response", "/", UpstreamTimeouts { response: limit, ..usual }),
            ("transfer", "/half", UpstreamTimeouts { transfer: limit, ..usual }),
            ("total", "/", UpstreamTimeouts { total: Some(limit), ..usual }),
        ];
        for (name, path, timeouts) in cases {
            assert_timely(&proxied(address, timeouts, None), name, path, limit);
        }
    }
}

#[test]
fn limits_of_a_route_take_the_place_of_those_of_its_upstream() {
    let address = silent();
    let (short, limit, long) = (Duration::from_millis(10), Duration::from_millis(300), Duration::from_secs(60));
    let usual = ForwardingTimeouts::default();
    let (response, transfer, total) = (Some(limit), Some(limit), Some(limit));
    // Shorter, and longer.
    let upstreams = [
        UpstreamTimeouts { response: long, transfer: long, ..UpstreamTimeouts::default() },
        UpstreamTimeouts { response: short, transfer: short, total: Some(short), ..UpstreamTimeouts::default() },
    ];
    for upstream in upstreams {
        let cases = match upstream.total {
            None => [
                ("response", "/", ForwardingTimeouts { response, ..usual }),
                ("transfer", "/half", ForwardingTimeouts { transfer, ..usual }),
                ("total", "/", ForwardingTimeouts { total, ..usual }),
            ],
            Some(_) => [
                ("response", "/", ForwardingTimeouts { response, transfer, total: Some(long) }),
                ("transfer", "/half", ForwardingTimeouts { response, transfer, total: Some(long) }),
                ("total", "/", ForwardingTimeouts { response: Some(long), transfer, total }),
            ],
        };
        for (name, path, timeouts) in cases {
            assert_timely(&proxied(address, upstream, Some(timeouts)), name, path, limit);
        }
    }
}

/// A proxy of a server that gets each request once.
fn proxied(address: SocketAddr, timeouts: UpstreamTimeouts, of_route: Option<ForwardingTimeouts>) -> Proxied {
    let mut settings = UpstreamSettings::new("test", vec![server(address)]);
    settings.timeouts = timeouts;
    settings.retries = RetrySettings { tries: 1, ..RetrySettings::default() };
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    Proxied::with(settings, ForwardingSettings { timeouts: of_route, ..ForwardingSettings::default() })
}

#[track_caller]
fn assert_timely(proxied: &Proxied, name: &str, path: &str, limit: Duration) {
    let times: Vec<_> = (0..3).map(|_| measure(proxied, path)).collect();
    assert!(times.iter().all(|time| *time >= limit), "{name} {limit:?}: {times:?}");
    // The best of them, since a machine with much else to do may be late each second time. With ticks of 250 ms, none is
    // less than 150 ms late.
    let least = times.iter().min().unwrap().saturating_sub(limit);
    assert!(least < Duration::from_millis(100), "{name} {limit:?}: {times:?}");
}
