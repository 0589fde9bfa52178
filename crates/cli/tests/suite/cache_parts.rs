//! Parts of responses that are too large to be stored as a whole.

use std::{
    fs,
    io::Write,
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{self, Receiver, Sender},
    },
    thread,
};

use tempfile::TempDir;

use crate::{
    cache::{read_head, send, status},
    running::{Answer, Running, eventually, serow},
};

/// A server with one resource, of which it sends ranges.
struct RangeOrigin {
    address: SocketAddr,
    requests: Receiver<String>,
    state: Arc<Mutex<OriginState>>,
}

/// What the origin sends now.
#[derive(Clone)]
struct OriginState {
    /// More fields of the responses.
    fields: &'static str,
    etag: &'static str,
    /// Content-Range, if it is not the right one.
    range: Option<&'static str>,
    body: &'static str,
}

impl RangeOrigin {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel();
        let state = OriginState { fields: FRESH, etag: "\"a\"", range: None, body: BODY };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, sender, state) = (stream.unwrap(), sender.clone(), Arc::clone(&shared));
                thread::spawn(move || serve(stream, &sender, &state));
            }
        });
        Self { address, requests, state }
    }

    fn change(&self, change: impl FnOnce(&mut OriginState)) {
        change(&mut self.state.lock().unwrap());
    }

    /// The requests since the last call: method, and the fields that matter here.
    fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

fn serve(mut stream: TcpStream, sender: &Sender<String>, state: &Mutex<OriginState>) {
    while let Some((line, request)) = read_head(&mut stream) {
        let noted = ["if-none-match", "if-range", "range"].iter().filter_map(|name| {
            let value = request.get(*name)?;
            Some(format!(" {name}: {value}"))
        });
        let _ = sender.send(format!("{}{}", line.split(' ').next().unwrap(), noted.collect::<String>()));
        let OriginState { fields, etag, range, body } = state.lock().unwrap().clone();
        let fields = format!("ETag: {etag}\r\n{fields}");
        let is_current = |name| request.get(name).is_none_or(|value| value == etag);
        let (head, body) = if line.starts_with("POST") {
            ("204 No Content".to_owned(), "")
        } else if request.get("if-none-match").is_some_and(|value| value.contains(etag)) {
            ("304 Not Modified".to_owned(), "")
        } else if let Some(value) = request.get("range").filter(|_| is_current("if-range")) {
            let (first, last) = value.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
            let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap_or(body.len() - 1));
            let place = format!("bytes {first}-{last}/{}", body.len());
            let place = range.unwrap_or(&place);
            (format!("206 Partial Content\r\nContent-Range: {place}"), &body[first..=last])
        } else {
            ("200 OK".to_owned(), body)
        };
        let length = if head.starts_with('2') { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        let body = if line.starts_with("HEAD") { "" } else { body };
        let _ = stream.write_all(format!("HTTP/1.1 {head}\r\n{fields}{length}\r\n{body}").as_bytes());
    }
}

/// `serow run` in front of an origin, which stores contents of at most 16 bytes, with these keys in `[cache]`.
fn start(keys: &str) -> (Running, RangeOrigin, TempDir) {
    let (origin, folder) = (RangeOrigin::start(), tempfile::tempdir().unwrap());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"unix:admin.sock\"\nworkers = 2\n[cache]\nmemory = \"1M\"\nmax-object = 16\n\
         {keys}\n[[site]]\ncache = true\nproxy = {{ servers = \"{}\" }}\n",
        origin.address
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    (run(&folder), origin, folder)
}

fn run(folder: &TempDir) -> Running {
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    Running::of(command)
}

fn part(serow: &Running, range: &str) -> Answer {
    serow.ask("/", &format!("Range: bytes={range}\r\n"))
}

/// Waits until this range is answered from the cache.
fn stored(serow: &Running, origin: &RangeOrigin, range: &str) {
    let only = format!("Range: bytes={range}\r\nCache-Control: only-if-cached\r\n");
    eventually("the part is stored", || (serow.ask("/", &only).status() == 206).then_some(()));
    origin.requests();
}

