//! Parts of responses that are too large to be stored as a whole.

mod changes;
mod origin;

use std::{
    fs,
    io::{Read, Write},
};

use tempfile::TempDir;

use self::origin::{BODY, FRESH, OTHER, OriginState, RangeOrigin};
use crate::{
    cache::{send, status},
    running::{Answer, Running, eventually, received, serow},
};

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
fn the_origin_answers_requests_beyond_a_stored_part() {
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
fn parts_of_which_it_is_not_certain_what_they_belong_to_are_not_stored() {
    let right: OriginState = OriginState { fields: FRESH, etag: "\"a\"", range: None, body: BODY, is_cut: false };
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
fn a_part_that_is_cut_off_is_not_stored() {
    let (serow, origin, _folder) = start("");
    origin.change(|state| state.is_cut = true);
    let mut stream = serow.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nRange: bytes=10-19\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = Vec::new();
    // The connection may be reset, which tells the client that the body is not whole.
    let _ = stream.read_to_end(&mut text);
    assert!(!text.ends_with(b"j"), "{}", text.escape_ascii());
    origin.requests();
    origin.change(|state| state.is_cut = false);
    assert_eq!(part(&serow, "10-14").text(), "abcde");
    assert_eq!(origin.requests(), ["GET range: bytes=10-14"]);
}

#[test]
fn concurrent_requests_for_ranges_each_get_their_own() {
    let (serow, _origin, _folder) = start("");
    for round in 0..10 {
        let begin = |first: usize| {
            let (start, end, mut stream) = (first * 4 + round % 4, first * 4 + 8, serow.connect());
            let range = format!("bytes={start}-{}", end - 1);
            let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\nRange: {range}\r\nConnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).unwrap();
            (start, end, stream)
        };
        let begun: Vec<_> = (0..8).map(begin).collect();
        for (start, end, stream) in begun {
            let answer = received(stream);
            assert_eq!((answer.status(), answer.text()), (206, &BODY[start..end]));
            assert_eq!(answer.field("content-range"), Some(&*format!("bytes {start}-{}/40", end - 1)));
        }
    }
}
