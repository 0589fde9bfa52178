//! Stopping: what runs is finished, and the exit code is 0.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use crate::running::{Answer, Running, eventually, serow, site};
use rustix::process::Signal;

const LENGTH: usize = 50 << 20;

/// A server in the midst of a download that its client has stopped reading.
fn downloading(options: &[&str]) -> (tempfile::TempDir, Running, TcpStream) {
    let folder = site();
    fs::File::create(folder.path().join("large")).unwrap().set_len(LENGTH as u64).unwrap();
    let server = Running::start(folder.path(), options);
    let mut stream = server.connect();
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.peek(&mut [0]).unwrap();
    (folder, server, stream)
}

/// Waits until the server, which stops, accepts no more connections.
fn until_it_stops_listening(server: &Running) {
    let address = server.address().to_owned();
    eventually("no connection any more", || TcpStream::connect(&address).is_err().then_some(()));
}

#[test]
fn a_download_is_finished() {
    for signal in [Signal::TERM, Signal::INT] {
        let (_folder, mut server, mut stream) = downloading(&[]);
        server.signal(signal);
        until_it_stops_listening(&server);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        assert_eq!(Answer::parse(&bytes).body.len(), LENGTH);
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        // A slow machine may have been asked to wait.
        assert!(server.last_lines().iter().all(|line| line.contains("stopping: ")));
    }
}

#[test]
fn idle_connections_keep_nobody_waiting() {
    let folder = site();
    let mut server = Running::start(folder.path(), &[]);
    let mut idle = server.connect();
    idle.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    idle.peek(&mut [0]).unwrap();
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn the_grace_time_ends_what_takes_longer() {
    let (_folder, mut server, stream) = downloading(&["--grace", "200ms"]);
    server.signal(Signal::TERM);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    server.line_with("the grace period is over");
    drop(stream);
}

#[test]
fn a_second_signal_ends_at_once() {
    let (_folder, mut server, stream) = downloading(&[]);
    server.signal(Signal::INT);
    until_it_stops_listening(&server);
    let line = server.line_with("stopping: ");
    let expected = "1 connection is still in use, closing after 30s; a second signal (Ctrl-C) ends at once";
    assert!(line.ends_with(expected), "{line}");
    server.signal(Signal::INT);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    drop(stream);
}

#[test]
fn the_port_is_free_for_the_next_server() {
    let folder = site();
    let mut first = Running::start(folder.path(), &[]);
    let address = first.address().to_owned();
    first.get("/a.txt");
    first.stop();
    let mut command = serow([folder.path()]);
    command.args(["--listen", &address]);
    assert_eq!(Running::of(command).get("/a.txt").text(), "a");
}