#[test]
fn ranges_of_a_stored_part_are_answered_from_the_cache() {
    let (serow, origin, _folder) = start("");
    let first = part(&serow, "10-19");
    assert_eq!((first.status(), first.text(), status(&first)), (206, "abcdefghij", "Serow; fwd=uri-miss; stored"));
    assert_eq!(origin.requests(), ["GET", "GET range: bytes=10-19"]);
    stored(&serow, &origin, "10-19");
    for (fields, body, range) in [
        ("Range: bytes=10-19", "abcdefghij", "bytes 10-19/40"),
        ("Range: bytes=12-13", "cd", "bytes 12-13/40"),
        ("Range: bytes=12-13\r\nIf-Range: \"a\"", "cd", "bytes 12-13/40"),
    ] {
        let answer = serow.ask("/", &format!("{fields}\r\n"));
        assert!(status(&answer).starts_with("Serow; hit; ttl="), "{fields}: {}", answer.head);
        assert_eq!(
            (answer.status(), answer.text(), answer.field("content-range")),
            (206, body, Some(range)),
            "{fields}"
        );
        let length = body.len().to_string();
        assert_eq!(answer.field("content-length"), Some(&*length), "{fields}");
        assert!(answer.field("age").is_some() && answer.field("content-type") == Some("text/plain"), "{fields}");
    }
    let same = serow.ask("/", "Range: bytes=12-13\r\nIf-None-Match: \"a\"\r\n");
    assert_eq!((same.status(), same.field("content-range")), (304, None));
    assert_eq!(origin.requests(), [""; 0]);
}

#[test]
fn what_a_part_has_not_is_for_the_origin() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    for (fields, code, body, request) in [
        ("Range: bytes=30-33\r\nCache-Control: no-store", 206, &BODY[30..34], "GET range: bytes=30-33"),
        ("Range: bytes=15-\r\nCache-Control: no-store", 206, &BODY[15..], "GET range: bytes=15-"),
        ("Range: bytes=12-13\r\nIf-Range: \"b\"", 200, BODY, "GET if-range: \"b\" range: bytes=12-13"),
        ("If-None-Match: \"b\"", 200, BODY, "GET if-none-match: \"b\""),
        ("Accept: */*", 200, BODY, "GET"),
    ] {
        let answer = serow.ask("/", &format!("{fields}\r\n"));
        assert_eq!((answer.status(), answer.text()), (code, body), "{fields}");
        assert_eq!(status(&answer), "Serow; fwd=partial", "{fields}");
        assert_eq!(origin.requests(), [request], "{fields}");
    }
    assert_eq!(serow.ask("/", "Cache-Control: only-if-cached\r\n").status(), 504);
    let head = send(&serow, "HEAD / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=12-13\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&head), "Serow; fwd=partial");
    stored(&serow, &origin, "10-19");
}

#[test]
fn a_whole_response_takes_the_place_of_a_part() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    origin.change(|state| (state.body, state.etag) = ("0123456789", "\"b\""));
    assert_eq!(serow.get("/").text(), "0123456789");
    eventually("the whole is stored", || status(&serow.get("/")).contains("hit").then_some(()));
    origin.requests();
    let hit = part(&serow, "5-6");
    assert_eq!((hit.text(), hit.field("content-range")), ("56", Some("bytes 5-6/10")));
    assert_eq!(origin.requests(), [""; 0]);
}

#[test]
fn parts_of_which_it_is_not_certain_what_they_belong_to_are_not_stored() {
    let right: OriginState = OriginState { fields: FRESH, etag: "\"a\"", range: None, body: BODY };
    for state in [
        OriginState { etag: "W/\"a\"", ..right.clone() },
        OriginState { range: Some("bytes 10-18/40"), ..right.clone() },
        OriginState { range: Some("bytes 10-19/*"), ..right.clone() },
        OriginState { range: Some("bytes */40"), ..right.clone() },
        OriginState { range: Some("lines 10-19/40"), ..right.clone() },
        OriginState { fields: "Cache-Control: private, max-age=60\r\n", ..right.clone() },
        OriginState { fields: "Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n", ..right.clone() },
        OriginState { fields: "Cache-Control: max-age=60\r\nVary: *\r\n", ..right.clone() },
    ] {
        let (serow, origin, _folder) = start("");
        let context = format!("{} {:?} {}", state.etag, state.range, state.fields);
        origin.change(|before| *before = state);
        for _ in 0..2 {
            let answer = part(&serow, "10-19");
            assert_eq!((answer.text(), status(&answer)), ("abcdefghij", "Serow; fwd=uri-miss"), "{context}");
        }
        assert_eq!(
            serow.ask("/", "Range: bytes=10-19\r\nCache-Control: only-if-cached\r\n").status(),
            504,
            "{context}"
        );
    }
}

