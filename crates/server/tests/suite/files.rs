//! Ranges of files as bodies, and files that change while they are sent.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use serow::{Body, FileRange, FileVersion, Request, Response};

use crate::support::{Asked, BOTH, Folder, Running, Spoken, bytes_of, eventually, logged_since};

fn range(path: &Path, offset: u64, length: Option<u64>, versioned: bool) -> Body {
    let file = File::open(path).unwrap();
    let metadata = file.metadata().unwrap();
    let length = length.unwrap_or(metadata.len() - offset);
    let version = versioned.then(|| FileVersion::of(&metadata));
    Body::file(FileRange { file: Arc::new(file), offset, length, version })
}

/// Sends `/OFFSET/LENGTH` of a file; `all` is its end.
pub(crate) fn file_server(path: PathBuf, versioned: bool) -> Running {
    Running::new(move |request: Request| {
        let mut words = request.target.path()[1..].split('/').map(|word| word.parse::<u64>().ok());
        let (offset, length) = (words.next().flatten().unwrap_or(0), words.next().flatten());
        let body = range(&path, offset, length, versioned);
        async move { Response::default().body(body) }
    })
}

/// A file of so many bytes, and what they are.
pub(crate) fn file_of(length: usize, folder: &Folder) -> (PathBuf, Vec<u8>) {
    let (path, content) = (folder.path("file"), bytes_of(length));
    std::fs::write(&path, &content).unwrap();
    (path, content)
}

/// Offsets and lengths within a file of three million bytes: around pages, and around what a frame of HTTP/2 takes.
pub(crate) const RANGES: [(usize, usize); 9] =
    [(0, 3_000_000), (0, 1), (2_999_999, 1), (0, 4096), (1, 4097), (1, 16_385), (4096, 8192), (77, 1 << 20), (5, 0)];

#[test]
fn any_range_of_a_file_arrives() {
    let folder = Folder::new("ranges");
    let (path, content) = file_of(3_000_000, &folder);
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        for spoken in BOTH {
            let mut client = server.connect_with(spoken);
            for (offset, length) in RANGES {
                let answer = client.get(&format!("/{offset}/{length}"));
                assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
                assert!(answer.body == content[offset..offset + length], "{spoken:?} {offset} {length}");
            }
            let answer = client.ask(&Asked { method: "HEAD", ..Asked::get("/0/all") });
            assert_eq!(answer.field("content-length"), Some("3000000"));
        }
        let mut client = server.connect();
        client.send("GET /0/5000 HTTP/1.0\r\n\r\n");
        assert!(client.answer().body == content[..5000]);
        client.ends();
    }
}

#[test]
fn pipelined_files_keep_their_order() {
    let folder = Folder::new("pipelined");
    let (path, content) = file_of(500_000, &folder);
    let server = file_server(path, true);
    let mut client = server.connect();
    let targets = [(0, 100), (7, 300_000), (9, 0), (1000, 5000), (0, 500_000)];
    client.send(targets.map(|(offset, length)| format!("GET /{offset}/{length} HTTP/1.1\r\nHost: a\r\n\r\n")).concat());
    for (offset, length) in targets {
        assert!(client.answer().body == content[offset..offset + length]);
    }
}

#[test]
fn a_file_that_is_shorter_than_promised_is_cut() {
    let folder = Folder::new("short");
    let (path, _) = file_of(10_000, &folder);
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        for spoken in BOTH {
            let mut client = server.connect_with(spoken);
            client.begin(&Asked::get("/0/20000"));
            client.is_cut();
        }
        let mut client = server.connect();
        client.send("GET /0/20000 HTTP/1.0\r\n\r\n");
        client.is_reset();
    }
}

/// Changes a large file when its head has arrived and its end has not: how much of it arrives all the same. Where it is
/// cut, the log says so.
fn changed_meanwhile(name: &str, spoken: Spoken, versioned: bool, change: impl Fn(&Path)) -> io::Result<usize> {
    let folder = Folder::new(name);
    let path = folder.path("file");
    // One hole: its length is what matters, and writing it would take seconds.
    File::create(&path).unwrap().set_len(LARGE as u64).unwrap();
    let _ = logged_since("");
    let server = file_server(path.clone(), versioned);
    let mut client = server.connect_with(spoken);
    client.begin(&Asked::get("/0/all"));
    client.head();
    change(&path);
    let outcome = client.try_answer().map(|answer| answer.body.len());
    let address = client.local_address().to_string();
    let is_told = || logged_since(&address).iter().any(|line| line.contains("a response could not be finished"));
    match outcome {
        Ok(_) => assert!(!is_told()),
        Err(_) => eventually("the log tells that it was cut", is_told),
    }
    outcome
}

/// More than the kernel holds on its way.
const LARGE: usize = 64 << 20;

#[test]
fn a_file_truncated_meanwhile_is_cut() {
    let truncate = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(50 << 20).unwrap();
    for spoken in BOTH {
        for versioned in [true, false] {
            let outcome = changed_meanwhile("truncated", spoken, versioned, truncate);
            assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionReset, "{spoken:?}");
        }
    }
}

#[test]
fn a_file_changed_meanwhile_is_cut_if_a_version_was_promised() {
    let change = |path: &Path| {
        let mut file = OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(60 << 20)).unwrap();
        file.write_all(b"changed").unwrap();
        // The clock of the file system moves in steps.
        file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
    };
    for spoken in BOTH {
        let outcome = changed_meanwhile("changed", spoken, true, change);
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::ConnectionReset, "{spoken:?}");
        assert_eq!(changed_meanwhile("changed", spoken, false, change).unwrap(), LARGE, "{spoken:?}");
    }
}

#[test]
fn a_file_replaced_by_another_is_sent_as_it_was() {
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        std::fs::write(&other, b"new").unwrap();
        std::fs::rename(&other, path).unwrap();
    };
    // Renaming over it takes away the last name, which changes the file's own times: that may count as a change.
    for spoken in BOTH {
        assert_eq!(changed_meanwhile("replaced", spoken, false, replace).unwrap(), LARGE, "{spoken:?}");
    }
}
