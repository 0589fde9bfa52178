//! The response cache.

use std::{
    collections::HashMap,
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use data_encoding::BASE64;
use tempfile::TempDir;

use crate::running::{Answer, Running, TIMEOUT, eventually, received, serow};

/// A server that reports the requests that it receives, and answers them by their path.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    requests: Receiver<String>,
    /// Lets the origin send the rest of responses whose path begins with /slow.
    pub(crate) go_on: Sender<()>,
}

/// The head of each path's response, and its body.
const RESPONSES: [(&str, &str, &str); 16] = [
    ("/fresh", "Cache-Control: max-age=60\r\nETag: \"a\"\r\n", "0123456789"),
    ("/stale", "Cache-Control: max-age=0\r\nETag: \"a\"\r\n", "0123456789"),
    ("/silent", "", "0123456789"),
    ("/private", "Cache-Control: private, max-age=60\r\n", "0123456789"),
    ("/cookie", "Cache-Control: public, max-age=60\r\nSet-Cookie: session=1\r\n", "0123456789"),
    ("/public", "Cache-Control: public, max-age=60\r\n", "0123456789"),
    ("/language", "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n", "0123456789"),
    ("/tolerant", "Cache-Control: max-age=0, stale-if-error=60\r\nETag: \"a\"\r\n", "0123456789"),
    ("/slow", "Cache-Control: max-age=60\r\n", "0123456789"),
    ("/slow-private", "Cache-Control: no-store\r\n", "0123456789"),
    ("/chunked", "Cache-Control: max-age=60\r\n", "0123456789"),
    ("/cut", "Cache-Control: max-age=60\r\n", "0123456789"),
    ("/post", "Location: /fresh\r\n", ""),
    ("/tagged", "Cache-Control: max-age=60\r\nSurrogate-Key: a b\r\nxkey: c\r\nCache-Tag: d e,f\r\n", "0123456789"),
    ("/slow-tagged", "Cache-Control: max-age=60\r\nSurrogate-Key: a\r\n", "0123456789"),
    ("/revalidated", "Cache-Control: max-age=60, stale-while-revalidate=60\r\nETag: \"a\"\r\n", "0123456789"),
];

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ((sender, requests), (go_on, gate)) = (mpsc::channel(), mpsc::channel());
        let gate = Arc::new(Mutex::new(gate));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, sender, gate) = (stream.unwrap(), sender.clone(), Arc::clone(&gate));
                thread::spawn(move || serve(stream, &sender, &gate));
            }
        });
        Self { address, requests, go_on }
    }

    /// The requests since the last call, each as one line: method, target and the fields that matter here.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }

    pub(crate) fn next(&self) -> String {
        self.requests.recv_timeout(TIMEOUT).unwrap()
    }
}

