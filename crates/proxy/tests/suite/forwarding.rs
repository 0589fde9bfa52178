//! Requests through a proxy to real servers.

use std::io::{Read, Write};

use bytes::Bytes;
use serow::{Body, Request, Response, StatusCode};

use serow_proxy::{ForwardingSettings, PassiveSettings, UpstreamSettings};

use crate::support::{Origin, Proxied, held, read_response, until};

#[test]
fn a_request_and_its_response_go_through() {
    let origin = Origin::serve(|request: Request| async move {
        let body = request.body.collect(1 << 20).await.unwrap();
        let text = format!("{} {} {}", request.method, request.target.as_str(), body.len());
        Response::text(text).with("x-origin", "1")
    });
    let proxied = Proxied::new(&[origin.address()]);
    let mut client = proxied.connect();
    for _ in 0..3 {
        client.write_all(b"POST /a?b=c HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").unwrap();
        let response = read_response(&mut client);
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert!(response.contains("x-origin: 1\r\n") && response.ends_with("POST /a?b=c 5"), "{response}");
    }
    // One connection served them all.
    assert_eq!(origin.connections(), 1);
}

#[test]
fn large_bodies_go_through_both_ways() {
    let origin = Origin::serve(|request: Request| async move { Response::new(StatusCode::OK).body(request.body) });
    let proxied = Proxied::new(&[origin.address()]);
    proxied.carries_a_large_body();
}

#[test]
fn truncated_responses_stay_truncated() {
    let origin = Origin::serve(|_: Request| async move {
        let (sender, incoming) = serow_message::Incoming::channel(Some(100));
        sender.fail(serow_message::IncomingError::Disconnected);
        Response::new(StatusCode::OK).body(Body::from(incoming))
    });
    let proxied = Proxied::new(&[origin.address()]);
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let mut received = Vec::new();
    // Either nothing came, or a head and then a reset.
    let ended = client.read_to_end(&mut received);
    assert!(ended.is_err() || received.starts_with(b"HTTP/1.1 502"), "{}", Bytes::from(received).escape_ascii());
}

#[test]
fn requests_survive_a_closed_server() {
    let first = Origin::serve(|_: Request| async move { Response::text("first") });
    let gone = serow_ports::refusing_address();
    let proxied = Proxied::new(&[first.address(), gone]);
    for _ in 0..10 {
        let mut client = proxied.connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        let response = read_response(&mut client);
        assert!(response.ends_with("first"), "{response}");
    }
    let proxied = Proxied::new(&[gone]);
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).starts_with("HTTP/1.1 502 "));
}

#[test]
fn another_protocol_goes_through() {
    let origin = Origin::serve(|mut request: Request| async move {
        let Some(upgrade) = request.upgrade() else { return Response::new(StatusCode::UPGRADE_REQUIRED) };
        tokio::task::spawn_local(async move {
            let mut connection = upgrade.await.unwrap();
            let (mut reader, mut writer) = tokio::io::split(&mut connection);
            let _ = tokio::io::copy(&mut reader, &mut writer).await;
        });
        Response::new(StatusCode::SWITCHING_PROTOCOLS).with("upgrade", "echo")
    });
    let proxied = Proxied::new(&[origin.address()]);
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n").unwrap();
    let head = crate::support::read_head(&mut client);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for _ in 0..3 {
        client.write_all(b"hello").unwrap();
        let mut echo = [0; 5];
        client.read_exact(&mut echo).unwrap();
        assert_eq!(&echo, b"hello");
    }
}

/// A server that answers each connection's first request as if more could come, and then closes it.
/// Tells the request's line when the connection is closed.
fn hasty() -> (std::net::SocketAddr, std::sync::mpsc::Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (seen, sees) = std::sync::mpsc::channel();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let head = crate::support::read_head(&mut connection);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
            drop(connection);
            let _ = seen.send(head.lines().next().unwrap_or_default().to_owned());
        }
    });
    (address, sees)
}

