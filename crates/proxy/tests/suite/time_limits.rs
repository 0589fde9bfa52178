//! Time limits of less than a second, measured from a client.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use serow_proxy::{ForwardingSettings, PassiveSettings, RetrySettings, UpstreamSettings, UpstreamTimeouts};

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
            let mut settings = UpstreamSettings::new("test", vec![server(address)]);
            settings.timeouts = timeouts;
            settings.retries = RetrySettings { tries: 1, ..RetrySettings::default() };
            settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
            let proxied = Proxied::with(settings, ForwardingSettings::default());
            let times: Vec<_> = (0..3).map(|_| measure(&proxied, path)).collect();
            assert!(times.iter().all(|time| *time >= limit), "{name} {limit:?}: {times:?}");
            // The best of them, since a machine with much else to do may be late each second time. With ticks of 250
            // ms, none is less than 150 ms late.
            let least = times.iter().min().unwrap().saturating_sub(limit);
            assert!(least < Duration::from_millis(100), "{name} {limit:?}: {times:?}");
        }
    }
}