fn serve(mut stream: TcpStream, sender: &Sender<String>, gate: &Mutex<Receiver<()>>) {
    let responses: HashMap<_, _> = RESPONSES.iter().map(|(path, head, body)| (*path, (*head, *body))).collect();
    while let Some((line, fields)) = read_head(&mut stream) {
        let path = line.split([' ', '?']).nth(1).unwrap().to_owned();
        let noted = ["if-none-match", "range"].iter().filter_map(|name| {
            let value = fields.get(*name)?;
            Some(format!(" {name}: {value}"))
        });
        let _ = sender.send(format!("{}{}", line.trim_end_matches(" HTTP/1.1"), noted.collect::<String>()));
        if fields.contains_key("x-fail") {
            let _ = stream.write_all(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nfail");
            continue;
        }
        let Some((head, body)) = responses.get(&*path) else {
            let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
            continue;
        };
        if fields.get("if-none-match").is_some_and(|value| value.contains("\"a\"")) {
            let _ = stream.write_all(b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nX-New: 1\r\n\r\n");
            continue;
        }
        let head = format!("HTTP/1.1 200 OK\r\n{head}Content-Length: {}\r\n\r\n", body.len());
        if path.starts_with("/slow") {
            let (first, rest) = body.split_at(5);
            let _ = stream.write_all(format!("{head}{first}").as_bytes());
            let _ = gate.lock().unwrap().recv_timeout(TIMEOUT);
            let _ = stream.write_all(rest.as_bytes());
        } else if path == "/chunked" {
            let head = head.replace("Content-Length: 10", "Transfer-Encoding: chunked");
            let _ = stream.write_all(format!("{head}3\r\n012\r\n3\r\n345\r\n").as_bytes());
            let _ = gate.lock().unwrap().recv_timeout(TIMEOUT);
            let _ = stream.write_all(b"4\r\n6789\r\n0\r\n\r\n");
        } else if path == "/cut" {
            let _ = stream.write_all(format!("{head}01234").as_bytes());
            return;
        } else {
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    }
}

/// The request line and the fields of a request; its body is read, too.
pub(crate) fn read_head(stream: &mut TcpStream) -> Option<(String, HashMap<String, String>)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().to_owned();
    let fields: HashMap<_, _> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = fields.get("content-length").map_or(0, |length| length.parse().unwrap());
    stream.read_exact(&mut vec![0; length]).ok()?;
    Some((line, fields))
}

/// `serow run` in front of an origin, with these keys in the route.
fn start(keys: &str) -> (Running, Origin, TempDir) {
    let origin = Origin::start();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("users"), format!("alice:{HASH}\nbob:{HASH}\n")).unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 2\n[cache]\nmemory = \"1M\"\n[[site]]\n[[site.route]]\npath = \"/*\"\n{keys}\n\
         proxy = {{ servers = \"{}\" }}\n",
        origin.address
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), origin, folder)
}

pub(crate) fn status(answer: &Answer) -> &str {
    answer.field("cache-status").unwrap_or_default()
}

pub(crate) fn send(serow: &Running, request: &str) -> Answer {
    let mut stream = serow.connect();
    stream.write_all(request.as_bytes()).unwrap();
    received(stream)
}

