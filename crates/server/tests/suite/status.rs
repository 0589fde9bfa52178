//! A server's status report: the numbers of a known workload.

use std::time::Duration;

use serow::{ConnectionError, ProxyProtocol, Request, Response, Server, Status, StatusCode, StatusReport, TlsSettings};

use crate::support::{Client, Running, eventually};

/// Answers as the path says: a status, `/left` never, `/panic` with a panic, all else with 13 bytes.
async fn as_asked(request: Request) -> Response {
    let path = request.target.path().to_owned();
    match path.trim_start_matches('/') {
        "never" => std::future::pending().await,
        "panic" => panic!("as asked"),
        "echo" => Response::default().body(request.body),
        status if status.parse::<u16>().is_ok() => {
            Response::plain_status(StatusCode::from_u16(status.parse().unwrap()).unwrap())
        }
        _ => Response::text("Hello, World!"),
    }
}

/// A server with these settings, and its numbers.
fn serve(server: Server) -> (Running, Status) {
    let server = server.bind().unwrap();
    let status = server.status();
    (Running::of(server, as_asked), status)
}

fn plain() -> (Running, Status) {
    serve(Server::new().listen("127.0.0.1:0").workers(2))
}

/// Waits until the numbers are as they should be, and gives them: a response may be here before it is counted.
#[track_caller]
fn settled(status: &Status, what: &str, wanted: impl Fn(&StatusReport) -> bool) -> StatusReport {
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        eventually(what, || wanted(&status.report()));
    }));
    assert!(found.is_ok(), "{what}: {:#?}", status.report());
    status.report()
}

#[test]
fn nothing_has_happened_yet() {
    let (_server, status) = plain();
    let report = status.report();
    assert_eq!((report.version, report.workers), (env!("CARGO_PKG_VERSION"), 2));
    assert!(report.uptime < Duration::from_secs(60) && report.started.elapsed().unwrap() < Duration::from_secs(60));
    assert_eq!((report.connections.accepted, report.requests.total, report.requests.in_progress), (0, 0, 0));
    let delays = &report.pacing.queue_delay;
    assert_eq!((delays.count, delays.p50, delays.max, delays.buckets.len()), (0, None, None, 0));
    assert!(report.http2.connection_errors.iter().all(|(_, count)| *count == 0));
    assert_eq!(report.http2.connection_errors.len(), 14);
}

#[test]
fn requests_of_http1_add_up() {
    let (server, status) = plain();
    let mut clients: Vec<Client> = (0..10).map(|_| server.connect()).collect();
    for client in &mut clients {
        for target in ["/", "/", "/304", "/404", "/503", "/999"] {
            client.get(target);
        }
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcde");
        assert_eq!(client.answer().text(), "abcde");
        // A body that nobody reads is received as well.
        client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
        client.answer();
    }
    let report = settled(&status, "all are answered", |report| report.requests.in_progress == 0);
    let requests = &report.requests;
    assert_eq!((requests.http1, requests.http2), (80, 0));
    let by_class = [requests.status_1xx, requests.status_2xx, requests.status_3xx, requests.status_4xx];
    assert_eq!(by_class, [0, 40, 10, 10]);
    assert_eq!([requests.status_5xx, requests.status_499, requests.status_other], [10, 0, 10]);
    assert_eq!(requests.body_bytes_received, 80);
    assert!(requests.body_bytes_sent >= 10 * (3 * 13 + 5), "{requests:?}");
    let connections = &report.connections;
    assert_eq!((connections.accepted, connections.open, connections.open_http1), (10, 10, 10));
    assert_eq!((connections.plain, connections.tls, connections.http1, connections.http2), (10, 0, 10, 0));
    drop(clients);
    let report = settled(&status, "all are gone", |report| report.connections.open == 0);
    assert_eq!((report.connections.open_http1, report.connections.http1), (0, 10));
}

#[test]
fn large_bodies_are_counted_to_the_byte() {
    let length = 3_000_000;
    let server = Server::new().listen("127.0.0.1:0").workers(1).bind().unwrap();
    let status = server.status();
    let server = Running::of(server, move |_: Request| async move { Response::default().body(vec![b'x'; length]) });
    assert_eq!(server.connect().get("/").body.len(), length);
    let report = settled(&status, "the response is over", |report| report.requests.status_2xx == 1);
    assert_eq!(report.requests.body_bytes_sent, length as u64);
}

