//! Responses of the cache that are too large for memory.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    cache::{Origin, ask_for_what_is_cut_off, begin, send, status},
    running::{Running, eventually, serow},
};

/// `serow run` in front of an origin, which has memory for contents of four bytes.
fn start() -> (Running, Origin, TempDir) {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nadmin = \"unix:admin.sock\"\nworkers = 2\n[cache]\nmemory = \"1M\"\nmax-object = 4\n\
         dir = \"cache\"\n[[site]]\ncache = true\nproxy = {{ servers = \"{}\" }}\n",
        origin.address
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    (run(folder.path()), origin, folder)
}

fn run(folder: &Path) -> Running {
    let mut command = serow(["run"]);
    command.current_dir(folder);
    Running::of(command)
}

/// The files of contents.
fn contents(folder: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().path());
    let files = shards.filter(|path| path.is_dir()).flat_map(|shard| fs::read_dir(shard).unwrap());
    files.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some()).collect()
}

/// Waits until a response is stored, and its file has its name.
fn stored(serow: &Running, folder: &Path, path: &str) -> PathBuf {
    eventually("the response is stored", || status(&serow.get(path)).contains("hit").then_some(()));
    eventually("its file has its name", || contents(folder).pop())
}

#[test]
fn they_are_shared_while_they_arrive_and_stored() {
    for path in ["/slow", "/chunked"] {
        let (mut serow, origin, folder) = start();
        let mut clients: Vec<_> =
            (0..5).map(|_| begin(&serow, path, if path == "/slow" { "\r\n\r\n01234" } else { "345" })).collect();
        for (_, text) in &clients[1..] {
            assert!(text.contains("Serow; fwd=uri-miss; collapsed"), "{path}: {text}");
        }
        // The first may leave.
        clients.remove(0);
        origin.go_on.send(()).unwrap();
        for (mut stream, begun) in clients {
            let mut text = begun.split_once("\r\n\r\n").unwrap().1.to_owned();
            stream.read_to_string(&mut text).unwrap();
            let digits: String = match path {
                "/slow" => text,
                // Without the sizes of the chunks.
                _ => text.lines().filter(|line| line.len() > 1).collect(),
            };
            assert_eq!(digits, "0123456789", "{path}");
        }
        stored(&serow, folder.path(), path);
        assert_eq!(serow.get(path).text(), "0123456789");
        // They outlive reloads and restarts.
        let output = serow_reload(folder.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(status(&serow.get(path)).contains("hit"));
        serow.stop();
        let answer = run(folder.path()).get(path);
        assert!(status(&answer).contains("hit") && answer.text() == "0123456789", "{}", answer.text());
        assert_eq!(origin.requests(), [format!("GET {path}")]);
    }
}

fn serow_reload(folder: &Path) -> std::process::Output {
    serow(["reload", "--admin", "unix:admin.sock"]).current_dir(folder).output().unwrap()
}

#[test]
fn conditions_and_ranges_are_answered_from_the_file() {
    let (serow, origin, folder) = start();
    serow.get("/fresh");
    stored(&serow, folder.path(), "/fresh");
    for (fields, expected, body) in [
        ("Range: bytes=2-4", 206, "234"),
        ("Range: bytes=-3", 206, "789"),
        ("Range: bytes=10-", 416, ""),
        ("If-None-Match: \"a\"", 304, ""),
        ("If-Range: \"b\"\r\nRange: bytes=0-0", 200, "0123456789"),
    ] {
        let request = format!("GET /fresh HTTP/1.1\r\nHost: localhost\r\n{fields}\r\nConnection: close\r\n\r\n");
        let answer = send(&serow, &request);
        assert_eq!((answer.status(), answer.text()), (expected, body), "{fields}");
    }
    let answer = send(&serow, "HEAD /fresh HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!((answer.status(), answer.field("content-length")), (200, Some("10")));
    assert_eq!(origin.requests(), ["GET /fresh"]);
}

#[test]
fn a_validated_response_keeps_its_file() {
    let (serow, origin, folder) = start();
    serow.get("/stale");
    let file = eventually("it is stored", || contents(folder.path()).pop());
    for _ in 0..3 {
        assert_eq!(serow.get("/stale").text(), "0123456789");
    }
    assert_eq!(origin.requests()[1..], ["GET /stale if-none-match: \"a\""; 3]);
    assert_eq!(contents(folder.path()), [file]);
}

#[test]
fn a_file_that_is_gone_is_a_miss() {
    let (serow, origin, folder) = start();
    serow.get("/fresh");
    let file = stored(&serow, folder.path(), "/fresh");
    fs::remove_file(&file).unwrap();
    let request =
        "GET /fresh HTTP/1.1\r\nHost: localhost\r\nCache-Control: only-if-cached\r\nConnection: close\r\n\r\n";
    assert_eq!(send(&serow, request).status(), 504);
    let answer = serow.get("/fresh");
    assert!(status(&answer).contains("fwd=uri-miss") && answer.text() == "0123456789", "{}", status(&answer));
    assert_ne!(stored(&serow, folder.path(), "/fresh"), file);
    // A purge removes it with the record.
    let purge = serow_purge(folder.path(), "http://localhost/fresh");
    assert!(purge.status.success(), "{}", String::from_utf8_lossy(&purge.stderr));
    eventually("the file is removed", || contents(folder.path()).is_empty().then_some(()));
    assert_eq!(origin.requests(), ["GET /fresh", "GET /fresh"]);
}

fn serow_purge(folder: &Path, url: &str) -> std::process::Output {
    serow(["purge", url, "--admin", "unix:admin.sock"]).current_dir(folder).output().unwrap()
}

#[test]
fn a_response_that_is_cut_off_leaves_no_file() {
    let (serow, origin, folder) = start();
    ask_for_what_is_cut_off(&serow);
    assert_eq!(origin.requests(), ["GET /cut", "GET /cut"]);
    let new = folder.path().join("cache/new");
    eventually("no file is left", || (fs::read_dir(&new).unwrap().count() == 0).then_some(()));
    assert_eq!(contents(folder.path()), Vec::<PathBuf>::new());
}
