//! Ranges of files as bodies, and files that change while they are sent, over both versions.

use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serow::{Body, FileRange, FileVersion, Request, Response};
use serow_http2::ErrorCode;

use crate::support::{
    Asked, BOTH, Ended, Folder, Running, bytes_of,
    frames::{DATA, HEADERS, WINDOW_UPDATE},
    logged_since,
};

fn range(path: &Path, offset: u64, length: Option<u64>, versioned: bool) -> Body {
    let file = File::open(path).unwrap();
    let metadata = file.metadata().unwrap();
    let length = length.unwrap_or(metadata.len() - offset);
    let version = versioned.then(|| FileVersion::of(&metadata));
    Body::file(FileRange { file: Arc::new(file), offset, length, version })
}

/// Sends `/OFFSET/LENGTH` of a file; `all` is its end.
fn file_server(path: PathBuf, versioned: bool) -> Running {
    Running::new(move |request: Request| {
        let mut words = request.target.path()[1..].split('/').map(|word| word.parse::<u64>().ok());
        let (offset, length) = (words.next().flatten().unwrap_or(0), words.next().flatten());
        let body = range(&path, offset, length, versioned);
        async move { Response::default().body(body) }
    })
}

const RANGES: [(usize, usize); 8] =
    [(0, 3_000_000), (0, 1), (2_999_999, 1), (0, 4096), (1, 16_385), (4096, 8192), (77, 1 << 20), (5, 0)];

#[test]
fn any_range_of_a_file_arrives() {
    let folder = Folder::new("http2-ranges");
    let path = folder.path("file");
    let content = bytes_of(3_000_000);
    std::fs::write(&path, &content).unwrap();
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        for spoken in BOTH {
            let mut client = server.connect_with(spoken);
            for (offset, length) in RANGES {
                let answer = client.ask(&Asked::get(&format!("/{offset}/{length}")));
                assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
                assert!(answer.body == content[offset..offset + length], "{offset} {length}");
            }
            let answer = client.ask(&Asked { method: "HEAD", ..Asked::get("/0/all") });
            assert_eq!(answer.field("content-length"), Some("3000000"));
        }
        // All at once.
        let mut client = server.connect_http2();
        let streams = RANGES.map(|(offset, length)| client.ask(&format!("/{offset}/{length}")));
        for (stream, (offset, length)) in streams.into_iter().zip(RANGES) {
            assert!(client.answer(stream).body == content[offset..offset + length], "{offset} {length}");
        }
    }
}

#[test]
fn a_file_that_is_shorter_than_promised_is_cut() {
    let folder = Folder::new("http2-short");
    let path = folder.path("file");
    std::fs::write(&path, bytes_of(10_000)).unwrap();
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        for spoken in BOTH {
            assert!(server.connect_with(spoken).try_ask(&Asked::get("/0/20000")).is_err(), "{spoken:?}");
        }
        // The other streams of the connection have no part in it.
        let mut client = server.connect_http2();
        let (short, whole) = (client.ask("/0/20000"), client.ask("/0/10000"));
        assert_eq!(client.is_reset(short), ErrorCode::INTERNAL_ERROR);
        assert_eq!(client.answer(whole).body.len(), 10_000);
    }
}

/// Changes a large file when its head has arrived and its end has not.
fn changed_meanwhile(name: &str, versioned: bool, change: impl Fn(&Path)) -> Ended {
    let folder = Folder::new(name);
    let path = folder.path("file");
    std::fs::write(&path, bytes_of(64 << 20)).unwrap();
    let server = file_server(path.clone(), versioned);
    let mut client = server.connect_http2();
    let stream = client.ask("/0/all");
    client.head(stream);
    change(&path);
    let (answer, ended) = client.outcome(stream);
    assert_eq!(ended == Ended::Whole, answer.unwrap().body.len() == 64 << 20);
    ended
}

#[test]
fn a_file_truncated_meanwhile_is_cut() {
    let truncate = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(50 << 20).unwrap();
    for (name, versioned) in [("http2-truncated", true), ("http2-truncated-unversioned", false)] {
        assert_eq!(changed_meanwhile(name, versioned, truncate), Ended::Reset(ErrorCode::INTERNAL_ERROR));
    }
}

#[test]
fn a_file_changed_meanwhile_is_cut_if_a_version_was_promised() {
    let change = |path: &Path| {
        let mut file = OpenOptions::new().write(true).open(path).unwrap();
        // The clock of the file system moves in steps.
        std::thread::sleep(Duration::from_millis(30));
        file.seek(SeekFrom::Start(60 << 20)).unwrap();
        file.write_all(b"changed").unwrap();
    };
    let _ = logged_since("");
    assert_eq!(changed_meanwhile("http2-changed", true, change), Ended::Reset(ErrorCode::INTERNAL_ERROR));
    assert!(!logged_since("a response could not be finished").is_empty());
    assert_eq!(changed_meanwhile("http2-changed-unversioned", false, change), Ended::Whole);
}

#[test]
fn a_file_waits_for_its_window() {
    let folder = Folder::new("http2-windows");
    let path = folder.path("file");
    let content = bytes_of(100_000);
    std::fs::write(&path, &content).unwrap();
    let server = file_server(path, true);
    // RFC 9113 §6.5.2: the windows of streams begin shut.
    let mut client = server.connect_frames(&[(4, 0)]);
    for stream in [1, 3] {
        client.ask(stream, "0/all");
        assert_eq!(client.until(HEADERS, stream).flags, 0x4);
    }
    client.send(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 1]);
    assert_eq!(client.until(DATA, 3).payload, content[..1]);
    // One is cut off while the other has its turn.
    client.send(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 0]);
    client.send(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 9]);
    assert_eq!(client.until(DATA, 3).payload, content[1..10]);
}

#[test]
fn files_that_break_off_do_not_trouble_those_beside_them() {
    let folder = Folder::new("http2-broken");
    let path = folder.path("file");
    std::fs::write(&path, bytes_of(10_000)).unwrap();
    let server = file_server(path, false);
    let mut client = server.connect_http2();
    for _ in 0..10 {
        let streams: Vec<_> = ["/0/20000", "/0/10000", "/0/20000", "/0/20000", "/5/9995", "/0/10000"]
            .map(|target| (target, client.ask(target)))
            .into();
        for (target, stream) in streams {
            let (answer, ended) = client.outcome(stream);
            match target {
                "/0/20000" => assert_eq!(ended, Ended::Reset(ErrorCode::INTERNAL_ERROR)),
                _ => assert_eq!(ended, Ended::Whole, "{answer:?}"),
            }
        }
    }
}
