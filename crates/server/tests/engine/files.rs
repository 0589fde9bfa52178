//! Ranges of files as bodies, and files that change while they are sent.

use std::{
    fs::{File, OpenOptions},
    io::{Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serow::{Body, FileRange, FileVersion, Request, Response};

use crate::support::{Folder, Running, bytes_of, logged_since};

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

#[test]
fn any_range_of_a_file_arrives() {
    let folder = Folder::new("ranges");
    let path = folder.path("file");
    let content = bytes_of(3_000_000);
    std::fs::write(&path, &content).unwrap();
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        let mut client = server.connect();
        for (offset, length) in
            [(0, 3_000_000), (0, 1), (2_999_999, 1), (0, 4096), (1, 4097), (4096, 8192), (77, 1 << 20), (5, 0)]
        {
            let answer = client.get(&format!("/{offset}/{length}"));
            assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
            assert!(answer.body == content[offset..offset + length], "{offset} {length}");
        }
        client.send("HEAD /0/all HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer_to_head().field("content-length"), Some("3000000"));
        client.send("GET /0/5000 HTTP/1.0\r\n\r\n");
        assert!(client.answer().body == content[..5000]);
        client.ends();
    }
}

#[test]
fn pipelined_files_keep_their_order() {
    let folder = Folder::new("pipelined");
    let path = folder.path("file");
    let content = bytes_of(500_000);
    std::fs::write(&path, &content).unwrap();
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
    let path = folder.path("file");
    std::fs::write(&path, bytes_of(10_000)).unwrap();
    for versioned in [false, true] {
        let server = file_server(path.clone(), versioned);
        for version in ["1.1", "1.0"] {
            let mut client = server.connect();
            client.send(format!("GET /0/20000 HTTP/{version}\r\nHost: a\r\n\r\n"));
            client.is_reset();
        }
    }
}

/// Changes a large file when its head has arrived and its end has not.
fn changed_meanwhile(name: &str, versioned: bool, change: impl Fn(&Path)) -> std::io::Result<usize> {
    let folder = Folder::new(name);
    let path = folder.path("file");
    std::fs::write(&path, bytes_of(64 << 20)).unwrap();
    let server = file_server(path.clone(), versioned);
    let mut client = server.connect();
    client.send("GET /0/all HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    change(&path);
    client.take(64 << 20).map(|body| body.len())
}

#[test]
fn a_file_truncated_meanwhile_is_cut() {
    let truncate = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(50 << 20).unwrap();
    assert!(changed_meanwhile("truncated", true, truncate).is_err());
    assert!(changed_meanwhile("truncated-unversioned", false, truncate).is_err());
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
    assert!(changed_meanwhile("changed", true, change).is_err());
    assert!(!logged_since("a response could not be finished").is_empty());
    assert_eq!(changed_meanwhile("changed-unversioned", false, change).unwrap(), 64 << 20);
}

#[test]
fn a_file_replaced_by_another_is_sent_as_it_was() {
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        std::fs::write(&other, b"new").unwrap();
        std::fs::rename(&other, path).unwrap();
    };
    // Renaming over it takes away the last name, which changes the file's own times: that may count as a change.
    assert_eq!(changed_meanwhile("replaced", false, replace).unwrap(), 64 << 20);
}
