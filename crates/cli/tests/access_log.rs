//! The access log: its formats, its files, and what becomes of it where it cannot be written.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod running;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::Stdio,
};

use running::{Running, eventually, lines_of, received, serow, site};
use rustix::process::Signal;

/// What a hostile client might send to forge a line.
const HOSTILE: &str = "Referer: \" 200 1 \"\r\nUser-Agent: \x1b[31m\u{e9}\\\x01\r\n";

fn logging(folder: &Path, log: &Path, format: &str) -> Running {
    Running::start(folder, &["--access-log", log.to_str().unwrap(), "--access-log-format", format])
}

#[test]
fn combined() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = logging(folder.path(), &log, "combined");
    server.ask("/a.txt?q=%22", "Referer: http://a/\r\nUser-Agent: test/1\r\n");
    let line = lines_of(&log, 1).remove(0);
    let (before, rest) = line.split_once(" [").unwrap();
    let (time, rest) = rest.split_once("] ").unwrap();
    assert_eq!(before, "127.0.0.1 - -");
    assert_eq!(time.len(), "06/Nov/1994:08:49:37 +0000".len());
    assert!(time.ends_with(" +0000"));
    assert_eq!(rest, r#""GET /a.txt?q=%22 HTTP/1.1" 200 1 "http://a/" "test/1""#);
    server.get("/missing");
    assert!(lines_of(&log, 2)[1].contains(r#""GET /missing HTTP/1.1" 404 "#));
    drop(server);

    // It is appended to.
    let server = logging(folder.path(), &log, "combined");
    let mut stream = server.connect();
    write!(stream, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nReferer: \" 200 1 \"\r\n").unwrap();
    stream.write_all(b"User-Agent: \xff\xc3\xa9\\\t\r\n\r\n").unwrap();
    received(stream);
    let lines = lines_of(&log, 3);
    assert_eq!(lines.len(), 3);
    assert!(lines[2].ends_with(r#" 200 1 "\x22 200 1 \x22" "\xFF\xC3\xA9\x5C""#), "{}", lines[2]);
}

#[test]
fn json() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = logging(folder.path(), &log, "json");
    server.ask("/a.txt", "User-Agent: \"\\ \u{e9}\r\n");
    let line = lines_of(&log, 1).remove(0);
    let object: serde_json::Value = serde_json::from_str(&line).unwrap();
    let expected = [
        ("method", "GET".into()),
        ("target", "/a.txt".into()),
        ("host", "localhost".into()),
        ("version", "HTTP/1.1".into()),
        ("status", 200.into()),
        ("bytes", 1.into()),
        ("whole", true.into()),
        ("referer", serde_json::Value::Null),
        ("user_agent", "\"\\ \u{e9}".into()),
    ];
    for (key, value) in expected {
        assert_eq!(object[key], value, "{key}");
    }
    assert!(object["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
    assert!(object["time"].as_str().unwrap().ends_with('Z'));
    assert!(object["duration"].as_f64().unwrap() < 10.0);
    assert_eq!(object.as_object().unwrap().len(), 12);
}

#[test]
fn control_characters_never_reach_the_log() {
    let folder = site();
    for format in ["combined", "json"] {
        let log = folder.path().join(format);
        let server = logging(folder.path(), &log, format);
        let mut stream = server.connect();
        write!(stream, "GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{HOSTILE}\r\n").unwrap();
        received(stream);
        server.get("/a.txt");
        let lines = lines_of(&log, 2);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(!lines.concat().contains(char::is_control), "{lines:?}");
    }
}

#[test]
fn standard_output() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    let mut lines = BufReader::new(server.child.stdout.take().unwrap()).lines();
    server.get("/a.txt");
    // While it runs, and not only at its end.
    assert!(lines.next().unwrap().unwrap().contains("GET /a.txt HTTP/1.1"));
    server.get("/b.txt");
    server.stop();
    assert!(lines.next().unwrap().unwrap().contains("GET /b.txt HTTP/1.1"));
    assert!(lines.next().is_none());
}

#[test]
fn every_request_of_every_worker_has_a_line() {
    let folder = site();
    let log = folder.path().join("access.log");
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--workers", "3", "--access-log"]).arg(&log);
    let mut server = Running::of(command);
    std::thread::scope(|scope| {
        for client in 0..8 {
            let mut stream = server.connect();
            scope.spawn(move || {
                let request = format!("GET /{client} HTTP/1.1\r\nHost: a\r\nUser-Agent: {}\r\n\r\n", "u".repeat(500));
                stream.write_all(request.repeat(250).as_bytes()).unwrap();
                stream.shutdown(std::net::Shutdown::Write).unwrap();
                let answers = std::io::read_to_string(stream).unwrap();
                assert_eq!(answers.matches("HTTP/1.1 404").count(), 250);
            });
        }
    });
    assert_eq!(server.stop().code(), Some(0));
    let lines = lines_of(&log, 0);
    assert_eq!(lines.len(), 8 * 250);
    assert!(lines.iter().all(|line| line.starts_with("127.0.0.1 - - [") && line.ends_with("uuuu\"")));
}

#[test]
fn a_log_that_was_moved_away_is_opened_anew() {
    let folder = site();
    let (log, old) = (folder.path().join("access.log"), folder.path().join("old.log"));
    let server = logging(folder.path(), &log, "combined");
    server.get("/1");
    lines_of(&log, 1);
    fs::rename(&log, &old).unwrap();
    server.get("/2");
    assert_eq!(lines_of(&old, 2).len(), 2);
    server.signal(Signal::USR1);
    eventually("a new file", || log.exists().then_some(()));
    server.get("/3");
    assert!(lines_of(&log, 1)[0].contains("GET /3 "));
    assert_eq!(lines_of(&old, 2).len(), 2);

    // Where that fails, the old file goes on.
    fs::rename(&log, &old).unwrap();
    fs::create_dir(&log).unwrap();
    server.signal(Signal::USR1);
    assert!(server.line_with("anew").contains("Is a directory"));
    server.get("/4");
    assert!(lines_of(&old, 2)[1].contains("GET /4 "));
}

#[test]
fn without_a_log_the_signal_to_open_it_anew_is_harmless() {
    let folder = site();
    let mut server = Running::start(folder.path(), &[]);
    server.signal(Signal::USR1);
    assert_eq!(server.get("/a.txt").text(), "a");
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn the_server_outlives_the_reader_of_its_log() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    drop(server.child.stdout.take());
    assert_eq!(server.get("/a.txt").text(), "a");
    server.line_with("the access log is closed at its other end");
    for _ in 0..3 {
        assert_eq!(server.get("/a.txt").text(), "a");
    }
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(server.last_lines(), [""; 0], "it is said once");
}

#[test]
fn the_server_outlives_a_full_disk() {
    let folder = site();
    for to_standard_output in [false, true] {
        let mut command = serow([folder.path()]);
        command.args(["--listen", "0", "--workers", "1", "--access-log"]);
        if to_standard_output {
            command.arg("-").stdout(fs::File::create("/dev/full").unwrap());
        } else {
            command.arg("/dev/full");
        }
        let mut server = Running::of(command);
        assert_eq!(server.get("/a.txt").text(), "a");
        assert!(server.line_with("the access log cannot be written").contains("No space left on device"));
        for _ in 0..3 {
            assert_eq!(server.get("/a.txt").text(), "a");
        }
        assert_eq!(server.stop().code(), Some(0));
        assert_eq!(server.last_lines(), [""; 0], "it is said once");
    }
}

#[test]
fn a_reader_that_does_not_read_keeps_nobody_waiting() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--workers", "1", "--access-log", "-"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    // The pipe takes 64 KiB, a request makes 100 times that.
    let agent = format!("User-Agent: {}\r\n", "u".repeat(20_000));
    for _ in 0..50 {
        assert_eq!(server.ask("/a.txt", &agent).text(), "a");
    }
    assert_eq!(server.stop().code(), Some(0));
    server.line_with("nobody reads the access log");
}