#[test]
fn a_response_to_if_range_is_not_stored_since_fields_may_be_left_out() {
    let (serow, origin, _folder) = start("");
    let answer = serow.ask("/", "Range: bytes=10-19\r\nIf-Range: \"a\"\r\n");
    assert_eq!((answer.status(), status(&answer)), (206, "Serow; fwd=uri-miss"));
    assert_eq!(origin.requests(), ["GET", "GET if-range: \"a\" range: bytes=10-19"]);
}

#[test]
fn stale_parts_are_validated() {
    let (serow, origin, _folder) = start("");
    origin.change(|state| state.fields = "Cache-Control: max-age=0\r\n");
    part(&serow, "10-19");
    let unmodified = eventually("the part is stored", || {
        let answer = part(&serow, "12-13");
        status(&answer).contains("fwd-status=304").then_some(answer)
    });
    assert_eq!((unmodified.status(), unmodified.text()), (206, "cd"));
    assert_eq!(unmodified.field("content-range"), Some("bytes 12-13/40"));
    origin.change(|state| (state.etag, state.body) = ("\"b\"", OTHER));
    let changed = part(&serow, "12-13");
    assert_eq!((changed.status(), changed.text(), changed.field("etag")), (206, "CD", Some("\"b\"")));
}

#[test]
fn clients_that_resume_share_a_part() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    // Once it is known that parts can be stored, the condition is judged here: a response to it may lack fields.
    let next = serow.ask("/", "Range: bytes=25-34\r\nIf-Range: \"a\"\r\n");
    assert_eq!((next.status(), next.text(), status(&next)), (206, &BODY[25..35], "Serow; fwd=partial; stored"));
    assert_eq!(origin.requests(), ["GET range: bytes=25-34"]);
    stored(&serow, &origin, "25-34");
    // Of another version, the client gets all.
    origin.change(|state| (state.etag, state.body) = ("\"b\"", OTHER));
    let changed = serow.ask("/", "Range: bytes=10-13\r\nIf-Range: \"a\"\r\n");
    assert_eq!((changed.status(), changed.text()), (200, OTHER));
    assert_eq!(origin.requests(), ["GET range: bytes=10-13", "GET if-range: \"a\" range: bytes=10-13"]);
}

#[test]
fn parts_of_one_version_become_one() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    assert_eq!(status(&part(&serow, "18-25")), "Serow; fwd=partial; stored");
    stored(&serow, &origin, "10-25");
    let answer = part(&serow, "12-22");
    assert_eq!((answer.text(), answer.field("content-range")), (&BODY[12..23], Some("bytes 12-22/40")));
    assert!(status(&answer).contains("hit"));
    // What is shorter than the part is not stored beside it.
    assert_eq!(status(&part(&serow, "30-33")), "Serow; fwd=partial");
    // Of another version, nothing is added.
    origin.change(|state| (state.etag, state.body) = ("\"b\"", OTHER));
    assert_eq!(part(&serow, "26-29").text(), &OTHER[26..30]);
    stored(&serow, &origin, "26-29");
    assert_eq!(serow.ask("/", "Range: bytes=10-29\r\nCache-Control: only-if-cached\r\n").status(), 504);
}

