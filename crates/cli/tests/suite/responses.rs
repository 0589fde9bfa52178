//! The phases of sites and routes around their handlers: compression, error pages, CORS.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::mpsc::{self, Sender},
    thread,
    time::{Duration, Instant},
};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use crate::running::{Answer, Running, TIMEOUT, received, serow};

/// A server behind Serow: it answers each connection once, by the path.
fn upstream(go_on: Vec<mpsc::Receiver<()>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut go_on = go_on.into_iter();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let Some(first) = lines.next() else { continue };
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let path = first.split(' ').nth(1).unwrap().to_owned();
            let wait = if path == "/events" { go_on.next() } else { None };
            thread::spawn(move || answer(stream, &path, wait));
        }
    });
    address
}

/// It writes what the path says. Serow may have gone by then.
fn answer(mut stream: TcpStream, path: &str, go_on: Option<mpsc::Receiver<()>>) {
    let mut send = |text: &str| drop(stream.write_all(text.as_bytes()));
    match path {
        "/json" => {
            let body = json();
            let length = body.len();
            send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"a\"\r\n");
            send(&format!("Content-Length: {length}\r\nConnection: close\r\n\r\n"));
            send(&body[..length / 2]);
            thread::sleep(Duration::from_millis(20));
            send(&body[length / 2..]);
        }
        "/events" => {
            send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
            for () in go_on.into_iter().flatten() {
                send("f\r\ndata: an event\n\r\n");
            }
        }
        // It promises more than it sends.
        "/broken" => {
            send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\n");
            send(&json());
        }
        _ => send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone"),
    }
}

fn json() -> String {
    let entries: Vec<_> = (0..500).map(|number| format!("{{\"number\":{number},\"name\":\"a name\"}}")).collect();
    format!("[{}]", entries.join(","))
}

/// Serow before it, with these keys in its site; and the folder that they are about.
fn start(keys: &str, upstream: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("sorry.html"), "<h1>Sorry</h1>").unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\n{keys}\n[[site.route]]\npath = \"/plain/*\"\ncompress = false\n\
         proxy = {{ servers = \"{upstream}\", strip-prefix = \"/plain\" }}\n[[site.route]]\npath = \"/api/*\"\n\
         proxy = {{ servers = \"{upstream}\", strip-prefix = \"/api\" }}\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

fn unzipped(body: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(body).read_to_string(&mut text).unwrap();
    text
}

/// The content of a body in chunks.
fn unchunked(body: &[u8]) -> Vec<u8> {
    let (mut rest, mut content) = (body, Vec::new());
    loop {
        let end = rest.windows(2).position(|window| window == b"\r\n").expect("a whole body");
        let length = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if length == 0 {
            return content;
        }
        content.extend_from_slice(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 2 + length + 2..];
    }
}

const GZIP: &str = "Accept-Encoding: gzip\r\n";

#[test]
fn responses_of_servers_are_compressed() {
    let (serow, _folder) = start("compress = { gzip = 5 }", &upstream(Vec::new()));
    let compressed = serow.ask("/api/json", GZIP);
    assert_eq!(compressed.field("content-encoding"), Some("gzip"), "{}", compressed.head);
    assert_eq!(compressed.field("etag"), Some("W/\"a\""));
    assert_eq!(compressed.field("vary"), Some("Accept-Encoding"));
    assert_eq!(compressed.field("content-length"), None);
    assert!(compressed.body.len() < json().len() / 4);
    assert_eq!(unzipped(&unchunked(&compressed.body)), json());

    let plain = serow.get("/api/json");
    assert_eq!((plain.field("content-encoding"), plain.field("etag")), (None, Some("\"a\"")));
    assert_eq!((plain.field("vary"), plain.text()), (Some("Accept-Encoding"), &*json()));

    let off = serow.ask("/plain/json", GZIP);
    assert_eq!((off.field("content-encoding"), off.field("vary"), off.text()), (None, None, &*json()));
}

#[test]
fn a_broken_body_stays_broken() {
    let (serow, _folder) = start("compress = true", &upstream(Vec::new()));
    let mut stream = serow.connect();
    write!(stream, "GET /api/broken HTTP/1.1\r\nHost: localhost\r\n{GZIP}\r\n").unwrap();
    let mut received = Vec::new();
    // The connection is reset, so that no client takes it for a whole body.
    let _ = stream.read_to_end(&mut received);
    assert!(String::from_utf8_lossy(&received).to_lowercase().contains("content-encoding: gzip"));
    assert!(!received.ends_with(b"0\r\n\r\n"));
}

