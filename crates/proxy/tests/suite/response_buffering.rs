//! Responses whose clients do not keep up: the server is free before they have read them.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use bytes::Bytes;
use serow::{Request, Response};
use serow_proxy::{
    BufferSettings, ForwardingSettings, ResponseBuffering, ServerSettings, SpoolSpace, UpstreamSettings,
};

use crate::support::{
    Origin, Proxied, multiplexed::Client, multiplexing_server, raw_server, read_head, read_response, server, until,
};

/// More than the kernel takes for a client that does not read.
const LARGE: usize = 20_000_001;

fn content() -> Vec<u8> {
    (0..LARGE).map(|number| (number % 251) as u8).collect()
}

/// Answers with [`LARGE`] bytes; of `/refused`, the server asks not to buffer them; of other paths, with the path.
fn origin() -> Origin {
    let content = Bytes::from(content());
    Origin::serve(move |request: Request| {
        let content = content.clone();
        async move {
            match request.target.path() {
                "/large" => Response::default().body(content),
                "/refused" => Response::default().body(content).with("X-Accel-Buffering", "no"),
                path => Response::text(path.to_owned()),
            }
        }
    })
}

/// In front of one server that serves one request at a time; the others wait for so long.
fn proxied(mut server: ServerSettings, buffering: ResponseBuffering, wait: Duration) -> Proxied {
    server.max_requests = Some(1);
    let mut settings = UpstreamSettings::new("test", vec![server]);
    settings.queue.timeout = wait;
    Proxied::with(settings, ForwardingSettings { response_buffering: buffering, ..ForwardingSettings::default() })
}

/// Buffers as much as this, and the space for it.
fn buffering(space: u64) -> (ResponseBuffering, SpoolSpace) {
    let spool = SpoolSpace::new(space);
    (ResponseBuffering::with(BufferSettings { spool: spool.clone(), ..BufferSettings::default() }), spool)
}

fn ask(client: &mut TcpStream, path: &str) {
    client.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
}

fn receive(client: &mut TcpStream) -> Vec<u8> {
    assert!(read_head(client).contains("content-length: 20000001\r\n"));
    let mut body = vec![0; LARGE];
    client.read_exact(&mut body).unwrap();
    body
}

/// A server that begins each response with a chunk of this length, and continues it when the test says so.
fn in_parts(first: usize) -> (SocketAddr, Sender<&'static str>) {
    let (sender, texts) = channel::<&'static str>();
    let texts: Mutex<Receiver<&'static str>> = Mutex::new(texts);
    let address = raw_server(move |mut connection| {
        read_head(&mut connection);
        let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{first:x}\r\n");
        let _ = connection.write_all(&[head.as_bytes(), &content()[..first], b"\r\n"].concat());
        while let Ok(text) = texts.lock().unwrap().recv() {
            let _ = connection.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes());
        }
    });
    (address, sender)
}