#[test]
fn purges_and_unsafe_methods_concern_parts() {
    let (running, origin, folder) = start("");
    origin.change(|state| state.fields = TAGGED);
    let purge = |arguments: &[&str]| {
        let mut command = serow(["purge", "--admin", "unix:admin.sock"]);
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let post =
        || drop(send(&running, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"));
    let actions: [&dyn Fn(); 4] = [
        &|| purge(&["http://localhost/"]),
        &|| purge(&["--prefix", "localhost/"]),
        &|| purge(&["--tag", "product-17"]),
        &post,
    ];
    for action in actions {
        let answer = part(&running, "10-19");
        assert_eq!(answer.field("xkey"), None, "tags are for caches");
        stored(&running, &origin, "10-19");
        action();
        assert_eq!(running.ask("/", "Range: bytes=10-19\r\nCache-Control: only-if-cached\r\n").status(), 504);
    }
}

#[test]
fn parts_of_variants_are_told_apart() {
    let (serow, origin, _folder) = start("");
    origin.change(|state| state.fields = "Cache-Control: max-age=60\r\nVary: Accept-Language\r\n");
    let only = |language: &str| {
        let fields = format!("Range: bytes=10-19\r\nAccept-Language: {language}\r\nCache-Control: only-if-cached\r\n");
        serow.ask("/", &fields).status()
    };
    serow.ask("/", "Range: bytes=10-19\r\nAccept-Language: de\r\n");
    eventually("the part is stored", || (only("de") == 206).then_some(()));
    assert_eq!(only("en"), 504);
}

#[test]
fn parts_outlive_kill_9() {
    // In the record, and in a file of its own.
    for (range, middle) in [("10-19", "12-13"), ("10-39", "20-29")] {
        let (mut serow, origin, folder) = start("dir = \"cache\"\ndir-size = \"1M\"");
        origin.change(|state| state.body = long());
        let (first, expected) = (part(&serow, range), &long()[12..14]);
        assert_eq!((first.status(), status(&first)), (206, "Serow; fwd=uri-miss; stored"), "{range}");
        stored(&serow, &origin, range);
        let cache = folder.path().join("cache");
        eventually("it is written", || is_written(&cache, range == "10-39").then_some(()));
        serow.child.kill().unwrap();
        serow.child.wait().unwrap();
        let next = run(&folder);
        let answer = part(&next, middle);
        assert!(status(&answer).contains("hit"), "{range}: {}", answer.head);
        assert_eq!(answer.text(), if range == "10-19" { expected } else { &long()[20..30] });
        assert!(status(&next.get("/")).starts_with("Serow; fwd=partial"), "it is not the whole");
    }
}

#[test]
fn ranges_of_what_is_too_long_to_be_fetched_as_a_whole_are_stored() {
    let (serow, origin, _folder) = start("dir = \"cache\"\ndir-size = \"256M\"");
    origin.change(|state| state.body = BODY.repeat((65 << 20) / BODY.len()).leak());
    assert_eq!(part(&serow, "10-19").text(), &BODY[10..20]);
    assert_eq!(origin.requests(), ["GET", "GET range: bytes=10-19"]);
    stored(&serow, &origin, "10-19");
    assert!(status(&part(&serow, "12-13")).contains("hit"));
    assert_eq!(part(&serow, "20-22").text(), &BODY[20..23]);
    assert_eq!(origin.requests(), ["GET range: bytes=20-22"], "the whole is not begun again");
}

#[test]
fn a_response_to_head_updates_and_outdates_parts() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    let head = || send(&serow, "HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    origin.change(|state| state.fields = "Cache-Control: max-age=60\r\nX-New: 1\r\n");
    assert_eq!(status(&head()), "Serow; fwd=partial");
    let updated = part(&serow, "12-13");
    assert!(status(&updated).contains("hit"), "{}", updated.head);
    assert_eq!((updated.field("x-new"), updated.text()), (Some("1"), "cd"));
    origin.change(|state| (state.etag, state.body) = ("\"b\"", OTHER));
    head();
    let changed = part(&serow, "12-13");
    assert_eq!((status(&changed), changed.text()), ("Serow; fwd=stale; stored", "CD"));
}

/// Whether there is a record in a folder, and a file for a content, if there is to be one.
fn is_written(folder: &Path, has_content: bool) -> bool {
    let shards = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let shards = shards.filter(|path| path.is_dir() && !path.ends_with("new"));
    let files: Vec<_> =
        shards.flat_map(|shard| fs::read_dir(shard).unwrap().map(|entry| entry.unwrap().path())).collect();
    let (contents, records): (Vec<_>, Vec<_>) = files.iter().partition(|path| path.extension().is_some());
    !records.is_empty() && contents.is_empty() != has_content
}

/// More than a folder of 1 MB takes of one response.
fn long() -> &'static str {
    static LONG: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    LONG.get_or_init(|| BODY.repeat(20_000))
}

const FRESH: &str = "Cache-Control: max-age=60\r\nContent-Type: text/plain\r\n";

const TAGGED: &str = "Cache-Control: max-age=60\r\nxkey: product-17\r\n";

/// The resource, and another version of it.
const BODY: &str = "0123456789abcdefghij0123456789abcdefghij";
const OTHER: &str = "0123456789ABCDEFGHIJ0123456789ABCDEFGHIJ";
