//! Request bodies that are buffered before a server is selected.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
    time::Duration,
};

use serow::{Request, Response, StatusCode};
use serow_proxy::{BufferSettings, ForwardingSettings, UpstreamSettings};

use crate::support::{Origin, Proxied, multiplexing_server, read_head, read_response, server, until};

fn buffering(folder: &Path) -> ForwardingSettings {
    let buffering = BufferSettings { folder: folder.to_owned(), ..BufferSettings::default() };
    ForwardingSettings { buffering: Some(buffering), ..ForwardingSettings::default() }
}

/// Answers with the length and a checksum of the body.
fn summing() -> Origin {
    Origin::serve(|request: Request| async move {
        let body = request.body.collect(usize::MAX).await.unwrap();
        Response::text(summary(&body))
    })
}

fn summary(body: &[u8]) -> String {
    let sum = body.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("{} {sum}", body.len())
}

fn content(length: usize) -> Vec<u8> {
    (0..length).map(|place| (place * 7 % 251) as u8).collect()
}

/// A server that takes a whole body and then closes without a word; gives how much came.
fn closing(body_length: usize) -> (SocketAddr, thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let (mut received, mut piece) = (0, vec![0; 64 * 1024]);
        while received < body_length {
            match connection.read(&mut piece) {
                Ok(length @ 1..) => received += length,
                _ => break,
            }
        }
        received
    });
    (address, thread)
}

#[test]
fn servers_of_both_versions_get_all_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let origin = summing();
    for server in [server(origin.address()), multiplexing_server(origin.address())] {
        let settings = UpstreamSettings::new("test", vec![server]);
        let proxied = Proxied::with(settings, buffering(folder.path()));
        let mut client = proxied.connect();
        for length in [0, 1, 64 * 1024, 64 * 1024 + 1, 1_000_000] {
            let body = content(length);
            client
                .write_all(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n").as_bytes())
                .unwrap();
            client.write_all(&body).unwrap();
            let response = read_response(&mut client);
            assert!(response.ends_with(&summary(&body)), "{length}: {response}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn servers_may_change_while_a_body_comes() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (summing(), summing());
    let settings = UpstreamSettings::new("test", vec![server(before.address())]);
    let proxied = Proxied::with(settings, buffering(folder.path()));
    let mut slow = proxied.connect();
    slow.write_all(b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n").unwrap();
    // It is with the proxy by then.
    assert!(read_head(&mut slow).starts_with("HTTP/1.1 100 "));
    proxied.upstream.replace_servers(vec![server(after.address())]);
    drop(before);
    slow.write_all(b"hello").unwrap();
    let response = read_response(&mut slow);
    assert!(response.ends_with(&summary(b"hello")), "{response}");
}

#[test]
fn requests_wait_for_servers_if_set() {
    let origin = summing();
    let deadline_after = Duration::from_secs(20);
    for (waits, deadline_after, status) in
        [(true, deadline_after, 200), (true, Duration::from_millis(50), 503), (false, deadline_after, 503)]
    {
        let mut settings = UpstreamSettings::new("test", Vec::new());
        (settings.waits_for_servers, settings.queue.timeout) = (waits, deadline_after);
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let mut client = proxied.connect();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        if status == 200 {
            until(|| proxied.upstream.report().waiting == 1);
            proxied.upstream.replace_servers(vec![server(origin.address())]);
        }
        let response = read_response(&mut client);
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{waits} {deadline_after:?}: {response}");
    }
}

#[test]
fn a_slow_client_keeps_no_server_busy() {
    let folder = tempfile::tempdir().unwrap();
    let origin = summing();
    let settings = UpstreamSettings::new("test", vec![server(origin.address())]);
    let proxied = Proxied::with(settings, buffering(folder.path()));
    let mut slow = proxied.connect();
    slow.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhell").unwrap();
    // Another one is served meanwhile, on the only connection there is.
    let mut client = proxied.connect();
    client.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\n\r\na").unwrap();
    assert!(read_response(&mut client).ends_with(&summary(b"a")));
    assert_eq!(origin.connections(), 1);
    slow.write_all(b"o").unwrap();
    assert!(read_response(&mut slow).ends_with(&summary(b"hello")));
    assert_eq!(origin.connections(), 1);
}

#[test]
fn a_body_is_sent_again_where_a_server_dies_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let body = content(300_000);
    let (dying, thread) = closing(body.len());
    let origin = summing();
    let servers = vec![server(dying), server(origin.address())];
    let proxied = Proxied::with(UpstreamSettings::new("test", servers), buffering(folder.path()));
    // They take turns, whichever begins.
    for _ in 0..10 {
        if thread.is_finished() {
            break;
        }
        let mut client = proxied.connect();
        client.write_all(b"PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 300000\r\n\r\n").unwrap();
        client.write_all(&body).unwrap();
        let response = read_response(&mut client);
        assert!(response.starts_with("HTTP/1.1 200 ") && response.ends_with(&summary(&body)), "{response}");
    }
    assert!(thread.join().unwrap() >= body.len());
}

#[test]
fn full_disks_are_reported_to_the_client() {
    let origin = summing();
    let settings = UpstreamSettings::new("test", vec![server(origin.address())]);
    let proxied = Proxied::with(settings, buffering(Path::new("/nonexistent")));
    let mut client = proxied.connect();
    client.write_all(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n").unwrap();
    client.write_all(&content(100_000)).unwrap();
    let response = read_response(&mut client);
    let status = StatusCode::INSUFFICIENT_STORAGE;
    assert!(response.starts_with(&format!("HTTP/1.1 {} ", status.as_str())), "{response}");
    assert_eq!(origin.connections(), 0);
}