/// The data of the next chunk.
fn read_chunk(client: &mut TcpStream) -> Vec<u8> {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let length = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
    let mut data = vec![0; length + 2];
    client.read_exact(&mut data).unwrap();
    data.truncate(length);
    data
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn a_client_that_does_not_read_leaves_the_server_free_and_gets_everything() {
    let origin = origin();
    for server in [server(origin.address()), multiplexing_server(origin.address())] {
        let before = origin.connections();
        let (buffering, spool) = buffering(100 << 20);
        let proxied = proxied(server, buffering, LONG);
        let mut slow = proxied.connect();
        ask(&mut slow, "/large");
        for round in 0..3 {
            // The server takes one request at a time.
            let mut other = proxied.connect();
            ask(&mut other, "/short");
            assert!(read_response(&mut other).ends_with("\r\n\r\n/short"));
            assert!(spool.used() > 0, "{round}");
        }
        assert!(receive(&mut slow) == content());
        ask(&mut slow, "/short");
        assert!(read_response(&mut slow).ends_with("\r\n\r\n/short"));
        until(|| spool.used() == 0);
        assert_eq!(origin.connections() - before, 1, "the connection was used again");
    }
}

#[test]
fn a_stream_of_http2_that_is_not_read_leaves_the_server_free() {
    let origin = origin();
    for server in [server(origin.address()), multiplexing_server(origin.address())] {
        let (buffering, spool) = buffering(100 << 20);
        let proxied = proxied(server, buffering, LONG);
        let client = Client::connect(proxied.address());
        let slow = client.get("/large");
        client.stop_reading(slow);
        assert_eq!(client.response(client.get("/short")).text(), "/short");
        assert!(spool.used() > 0);
        client.read_on(slow);
        assert!(client.response(slow).body == content());
        until(|| spool.used() == 0);
    }
}

#[test]
fn servers_wait_for_clients_where_responses_are_not_buffered() {
    let origin = origin();
    let cases = [("/large", ResponseBuffering::OFF), ("/refused", ResponseBuffering::default())];
    for server in [server(origin.address()), multiplexing_server(origin.address())] {
        for (path, buffering) in cases.clone() {
            let proxied = proxied(server.clone(), buffering, Duration::from_millis(200));
            let mut slow = proxied.connect();
            ask(&mut slow, path);
            until(|| proxied.upstream.report().servers[0].active == 1);
            let mut other = proxied.connect();
            ask(&mut other, "/short");
            assert!(read_response(&mut other).starts_with("HTTP/1.1 503 "), "{path}");
            assert!(receive(&mut slow) == content(), "{path}");
            ask(&mut other, "/short");
            assert!(read_response(&mut other).starts_with("HTTP/1.1 200 "), "{path}");
        }
    }
}

#[test]
fn servers_wait_for_clients_where_the_space_is_used_up_and_nothing_is_lost() {
    let origin = origin();
    for server in [server(origin.address()), multiplexing_server(origin.address())] {
        for space in [0, 1 << 20] {
            let (buffering, spool) = buffering(space);
            let proxied = proxied(server.clone(), buffering, Duration::from_millis(200));
            let mut slow = proxied.connect();
            ask(&mut slow, "/large");
            until(|| proxied.upstream.report().servers[0].active == 1 && (space == 0 || spool.used() > 0));
            let mut other = proxied.connect();
            ask(&mut other, "/short");
            assert!(read_response(&mut other).starts_with("HTTP/1.1 503 "), "{space}");
            assert!(spool.used() <= space);
            assert!(receive(&mut slow) == content(), "{space}");
            until(|| spool.used() == 0);
        }
    }
}

#[test]
fn a_response_that_the_server_cuts_off_is_not_taken_for_a_whole_one() {
    let address = raw_server(|mut connection| {
        read_head(&mut connection);
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
        let _ = connection.write_all(&[head.as_bytes(), &content()[..LARGE / 2]].concat());
    });
    let (buffering, spool) = buffering(100 << 20);
    let proxied = proxied(server(address), buffering, LONG);
    let mut slow = proxied.connect();
    ask(&mut slow, "/");
    // The proxy knows before the client does.
    until(|| proxied.upstream.report().servers[0].cut == 1);
    assert!(spool.used() > 0);
    read_head(&mut slow);
    let mut body = Vec::new();
    let _ = slow.read_to_end(&mut body);
    assert!(content()[..LARGE / 2].starts_with(&body), "{}", body.len());
    // Over HTTP/2, the reset comes behind the data.
    let client = Client::connect(proxied.address());
    let stream = client.get("/");
    client.stop_reading(stream);
    client.head(stream);
    client.read_on(stream);
    let got = client.response(stream);
    assert!(got.end != Some(crate::support::multiplexed::End::Whole) && content().starts_with(&got.body));
    until(|| spool.used() == 0);
}

#[test]
fn a_client_that_leaves_ends_the_response_of_the_server_and_frees_the_space() {
    let (buffering, spool) = buffering(4 << 20);
    let (address, _texts) = in_parts(LARGE);
    let proxied = proxied(server(address), buffering, LONG);
    let mut slow = proxied.connect();
    ask(&mut slow, "/");
    until(|| spool.used() > 0);
    assert_eq!(proxied.upstream.report().servers[0].active, 1);
    drop(slow);
    until(|| spool.used() == 0 && proxied.upstream.report().servers[0].active == 0);
}

#[test]
fn streams_go_on_at_once_before_and_after_their_client_was_slow() {
    for (first, is_buffered) in [(5, false), (LARGE, true)] {
        let (buffering, spool) = buffering(100 << 20);
        let (address, texts) = in_parts(first);
        let proxied = proxied(server(address), buffering, LONG);
        let mut client = proxied.connect();
        ask(&mut client, "/");
        if is_buffered {
            until(|| spool.used() > 0);
        }
        assert!(read_head(&mut client).contains("transfer-encoding: chunked"));
        let mut received = Vec::new();
        while received.len() < first {
            received.extend_from_slice(&read_chunk(&mut client));
        }
        assert!(received == content()[..first]);
        // Each arrives before there is another.
        for text in ["a", "bc", "def"] {
            texts.send(text).unwrap();
            assert_eq!(read_chunk(&mut client), text.as_bytes());
        }
        assert_eq!(spool.used(), 0);
    }
}