#[test]
fn failed_requests_are_counted_too() {
    let (server, status) = plain();
    server.connect().send("GET / HTTP/1.1\r\n\r\n").answer();
    server.connect().send("nonsense\r\n\r\n").answer();
    server.connect().send("GET /panic HTTP/1.1\r\nHost: a\r\n\r\n").is_reset();
    let mut client_that_leaves = server.connect();
    client_that_leaves.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    let report = settled(&status, "one is in progress", |report| report.requests.in_progress == 1);
    assert_eq!(report.requests.status_499, 0);
    // Whether a client has left is seen where it should send something.
    client_that_leaves.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    server.stopper.stop();
    server.stopper.stop();
    let report = settled(&status, "it is cut", |report| report.requests.in_progress == 0);
    let requests = &report.requests;
    assert_eq!((requests.total, requests.http1), (4, 4));
    assert_eq!((requests.status_4xx, requests.status_5xx, requests.status_499), (2, 1, 1));
}

#[test]
fn connections_that_do_not_begin_as_they_must() {
    let settings = Server::new().workers(1).tls(TlsSettings::self_signed().unwrap());
    let (server, status) = serve(settings.listen_tls("127.0.0.1:0").listen("127.0.0.1:0"));
    // Plain HTTP where TLS is spoken, somebody who says nothing, and plain HTTP where that is spoken.
    server.connect().send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest().unwrap();
    drop(server.connect());
    let serow::Address::Tcp(plain) = server.addresses[1] else { panic!("TCP was asked for") };
    Client::tcp(plain).get("/");
    let report = settled(&status, "all are gone", |report| report.connections.open == 0 && report.requests.total == 1);
    let connections = &report.connections;
    assert_eq!((connections.accepted, connections.tls, connections.plain), (3, 2, 1));
    assert_eq!((connections.handshakes_failed, connections.refused), (1, 0));
    assert_eq!((connections.http1, connections.http2), (1, 0));

    let settings = Server::new().listen("127.0.0.1:0").proxy_protocol(ProxyProtocol::Required);
    let (server, status) = serve(settings.workers(1));
    server.connect().send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").rest().ok();
    let report = settled(&status, "it is gone", |report| report.connections.refused == 1);
    assert_eq!((report.connections.accepted, report.requests.total), (1, 0));
}

#[test]
fn streams_of_http2_add_up() {
    let (server, status) = plain();
    let mut clients: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.send([PREFACE, SETTINGS].concat());
        for stream in (1..=39).step_by(2) {
            client.send(get(stream, if stream < 20 { "/never" } else { "/" }));
        }
    }
    let report = settled(&status, "half are answered", |report| report.requests.status_2xx == 30);
    let (connections, requests, streams) = (&report.connections, &report.requests, &report.http2);
    assert_eq!((connections.http2, connections.open_http2, connections.http1), (3, 3, 0));
    assert_eq!((requests.total, requests.http2, requests.in_progress), (60, 60, 30));
    assert_eq!((streams.streams_opened, streams.streams_active), (60, 30));
    assert_eq!(requests.body_bytes_sent, 30 * 13);

    for client in &mut clients {
        for stream in [1, 3] {
            client.send(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
        }
    }
    let report = settled(&status, "six are cut off", |report| report.requests.status_499 == 6);
    assert_eq!((report.http2.streams_reset_by_peer, report.http2.streams_active), (6, 24));

    // RFC 9113 §6.1: DATA of no stream; §6.9: a window beyond 2^31 - 1.
    clients[0].send(frame(DATA, 0, 0, b"x"));
    clients[1].send(frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes()));
    clients.truncate(2);
    let report = settled(&status, "all are over", |report| report.requests.in_progress == 0);
    let (requests, streams) = (&report.requests, &report.http2);
    assert_eq!((requests.total, requests.status_2xx, requests.status_499), (60, 30, 30));
    let errors: Vec<_> = streams.connection_errors.iter().filter(|(_, count)| *count > 0).collect();
    let code = ConnectionError::Code;
    assert_eq!(errors, [&(code("PROTOCOL_ERROR"), 1), &(code("FLOW_CONTROL_ERROR"), 1)]);
    let report = settled(&status, "no stream is left", |report| report.http2.streams_active == 0);
    assert_eq!((report.http2.streams_opened, report.http2.streams_refused), (60, 0));
}

#[test]
fn a_panic_over_http2_is_the_servers_fault() {
    let (server, status) = plain();
    let mut client = server.connect();
    client.send([PREFACE, SETTINGS].concat()).send(get(1, "/panic"));
    let report = settled(&status, "it is answered", |report| report.requests.status_5xx == 1);
    assert_eq!((report.requests.total, report.requests.in_progress), (1, 0));
    let report = settled(&status, "it is cut off", |report| report.http2.streams_reset_by_us == 1);
    assert_eq!((report.http2.streams_active, report.connections.open_http2), (0, 1));
}

/// GET in one frame, with names of RFC 7541's static table (appendix A).
fn get(stream: u32, path: &str) -> Vec<u8> {
    let mut block = vec![0x82, 0x86, 0x04, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x41\x01a");
    frame(HEADERS, 0x05, stream, &block)
}

/// RFC 9113 §4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend_from_slice(&[kind, flags]);
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const WINDOW_UPDATE: u8 = 8;