/// Bytes of a stream in chunks and gzip, until they decode to a text of this length.
fn decoded(stream: &mut TcpStream, received: &mut Vec<u8>, length: usize) -> String {
    let start = Instant::now();
    loop {
        let mut room = [0; 1000];
        let count = stream.read(&mut room).unwrap();
        received.extend_from_slice(&room[..count]);
        let end = received.windows(4).position(|window| window == b"\r\n\r\n").map(|end| end + 4);
        let mut rest = &received[end.unwrap_or(received.len())..];
        let mut content = Vec::new();
        while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
            let Some(chunk) = rest.get(end + 2..end + 2 + size) else { break };
            content.extend_from_slice(chunk);
            rest = rest.get(end + 2 + size + 2..).unwrap_or_default();
        }
        let mut text = vec![0; length];
        if GzDecoder::new(&content[..]).read_exact(&mut text).is_ok() {
            return String::from_utf8(text).unwrap();
        }
        assert!(start.elapsed() < TIMEOUT);
    }
}

#[test]
fn each_event_of_a_stream_arrives_when_it_is_written() {
    let (sender, go_on): (Sender<()>, _) = mpsc::channel();
    let (serow, _folder) = start("compress = true", &upstream(vec![go_on]));
    let mut stream = serow.connect();
    write!(stream, "GET /api/events HTTP/1.1\r\nHost: localhost\r\n{GZIP}\r\n").unwrap();
    let mut received = Vec::new();
    for count in 1..=20 {
        sender.send(()).unwrap();
        let expected = "data: an event\n".repeat(count);
        // It would wait for the time limit of the connection.
        assert_eq!(decoded(&mut stream, &mut received, expected.len()), expected);
    }
}

fn ask(serow: &Running, method: &str, path: &str, headers: &str) -> Answer {
    let mut stream = serow.connect();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n").unwrap();
    received(stream)
}

#[test]
fn errors_have_the_pages_of_the_site() {
    let keys = "error-pages = { \"404,502\" = \"sorry.html\" }";
    let (serow, _folder) = start(keys, &upstream(Vec::new()));
    let missing = serow.get("/nowhere");
    assert_eq!((missing.status(), missing.text()), (404, "<h1>Sorry</h1>"));
    assert_eq!(missing.field("content-type"), Some("text/html; charset=utf-8"));
    let head = ask(&serow, "HEAD", "/nowhere", "");
    assert_eq!((head.status(), head.field("content-length"), head.text()), (404, Some("14"), ""));
    let problem = serow.ask("/nowhere", "Accept: application/json\r\n");
    assert_eq!((problem.status(), problem.field("content-type")), (404, Some("application/problem+json")));
    assert!(problem.text().contains("\"status\":404"), "{}", problem.text());
    let of_server = serow.get("/api/missing");
    assert_eq!((of_server.status(), of_server.text()), (404, "gone"));

    let dead = serow_ports::refusing_address().to_string();
    let (serow, _folder) = start(keys, &dead);
    let unreachable = serow.get("/api/json");
    assert_eq!((unreachable.status(), unreachable.text()), (502, "<h1>Sorry</h1>"));

    let (serow, _folder) = start(&format!("{keys}\nintercept = true"), &upstream(Vec::new()));
    let intercepted = serow.get("/api/missing");
    assert_eq!((intercepted.status(), intercepted.text()), (404, "<h1>Sorry</h1>"));
}

#[test]
fn preflights_are_answered_and_responses_marked() {
    let keys = "cors = { origins = \"https://a.example\" }\nsecurity-headers = true";
    let (serow, _folder) = start(keys, &upstream(Vec::new()));
    let origin = "Origin: https://a.example\r\n";
    for path in ["/api/json", "/nowhere"] {
        let preflight = format!("{origin}Access-Control-Request-Method: PUT\r\n");
        let preflight = ask(&serow, "OPTIONS", path, &preflight);
        assert_eq!((preflight.status(), preflight.field("access-control-allow-methods")), (204, Some("PUT")), "{path}");
        let response = serow.ask(path, origin);
        assert_eq!(response.field("access-control-allow-origin"), Some("https://a.example"), "{path}");
        assert_eq!(response.field("x-content-type-options"), Some("nosniff"), "{path}");
        let other = serow.ask(path, "Origin: https://b.example\r\n");
        assert_eq!(other.field("access-control-allow-origin"), None, "{path}");
    }
}
