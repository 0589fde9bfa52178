//! The life of stored parts: validation, other versions, purges, restarts.

use std::{fs, path::Path, sync::OnceLock};

use super::{
    origin::{BODY, OTHER},
    part, run, start, stored,
};
use crate::{
    cache::{send, status},
    running::{eventually, serow},
};

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
fn parts_of_one_version_become_one() {
    let (serow, origin, _folder) = start("");
    part(&serow, "10-19");
    stored(&serow, &origin, "10-19");
    assert_eq!(status(&part(&serow, "18-25")), "Serow; fwd=partial; stored");
    stored(&serow, &origin, "10-25");
    let answer = part(&serow, "12-22");
    assert_eq!((answer.text(), answer.field("content-range")), (&BODY[12..23], Some("bytes 12-22/40")));
    assert!(status(&answer).contains("hit"));
    // A part that is shorter than the stored one is not stored beside it.
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
        // The generation of the server that was killed may hold the folder for a moment.
        stored(&next, &origin, middle);
        let answer = part(&next, middle);
        assert!(status(&answer).contains("hit"), "{range}: {}", answer.head);
        assert_eq!(answer.text(), if range == "10-19" { expected } else { &long()[20..30] });
        assert!(status(&next.get("/")).starts_with("Serow; fwd=partial"), "it is not the whole");
    }
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
    static LONG: OnceLock<String> = OnceLock::new();
    LONG.get_or_init(|| BODY.repeat(20_000))
}

const TAGGED: &str = "Cache-Control: max-age=60\r\nxkey: product-17\r\n";
