//! Requests through a proxy to servers that speak HTTP/2.

use std::{
    io::{Read, Write},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use bytes::Bytes;
use serow::{Body, Headers, Method, Request, Response, Server, StatusCode, TlsSettings, Versions};
use serow_client::{TlsClientSettings, TlsConnector, Trust};
use serow_http2::{BodyLength, ErrorCode, Event, Limits, StreamId};
use serow_ports::refusing_address;
use serow_proxy::{
    ForwardingSettings, KeepSettings, PassiveSettings, ResponseBuffering, RetrySettings, ServerLocation,
    ServerSettings, UpstreamSettings, UpstreamTimeouts,
};

use tokio::io::AsyncWriteExt;

use crate::support::{
    Origin, Proxied,
    multiplexed::{Client, End},
    multiplexing_server, read_response,
    script::Scripted,
};

/// Answers with the request that it received.
async fn describe(mut request: Request) -> Response {
    let body = std::mem::take(&mut request.body).collect(1 << 20).await.unwrap();
    let priority = request.headers.get_str("priority").unwrap_or("none").to_owned();
    let text = format!("{} {} {} {priority}", request.method, request.target.as_str(), body.len());
    Response::text(text).with("x-origin", "1")
}

/// Echoes bodies and trailers.
async fn echo(request: Request) -> Response {
    Response::new(StatusCode::OK).body(request.body)
}

#[test]
fn many_exchanges_share_a_connection() {
    let origin = Origin::serve(describe);
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    for _ in 0..3 {
        let streams: Vec<_> = (0..100).map(|number| client.post(&format!("/{number}"), "hello")).collect();
        for (number, stream) in streams.into_iter().enumerate() {
            let got = client.response(stream);
            assert_eq!((got.status, got.text()), (200, &*format!("POST /{number} 5 none")));
            assert_eq!(got.headers.get_str("x-origin"), Some("1"));
        }
    }
    assert_eq!(origin.connections(), 1);
    // Also over HTTP/1.1, and with the client's priorities.
    let mut client = proxied.connect();
    client.write_all(b"GET /one HTTP/1.1\r\nhost: a\r\npriority: u=1, i\r\n\r\n").unwrap();
    assert!(read_response(&mut client).ends_with("GET /one 0 u=1, i"));
    assert_eq!(origin.connections(), 1);
}

#[test]
fn large_bodies_go_through_both_ways() {
    let origin = Origin::serve(echo);
    let proxied = Proxied::multiplexing(origin.address());
    proxied.carries_a_large_body();
}

#[test]
fn messages_and_trailers_go_both_ways_as_they_come() {
    let origin = Origin::serve(echo);
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let stream = client.begin(Method::POST, "/", &[("te", "trailers")], BodyLength::Unknown);
    client.head(stream);
    for round in 1..=5 {
        client.send(stream, "message");
        assert_eq!(client.bytes(stream, 7 * round).body.len(), 7 * round);
    }
    let mut trailers = Headers::new();
    trailers.append("x-sum", "35").unwrap();
    client.end(stream, Some(trailers));
    let got = client.response(stream);
    assert_eq!(got.end, Some(End::Whole));
    assert_eq!(got.trailers.unwrap().get_str("x-sum"), Some("35"));
}

#[test]
fn names_with_underscores_are_dropped_from_head_and_trailers() {
    let origin = Origin::serve(|mut request: Request| async move {
        let names: Vec<_> = request.headers.iter().map(|(name, _)| name.escape_ascii().to_string()).collect();
        Response::new(StatusCode::OK).with("x-names", names.join(" ")).body(std::mem::take(&mut request.body))
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let fields = [("te", "trailers"), ("x_forwarded_for", "6.6.6.6"), ("x-user", "ann"), ("proxy", "http://evil")];
    let stream = client.begin(Method::POST, "/", &fields, BodyLength::Unknown);
    let mut trailers = Headers::new();
    for name in ["x_real_ip", "x-real-ip", "x-sum"] {
        trailers.append(name, "1").unwrap();
    }
    client.end(stream, Some(trailers));
    let got = client.response(stream);
    let names: Vec<_> = got.headers.get_str("x-names").unwrap().split(' ').collect();
    assert!(names.contains(&"x-user") && names.contains(&"x-forwarded-for"), "{names:?}");
    assert!(!names.iter().any(|name| name.contains('_') || *name == "proxy"), "{names:?}");
    let names: Vec<_> =
        got.trailers.as_ref().unwrap().iter().map(|(name, _)| name.escape_ascii().to_string()).collect();
    assert_eq!(names, ["x-sum"]);
}

#[test]
fn heads_alone_and_heads_before_the_head() {
    let origin = Origin::serve(|request: Request| async move {
        let mut hints = Headers::new();
        hints.append("link", "</style.css>; rel=preload").unwrap();
        request.informational().send(StatusCode::EARLY_HINTS, hints);
        tokio::task::yield_now().await;
        Response::text("a text")
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    for (method, body) in [(Method::HEAD, ""), (Method::GET, "a text")] {
        let got = client.response(client.begin(method, "/", &[], BodyLength::Known(0)));
        assert_eq!((got.status, got.text(), &got.informational[..]), (200, body, &[103][..]));
        assert_eq!(got.headers.get_str("content-length"), Some("6"));
    }
}

#[test]
fn a_short_response_has_its_trailers() {
    let origin = Origin::serve(|_: Request| async move {
        let (sender, incoming) = serow_message::Incoming::channel(None);
        let mut trailers = Headers::new();
        trailers.append("grpc-status", "0").unwrap();
        sender.finish(Some(trailers));
        Response::new(StatusCode::OK).body(Body::from(incoming))
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let stream = client.begin(Method::POST, "/", &[("te", "trailers")], BodyLength::Known(0));
    let got = client.response(stream);
    assert_eq!((got.status, got.body.len()), (200, 0));
    assert_eq!(got.trailers.unwrap().get_str("grpc-status"), Some("0"));
}

#[test]
fn slow_clients_block_only_their_own_response_where_it_is_not_buffered() {
    const READERS: usize = 8;
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let origin = Origin::serve(move |request: Request| {
        let count = Arc::clone(&count);
        async move {
            match request.target.path() {
                "/endless" => Response::new(StatusCode::OK).body(Body::stream(Endless(count))),
                _ => Response::text("short"),
            }
        }
    });
    let settings = UpstreamSettings::new("test", vec![multiplexing_server(origin.address())]);
    let forwarding = ForwardingSettings { response_buffering: ResponseBuffering::OFF, ..ForwardingSettings::default() };
    let proxied = Proxied::with(settings, forwarding);
    let client = Client::connect(proxied.address());
    let streams: Vec<_> = (0..READERS).map(|_| client.get("/endless")).collect();
    for stream in &streams {
        client.stop_reading(*stream);
    }
    let mut before = 0;
    while made.load(Ordering::SeqCst) != before || before < READERS * 256 * 1024 {
        before = made.load(Ordering::SeqCst);
        client.work_for(Duration::from_millis(500));
    }
    // The capacity of the origin's socket, the proxy's windows and the client's socket.
    let most = READERS * (256 + 64 + 64) * 1024 + (8 << 20);
    assert!(before < most, "{before}");
    for _ in 0..20 {
        let other = Client::connect(proxied.address());
        assert_eq!(other.response(other.get("/")).text(), "short");
    }
    assert_eq!(origin.connections(), 1);
    // A client that disconnects stops the server.
    for stream in streams {
        client.leave(stream);
    }
    client.work_for(Duration::from_millis(300));
    let after = made.load(Ordering::SeqCst);
    client.work_for(Duration::from_millis(300));
    assert_eq!(made.load(Ordering::SeqCst), after);
}

/// Endless pieces of 16 KiB, which are counted.
struct Endless(Arc<AtomicUsize>);

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        static PIECE: [u8; 16 * 1024] = [b'x'; 16 * 1024];
        self.0.fetch_add(PIECE.len(), Ordering::SeqCst);
        std::task::Poll::Ready(Some(Ok(http_body::Frame::data(Bytes::from_static(&PIECE)))))
    }
}

#[test]
fn a_server_that_does_not_read_holds_up_the_client() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        let Some((stream, _)) = peer.request() else { return };
        // Windows open only for data that was read.
        assert_eq!(peer.wait_for_reset(stream), ErrorCode::CANCEL);
        let Some((stream, _)) = peer.request() else { return };
        peer.answer(stream, "next");
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let stream = client.begin(Method::POST, "/", &[], BodyLength::Unknown);
    let (mut sent, mut refused) = (0, 0);
    while refused < 50 {
        if client.wants(stream) {
            client.send(stream, vec![0; 16 * 1024]);
            (sent, refused) = (sent + 16 * 1024, 0);
        } else {
            refused += 1;
        }
        client.work_for(Duration::from_millis(10));
    }
    // The server's window, the proxy's for the client, and a piece in each hand.
    assert!((100_000..400_000).contains(&sent), "{sent}");
    client.leave(stream);
    assert_eq!(client.response(client.get("/")).text(), "next");
}

#[test]
fn goaway_lets_open_streams_finish() {
    let (go_on, second) = mpsc::channel::<()>();
    let second = Mutex::new(second);
    let origin = Scripted::serve(Limits::default(), move |peer| {
        let Some((first, path)) = peer.request() else { return };
        if peer.number > 0 {
            assert_eq!(path, "/second");
            return peer.answer(first, "of the second connection");
        }
        peer.head(first, false);
        peer.go_away(first);
        peer.data(first, &Bytes::from_static(b"the first half"), false);
        // The proxy sends nothing more here; the connection ends with the stream.
        let _ = second.lock().unwrap().recv();
        peer.data(first, &Bytes::from_static(b", and the second"), true);
        assert!(peer.request().is_none(), "a request behind GOAWAY");
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let first = client.get("/first");
    client.bytes(first, 14);
    assert_eq!(client.response(client.get("/second")).text(), "of the second connection");
    go_on.send(()).unwrap();
    assert_eq!(client.response(first).text(), "the first half, and the second");
}

#[test]
fn unprocessed_requests_are_retried() {
    for refusal in ["reset", "go away"] {
        let origin = Scripted::serve(Limits::default(), move |peer| {
            let Some((stream, _)) = peer.request() else { return };
            match (peer.number, refusal) {
                (0, "reset") => {
                    peer.reset(stream, ErrorCode::REFUSED_STREAM);
                    let Some((stream, _)) = peer.request() else { return };
                    peer.answer(stream, "at last");
                }
                (0, _) => peer.go_away(StreamId::CONNECTION),
                _ => peer.answer(stream, "at last"),
            }
            while peer.event().is_some() {}
        });
        let proxied = Proxied::multiplexing(origin.address());
        let client = Client::connect(proxied.address());
        // Not idempotent, so not repeated for any other reason.
        let got = client.response(client.begin(Method::POST, "/", &[], BodyLength::Known(0)));
        assert_eq!((got.status, got.text()), (200, "at last"), "{refusal}");
    }
}

#[test]
fn a_refused_request_is_sent_again_with_its_body() {
    for refusal in ["reset", "go away"] {
        let origin = Scripted::serve(Limits::default(), move |peer| {
            // Every request is refused once: when something of its body is there, or on the first connection.
            let (mut refuses, mut length) = (refusal == "reset", 0);
            while let Some(event) = peer.event() {
                match event {
                    Event::Data { .. } if peer.number == 0 && refusal == "go away" => {
                        peer.go_away(StreamId::CONNECTION);
                        return while peer.event().is_some() {};
                    }
                    Event::Data { stream, .. } if refuses => {
                        peer.reset(stream, ErrorCode::REFUSED_STREAM);
                        (refuses, length) = (false, 0);
                    }
                    Event::Data { data, .. } => length += data.len(),
                    Event::End { stream, .. } => {
                        peer.answer(stream, &length.to_string());
                        (refuses, length) = (refusal == "reset", 0);
                    }
                    _ => {}
                }
            }
        });
        let proxied = Proxied::multiplexing(origin.address());
        let client = Client::connect(proxied.address());
        for (method, pieces) in [(Method::POST, 1), (Method::POST, 5)] {
            let stream = client.begin(method.clone(), "/", &[], BodyLength::Unknown);
            for _ in 0..pieces {
                client.send(stream, "abc");
                client.work_for(Duration::from_millis(20));
            }
            client.end(stream, None);
            let got = client.response(stream);
            assert_eq!((got.status, got.text()), (200, &*(pieces * 3).to_string()), "{refusal} {method}");
        }
    }
}

#[test]
fn refused_requests_are_sent_again_without_a_retry_budget() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        while let Some((refused, _)) = peer.request() {
            peer.reset(refused, ErrorCode::REFUSED_STREAM);
            let Some((stream, _)) = peer.request() else { return };
            peer.answer(stream, "at last");
        }
    });
    let mut settings = UpstreamSettings::new("test", vec![multiplexing_server(origin.address())]);
    settings.retries = RetrySettings { budget: 0, ..RetrySettings::default() };
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let client = Client::connect(proxied.address());
    for number in 0..20 {
        assert_eq!(client.response(client.get("/")).status, 200, "{number}");
    }
}

#[test]
fn refused_requests_with_bodies_over_64_kib_are_not_retried() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        let mut length = 0;
        while let Some(event) = peer.event() {
            if let Event::Data { stream, data } = event {
                peer.consume(stream, data.len());
                length += data.len();
                if length > 64 * 1024 {
                    peer.reset(stream, ErrorCode::REFUSED_STREAM);
                }
            }
        }
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let stream = client.begin(Method::PUT, "/", &[], BodyLength::Unknown);
    for _ in 0..5 {
        client.send(stream, vec![0; 16 * 1024]);
    }
    assert_eq!(client.response(stream).status, 502);
}

#[test]
fn resets_before_and_behind_the_head() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        while let Some((stream, path)) = peer.request() {
            if path == "/late" {
                peer.head(stream, false);
                peer.data(stream, &Bytes::from_static(b"half"), false);
            }
            peer.reset(stream, ErrorCode::INTERNAL_ERROR);
        }
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    assert_eq!(client.response(client.post("/early", "body")).status, 502);
    // Head and data may or may not be there by then; never does it look whole.
    let got = client.response(client.get("/late"));
    assert!(matches!(got.end, Some(End::Reset(_))) || got.status == 502, "{got:?}");
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_server_that_dies() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        let Some((first, _)) = peer.request() else { return };
        let Some((second, _)) = peer.request() else { return };
        peer.head(first, false);
        peer.data(first, &Bytes::from_static(b"half"), false);
        if peer.number > 0 {
            peer.answer(second, "another");
            while peer.event().is_some() {}
        }
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let (begun, unanswered) = (client.post("/", "body"), client.post("/", "body"));
    // Head and data may or may not be there by then; never does it look whole.
    let got = client.response(begun);
    assert!(matches!(got.end, Some(End::Reset(_))) || got.status == 502, "{got:?}");
    assert_eq!(client.response(unanswered).status, 502);
    // The next go to a new connection.
    let (begun, next) = (client.post("/", "body"), client.post("/", "body"));
    assert_eq!(client.response(next).text(), "another");
    assert_eq!(client.bytes(begun, 4).text(), "half");
    // Nothing listens there.
    let proxied = Proxied::multiplexing(refusing_address());
    let client = Client::connect(proxied.address());
    let streams: Vec<_> = (0..10).map(|_| client.get("/")).collect();
    for stream in streams {
        assert_eq!(client.response(stream).status, 502);
    }
}

#[test]
fn cancelled_requests_reset_their_stream() {
    let (told, reports) = mpsc::channel();
    let origin = Scripted::serve(Limits::default(), move |peer| {
        let Some((waiting, _)) = peer.request() else { return };
        told.send(peer.wait_for_reset(waiting)).unwrap();
        let Some((reading, _)) = peer.request() else { return };
        peer.head(reading, false);
        peer.data(reading, &Bytes::from_static(b"half"), false);
        told.send(peer.wait_for_reset(reading)).unwrap();
        let Some((last, _)) = peer.request() else { return };
        peer.answer(last, "still there");
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    let waiting = client.get("/");
    client.work_for(Duration::from_millis(100));
    client.leave(waiting);
    assert_eq!(reports.recv(), Ok(ErrorCode::CANCEL));
    let reading = client.get("/");
    client.bytes(reading, 4);
    client.leave(reading);
    assert_eq!(reports.recv(), Ok(ErrorCode::CANCEL));
    assert_eq!(client.response(client.get("/")).text(), "still there");
}

#[test]
fn requests_wait_where_streams_are_few() {
    let origin = Scripted::serve(Limits { streams: 2, ..Limits::default() }, |peer| {
        while let Some((stream, _)) = peer.request() {
            // There are always some that wait.
            std::thread::sleep(Duration::from_millis(5));
            peer.answer(stream, "answered");
        }
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    // The method is not idempotent, and the request was not refused: it waits for the server's limits.
    let streams: Vec<_> = (0..64).map(|_| client.post("/", "body")).collect();
    for stream in streams {
        assert_eq!(client.response(stream).text(), "answered");
    }
    assert!((2..=8).contains(&origin.connections()), "{}", origin.connections());
}

#[test]
fn times_are_kept() {
    let origin = Scripted::serve(Limits::default(), |peer| {
        while let Some((stream, path)) = peer.request() {
            if path == "/half" {
                peer.head(stream, false);
                peer.data(stream, &Bytes::from_static(b"half"), false);
            }
            assert_eq!(peer.wait_for_reset(stream), ErrorCode::CANCEL);
        }
    });
    let short = Duration::from_millis(300);
    let mut settings = UpstreamSettings::new("test", vec![multiplexing_server(origin.address())]);
    settings.timeouts = UpstreamTimeouts { response: short, transfer: short, ..UpstreamTimeouts::default() };
    settings.retries.tries = 1;
    settings.keep = KeepSettings { idle_time: short, ..KeepSettings::default() };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let client = Client::connect(proxied.address());
    assert_eq!(client.response(client.get("/")).status, 504);
    assert!(matches!(client.response(client.get("/half")).end, Some(End::Reset(_))));
    assert_eq!(origin.connections(), 1);
    // An idle connection is closed.
    client.work_for(Duration::from_secs(2));
    assert_eq!(client.response(client.get("/")).status, 504);
    assert_eq!(origin.connections(), 2);
}

#[test]
fn alpn_selects_the_protocol() {
    // The number of connections for ten requests at once. The first one, on which HTTP/1.1 was negotiated, is not
    // reused if the server has already sent something on it (TLS tickets).
    for (versions, connections) in [(Versions::Both, 1..=1), (Versions::Http2, 1..=1), (Versions::Http1, 2..=11)] {
        let tls = TlsSettings::self_signed().unwrap();
        let origin = Origin::with(Server::new().listen_tls("127.0.0.1:0").tls(tls).versions(versions), describe);
        let address = format!("https://localhost:{}", origin.address().port());
        let mut server = ServerSettings::new(address.parse().unwrap());
        server.address.location = ServerLocation::Tcp(origin.address());
        let mut settings = UpstreamSettings::new("test", vec![server]);
        let trust = TlsClientSettings { trust: Trust::Unchecked, ..TlsClientSettings::default() };
        settings.encryption = Some(TlsConnector::new(trust).unwrap());
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let client = Client::connect(proxied.address());
        for _ in 0..2 {
            let streams: Vec<_> = (0..10).map(|_| client.post("/", "hello")).collect();
            for stream in streams {
                assert_eq!(client.response(stream).text(), "POST / 5 none", "{versions:?}");
            }
        }
        assert!(connections.contains(&origin.connections()), "{versions:?}: {}", origin.connections());
    }
}

#[test]
fn over_a_unix_socket() {
    let folder = std::env::temp_dir().join(format!("serow-proxy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("server.sock");
    let bound = Server::new().listen(format!("unix:{}", path.display())).workers(1).ignore_signals().bind().unwrap();
    let stopper = bound.stopper();
    let thread = std::thread::spawn(move || bound.run(describe).unwrap());
    let server = ServerSettings::new(format!("h2c+unix:{}", path.display()).parse().unwrap());
    let proxied = Proxied::with(UpstreamSettings::new("test", vec![server]), ForwardingSettings::default());
    let client = Client::connect(proxied.address());
    assert_eq!(client.response(client.get("/")).text(), "GET / 0 none");
    stopper.stop_within(Duration::ZERO);
    thread.join().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Changes to a protocol in which everything comes back, once the key was answered.
async fn change(mut request: Request) -> Response {
    let Some(upgrade) = request.upgrade() else { return Response::plain_status(StatusCode::BAD_REQUEST) };
    if request.target.path() == "/refused" {
        return Response::plain_status(StatusCode::FORBIDDEN);
    }
    tokio::task::spawn_local(async move {
        let (mut from, mut to) = tokio::io::split(upgrade.await.unwrap());
        let _ = tokio::io::copy(&mut from, &mut to).await;
        let _ = to.shutdown().await;
    });
    let key = request.headers.get_str("sec-websocket-key").unwrap_or_default();
    Response::new(StatusCode::SWITCHING_PROTOCOLS)
        .with("upgrade", "websocket")
        .with("sec-websocket-accept", serow::websocket::accept(key))
}

#[test]
fn tunnels_of_http1_become_streams() {
    let origin = Origin::serve(change);
    let proxied = Proxied::multiplexing(origin.address());
    let ask = |path: &str, protocol: &str| {
        let mut client = proxied.connect();
        write!(
            client,
            "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        .unwrap();
        client
    };
    // Two at a time on one connection.
    let mut clients = [ask("/", "websocket"), ask("/", "WebSocket")];
    for client in &mut clients {
        let head = crate::support::read_head(client).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"), "{head}");
        assert!(head.contains("upgrade: websocket\r\n"), "{head}");
    }
    let sent: Vec<u8> = (0..500_000_u32).map(|number| (number % 251) as u8).collect();
    for client in &mut clients {
        let (mut writer, body) = (client.try_clone().unwrap(), sent.clone());
        let writing = std::thread::spawn(move || {
            writer.write_all(&body).unwrap();
            writer.shutdown(std::net::Shutdown::Write).unwrap();
        });
        let mut received = Vec::new();
        client.read_to_end(&mut received).unwrap();
        writing.join().unwrap();
        assert!(received == sent, "{} bytes", received.len());
    }
    assert_eq!(origin.connections(), 1);
    assert!(read_response(&mut ask("/refused", "websocket")).starts_with("HTTP/1.1 403 "));
    assert!(crate::support::read_head(&mut ask("/", "another")).starts_with("HTTP/1.1 501 "));
}