#[test]
fn connections_that_servers_close_cost_nothing() {
    let (address, sees) = hasty();
    let proxied = Proxied::new(&[address]);
    let mut client = proxied.connect();
    for number in 0..40 {
        // A request that cannot be retried is not sent on a closed connection.
        let method = if number % 2 == 0 { "GET" } else { "POST" };
        client.write_all(format!("{method} /{number} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
        let response = read_response(&mut client);
        assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with("ok"), "{response}");
        assert!(sees.recv().unwrap().contains(&format!("/{number} ")), "each is seen once, in its turn");
    }
}

#[test]
fn a_short_body_is_sent_again_where_the_method_is_idempotent() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let reader = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let head = crate::support::read_head(&mut connection);
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap();
            let _ = connection.read_exact(&mut vec![0; length]);
        }
    });
    let other = Origin::serve(|request: Request| async move {
        Response::text(format!("{}", request.body.collect(1 << 20).await.unwrap().len()))
    });
    // Method, bytes of the body, and how many of six requests fail, each second of which goes to the reader first.
    let cases = [("PUT", 5, 0..=0), ("PUT", 64 * 1024, 0..=0), ("POST", 5, 1..=3), ("PUT", 100_000, 1..=3)];
    for (method, length, expected) in cases {
        let mut settings =
            UpstreamSettings::new("test", [reader, other.address()].map(crate::support::server).to_vec());
        settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
        settings.retries.budget = 100;
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let mut failed = 0;
        for _ in 0..6 {
            let mut client = proxied.connect();
            let head = format!("{method} / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n");
            // The proxy may have answered before it has all of the body.
            let _ = client.write_all(&[head.as_bytes(), &vec![b'x'; length]].concat());
            let response = read_response(&mut client);
            match response.starts_with("HTTP/1.1 502 ") {
                true => failed += 1,
                false => assert!(response.ends_with(&length.to_string()), "{method}: {response}"),
            }
        }
        assert!(expected.contains(&failed), "{method} {length}: {failed}");
    }
}

#[test]
fn silent_servers_time_out() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let quick = Origin::serve(|_: Request| async move { Response::text("quick") });
    let mut settings =
        serow_proxy::UpstreamSettings::new("test", vec![crate::support::server(silent.local_addr().unwrap())]);
    settings.timeouts.response = std::time::Duration::from_millis(300);
    let proxied = Proxied::with(settings.clone(), serow_proxy::ForwardingSettings::default());
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).starts_with("HTTP/1.1 504 "));
    settings.servers.push(crate::support::server(quick.address()));
    let proxied = Proxied::with(settings.clone(), serow_proxy::ForwardingSettings::default());
    for _ in 0..4 {
        let mut client = proxied.connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        assert!(read_response(&mut client).ends_with("quick"));
    }
    settings.servers.pop();
    settings.timeouts.total = Some(std::time::Duration::from_millis(100));
    settings.timeouts.response = std::time::Duration::from_secs(60);
    let proxied = Proxied::with(settings, serow_proxy::ForwardingSettings::default());
    let mut client = proxied.connect();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert!(read_response(&mut client).starts_with("HTTP/1.1 504 "));
}

#[test]
fn requests_wait_while_servers_are_full() {
    let (origin, release) = held("done");
    let mut server = crate::support::server(origin.address());
    server.max_requests = Some(2);
    let mut settings = serow_proxy::UpstreamSettings::new("test", vec![server]);
    settings.queue.length = 4;
    let proxied = Proxied::with(settings, serow_proxy::ForwardingSettings::default());
    let ask = || {
        let mut client = proxied.connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        client
    };
    let mut clients: Vec<_> = (0..6).map(|_| ask()).collect();
    until(|| proxied.upstream.report().waiting == 4);
    for _ in 0..2 {
        let response = read_response(&mut ask());
        assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    }
    assert_eq!(proxied.upstream.report().servers[0].active, 2);
    release.send(true).unwrap();
    for client in &mut clients {
        let response = read_response(client);
        assert!(response.ends_with("done"), "{response}");
    }
    assert!(proxied.upstream.servers().iter().all(|server| server.active() == 0));
}

#[test]
fn attempts_are_in_the_extensions() {
    use serow::Handler;
    let origin = Origin::serve(|_: Request| async move { Response::text("done") });
    let servers =
        vec![crate::support::server(serow_ports::refusing_address()), crate::support::server(origin.address())];
    let upstream = serow_proxy::Upstream::new(serow_proxy::UpstreamSettings::new("test", servers));
    let forwarding = serow_proxy::ForwardingSettings { note_attempts: true, ..Default::default() };
    let proxy = serow_proxy::Proxy::new(upstream, forwarding);
    let runtime = serow_net::thread_runtime().unwrap();
    runtime.block_on(async {
        let mut seen = Vec::new();
        for _ in 0..2 {
            let response = proxy.call(Request::get("/")).await;
            assert_eq!(response.status, StatusCode::OK);
            let attempts = response.extensions.get::<serow_gateway::Attempts>().unwrap().list();
            seen.push(attempts.iter().map(|attempt| attempt.status.unwrap().as_u16()).collect::<Vec<_>>());
            let last = attempts.last().unwrap();
            assert!(last.connect_time.unwrap() <= last.header_time.unwrap(), "{last:?}");
            assert!(last.header_time.unwrap() <= last.response_time.unwrap(), "{last:?}");
        }
        seen.sort();
        assert_eq!(seen, [vec![200], vec![502, 200]]);
    });
}