#[test]
fn fresh_responses_are_sent_from_the_cache() {
    let (serow, origin, _folder) = start("cache = true");
    let first = serow.get("/fresh");
    assert_eq!((status(&first), first.text()), ("Serow; fwd=uri-miss; stored", "0123456789"));
    let second = serow.get("/fresh");
    assert!(status(&second).starts_with("Serow; hit; ttl="), "{}", second.head);
    assert_eq!((second.text(), second.field("content-length")), ("0123456789", Some("10")));
    assert!(second.field("age").is_some() && second.field("date").is_some());
    assert_eq!(origin.requests(), ["GET /fresh"]);

    let head = send(&serow, "HEAD /fresh HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!((head.field("cache-status").map(|text| text.contains("fwd")), head.text()), (Some(true), ""));
    let same = send(&serow, "HEAD /fresh HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert!(status(&same).contains("hit") && same.text().is_empty(), "{}", same.head);
    assert_eq!(same.field("content-length"), Some("10"));
    // RFC 9110 §14.2: ranges are for GET.
    let range = "HEAD /fresh HTTP/1.1\r\nHost: localhost\r\nRange: bytes=2-3\r\nConnection: close\r\n\r\n";
    let range = send(&serow, range);
    assert_eq!((range.status(), range.field("content-length")), (200, Some("10")));
}

#[test]
fn conditions_and_ranges_are_answered_from_the_cache() {
    let (serow, origin, _folder) = start("cache = true");
    // A request with a condition and a range fills the cache as others do.
    let first = serow.ask("/fresh", "Range: bytes=2-3\r\nIf-None-Match: \"b\"\r\n");
    assert_eq!((first.status(), first.text()), (206, "23"));
    assert_eq!(origin.requests(), ["GET /fresh"]);
    let unmodified = serow.ask("/fresh", "If-None-Match: \"a\"\r\n");
    assert_eq!((unmodified.status(), unmodified.text(), unmodified.field("etag")), (304, "", Some("\"a\"")));
    let part = serow.ask("/fresh", "Range: bytes=-3\r\n");
    assert_eq!((part.status(), part.text(), part.field("content-range")), (206, "789", Some("bytes 7-9/10")));
    let none = serow.ask("/fresh", "Range: bytes=20-\r\n");
    assert_eq!((none.status(), none.field("content-range")), (416, Some("bytes */10")));
    assert_eq!(origin.requests(), [""; 0]);
    // The origin answers requests for responses that are not stored.
    let private = serow.ask("/private", "Range: bytes=0-0\r\n");
    assert_eq!((private.status(), private.text()), (200, "0123456789"));
    assert_eq!(origin.requests(), ["GET /private", "GET /private range: bytes=0-0"]);
}

#[test]
fn stale_responses_are_validated() {
    let (serow, origin, _folder) = start("cache = true");
    assert_eq!(serow.get("/stale").text(), "0123456789");
    let second = serow.get("/stale");
    assert_eq!(status(&second), "Serow; fwd=stale; fwd-status=304; stored");
    assert_eq!((second.text(), second.field("x-new")), ("0123456789", Some("1")));
    assert_eq!(origin.requests(), ["GET /stale", "GET /stale if-none-match: \"a\""]);
}

#[test]
fn stale_responses_replace_errors_if_they_allow_it() {
    let (serow, _origin, _folder) = start("cache = true");
    for path in ["/stale", "/tolerant"] {
        assert_eq!(serow.get(path).status(), 200);
    }
    let failed = serow.ask("/stale", "X-Fail: 1\r\n");
    assert_eq!((failed.status(), status(&failed)), (503, "Serow; fwd=stale"));
    let replaced = serow.ask("/tolerant", "X-Fail: 1\r\n");
    assert_eq!((replaced.status(), status(&replaced)), (200, "Serow; fwd=stale; fwd-status=503"));
}

#[test]
fn responses_for_one_client_are_not_stored() {
    let (serow, origin, _folder) = start("cache = true");
    for path in ["/private", "/cookie", "/silent"] {
        for _ in 0..2 {
            assert_eq!(status(&serow.get(path)), "Serow; fwd=uri-miss", "{path}");
        }
        assert_eq!(origin.requests().len(), 2, "{path}");
    }
    // Credentials, whoever checks them.
    for _ in 0..2 {
        assert_eq!(status(&serow.ask("/fresh", "Authorization: Bearer x\r\n")), "Serow; fwd=uri-miss");
    }
    assert_eq!(origin.requests().len(), 2);
}

#[test]
fn users_of_a_guard_do_not_get_what_others_got() {
    let (serow, origin, _folder) = start("cache = true\nbasic = { file = \"users\", header = \"X-User\" }");
    let [alice, bob] = ["alice", "bob"].map(|name| {
        let credentials = format!("{name}:open sesame");
        format!("Authorization: Basic {}\r\n", BASE64.encode(credentials.as_bytes()))
    });
    for user in [&alice, &bob, &alice] {
        let answer = serow.ask("/fresh", user);
        assert_eq!((answer.status(), status(&answer)), (200, "Serow; fwd=uri-miss"));
    }
    assert_eq!(origin.requests().len(), 3);
    // Users share public responses, but only with each other.
    assert_eq!(status(&serow.ask("/public", &alice)), "Serow; fwd=uri-miss; stored");
    assert!(status(&serow.ask("/public", &bob)).contains("hit"));
    let stranger = serow.get("/public");
    assert_eq!((stranger.status(), stranger.field("cache-status")), (401, None));
}

#[test]
fn tricks_that_poison_other_caches_store_nothing() {
    let (serow, origin, _folder) = start("cache = { ignore-query = [\"utm_*\"] }");
    for (path, fields) in [
        ("/fresh", "X-Original-URL: /private\r\n"),
        ("/fresh", "X-Rewrite-URL: /private\r\n"),
        ("/fresh", "X-HTTP-Method-Override: POST\r\n"),
        ("/fresh", "X-Host: evil.example\r\n"),
        // With the end of the line that follows.
        ("/fresh", "Content-Length: 5\r\n\r\nfat"),
    ] {
        assert_eq!(status(&serow.ask(path, fields)), "Serow; fwd=bypass", "{fields}");
    }
    origin.requests();
    // Other hosts, ports and spellings are other keys.
    assert_eq!(status(&serow.get("/fresh")), "Serow; fwd=uri-miss; stored");
    for path in ["/fresh?a", "/fresh?a;utm_x=1", "/%66resh", "/fresh%2F", "/fresh/", "//fresh"] {
        assert!(status(&serow.get(path)).starts_with("Serow; fwd=uri-miss"), "{path}");
    }
    let other_port = "GET /fresh HTTP/1.1\r\nHost: localhost:1337\r\nConnection: close\r\n\r\n";
    assert_eq!(status(&send(&serow, other_port)), "Serow; fwd=uri-miss; stored");
    origin.requests();
    // Fields outside of the key do not reach the origin, either.
    let cloaked = serow.get("/fresh?utm_x=1;a=evil");
    assert!(status(&cloaked).contains("hit"), "{}", cloaked.head);
    assert_eq!(status(&serow.get("/public?utm_x=1")), "Serow; fwd=uri-miss; stored");
    assert_eq!(origin.requests(), ["GET /public"]);
}

#[test]
fn unsafe_methods_invalidate() {
    let (serow, origin, _folder) = start("cache = true");
    serow.get("/fresh");
    let post = |path: &str| {
        send(
            &serow,
            &format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"),
        )
    };
    assert_eq!(post("/missing").status(), 404);
    assert!(status(&serow.get("/fresh")).contains("hit"));
    assert_eq!(status(&post("/post")), "Serow; fwd=method");
    assert_eq!(status(&serow.get("/fresh")), "Serow; fwd=uri-miss; stored");
    assert_eq!(origin.requests(), ["GET /fresh", "POST /missing", "POST /post", "GET /fresh"]);
}

#[test]
fn variants_are_stored_beside_each_other() {
    let (serow, origin, _folder) = start("cache = true");
    let get = |language: &str| serow.ask("/language", &format!("Accept-Language: {language}\r\n"));
    assert_eq!(status(&get("de")), "Serow; fwd=uri-miss; stored");
    assert_eq!(status(&get("en")), "Serow; fwd=vary-miss; stored");
    assert!(status(&get("de")).contains("hit") && status(&get("en")).contains("hit"));
    assert_eq!(origin.requests().len(), 2);
}

/// Sends a request and reads until its response has this end.
pub(crate) fn begin(serow: &Running, path: &str, end: &str) -> (TcpStream, String) {
    let mut stream = serow.connect();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with(end) {
        stream.read_exact(&mut byte).unwrap();
        text.push(byte[0].into());
    }
    (stream, text)
}

#[test]
fn requests_for_a_response_that_arrives_share_it() {
    let (serow, origin, _folder) = start("cache = true");
    // Each of them has the beginning before the end is sent.
    let mut clients: Vec<_> = (0..5).map(|_| begin(&serow, "/slow", "\r\n\r\n01234")).collect();
    assert!(clients[0].1.contains("Serow; fwd=uri-miss; stored"), "{}", clients[0].1);
    for (_, text) in &clients[1..] {
        assert!(text.contains("Serow; fwd=uri-miss; collapsed") && text.contains("content-length: 10"), "{text}");
    }
    // The first may leave.
    clients.remove(0);
    origin.go_on.send(()).unwrap();
    for (mut stream, _) in clients {
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "56789");
    }
    eventually("the response is stored", || status(&serow.get("/slow")).contains("hit").then_some(()));
    assert_eq!(origin.requests(), ["GET /slow"]);
}

#[test]
fn an_uncacheable_response_holds_nobody_up() {
    let (serow, origin, _folder) = start("cache = true");
    let clients: Vec<_> = (0..3).map(|_| begin(&serow, "/slow-private", "\r\n\r\n01234")).collect();
    assert_eq!((origin.next(), origin.next(), origin.next()).0, "GET /slow-private");
    drop(clients);
}

/// Asks twice for a body that the origin cuts off.
pub(crate) fn ask_for_what_is_cut_off(serow: &Running) {
    for _ in 0..2 {
        let mut stream = serow.connect();
        stream.write_all(b"GET /cut HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        // The connection may be reset, which tells the client that the body is not whole.
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text);
        assert!(!text.ends_with(b"56789"), "{}", text.escape_ascii());
    }
}

#[test]
fn bodies_that_are_cut_off_are_not_stored() {
    let (serow, origin, _folder) = start("cache = true");
    ask_for_what_is_cut_off(&serow);
    assert_eq!(origin.requests(), ["GET /cut", "GET /cut"]);
}

#[test]
fn the_command_line_has_a_cache() {
    let origin = Origin::start();
    let serow = Running::of(serow(["proxy", &origin.address.to_string(), "--listen", "127.0.0.1:0", "--cache", "1M"]));
    serow.get("/fresh");
    assert!(status(&serow.get("/fresh")).contains("hit"));
    assert_eq!(origin.requests(), ["GET /fresh"]);
}

/// Whether the response is sent from the cache, and right.
fn is_hit(serow: &Running) -> bool {
    let answer = serow.get("/fresh");
    assert_eq!(answer.text(), "0123456789");
    status(&answer).contains("hit")
}

#[test]
fn responses_outlive_reloads_and_restarts() {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"unix:admin.sock\"\nworkers = 2\n[cache]\nmemory = \"1M\"\ndir = \"cache\"\n\
         [[site]]\ncache = true\nproxy = {{ servers = \"{}\" }}\n",
        origin.address
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let run = || {
        let mut command = serow(["run"]);
        command.current_dir(folder.path());
        Running::of(command)
    };
    let mut first = run();
    assert_eq!((is_hit(&first), is_hit(&first)), (false, true));
    let output = serow(["reload", "--admin", "unix:admin.sock"]).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(is_hit(&first), "the next generation has it");
    first.stop();
    let mut second = run();
    assert!(is_hit(&second), "the next server has it");
    // In order: the generation of a server that was killed would hold the folder for a moment.
    second.stop();
    // Another server, whose routes may be others.
    let directory = folder.path().join("cache");
    let start = || {
        let mut command = serow(["proxy", &origin.address.to_string(), "--listen", "127.0.0.1:0", "--cache", "1M"]);
        command.arg("--cache-dir").arg(&directory);
        Running::of(command)
    };
    let mut third = start();
    assert_eq!((is_hit(&third), is_hit(&third)), (false, true));
    third.stop();
    assert!(is_hit(&start()));
    assert_eq!(origin.requests(), ["GET /fresh", "GET /fresh"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_refused() {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    fs::write(folder.path().join("letter"), "").unwrap();
    let address = origin.address.to_string();
    for (directory, reason) in [(".", "not of a cache"), ("letter", "Not a directory"), ("a/b", "No such file")] {
        let command = ["proxy", &address, "--listen", "127.0.0.1:0", "--cache", "1M", "--cache-dir", directory];
        let output = serow(command).current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(reason), "{directory}: {text}");
    }
}

/// Of "open sesame", which is checked faster than what `serow password` writes.
const HASH: &str = "$2y$05$jO1mS.eJn7.eXQpRiTb5j.UybACQNqGmhKQbb0aUFIAiD0uH7ds3G";
