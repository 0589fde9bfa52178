//! Large responses that go from socket to socket through a pipe.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use bytes::Bytes;
use serow::{Request, Response};

use crate::support::{Origin, Proxied, read_head, read_response, until};

/// More than the kernel takes for a client that does not read, and no multiple of a pipe.
const LARGE: usize = 20_000_001;

fn content(seed: u8) -> Vec<u8> {
    (0..LARGE).map(|number| (number % 251) as u8 ^ seed).collect()
}

/// Answers with as much as [`LARGE`], which depends on the path, and with the path where that is short.
fn origin() -> Origin {
    let contents: Vec<Bytes> = (0..4).map(|seed| content(seed).into()).collect();
    Origin::serve(move |request: Request| {
        let contents = contents.clone();
        async move {
            match request.target.path().strip_prefix("/large/").and_then(|seed| seed.parse::<usize>().ok()) {
                Some(seed) => Response::default().body(contents[seed].clone()),
                None => Response::text(request.target.path().to_owned()),
            }
        }
    })
}

fn ask(client: &mut TcpStream, path: &str) {
    client.write_all(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").as_bytes()).unwrap();
}

fn receive(client: &mut TcpStream) -> Vec<u8> {
    assert!(read_head(client).contains("content-length: 20000001\r\n"));
    let mut body = vec![0; LARGE];
    client.read_exact(&mut body).unwrap();
    body
}

/// Pipes that this process has open.
fn pipes() -> usize {
    let names = std::fs::read_dir("/proc/self/fd").unwrap();
    let target = |name: std::io::Result<std::fs::DirEntry>| std::fs::read_link(name.unwrap().path()).ok();
    names.filter_map(target).filter(|target| target.to_string_lossy().starts_with("pipe:")).count()
}

/// A server that answers with this text and closes the connection, again and again.
fn cutting_off(answer: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut client, _)) = listener.accept() {
            read_head(&mut client);
            let _ = client.write_all(&answer);
        }
    });
    address
}

#[test]
fn responses_are_whole_one_after_the_other_and_beside_each_other() {
    let origin = origin();
    let proxied = Proxied::new(&[origin.address()]);
    thread::scope(|scope| {
        for seed in 0..4 {
            let mut client = proxied.connect();
            scope.spawn(move || {
                for _ in 0..3 {
                    ask(&mut client, &format!("/large/{seed}"));
                    assert!(receive(&mut client) == content(seed));
                    ask(&mut client, "/short");
                    assert!(read_response(&mut client).ends_with("\r\n\r\n/short"));
                }
            });
        }
    });
    // Those that stood idle were used again.
    assert!(origin.connections() <= 4, "{}", origin.connections());
}

#[test]
fn a_slow_client_gets_all_through_a_pipe_and_one_that_leaves_leaves_none() {
    let origin = origin();
    let proxied = Proxied::new(&[origin.address()]);
    let before = pipes();
    let mut slow = proxied.connect();
    ask(&mut slow, "/large/1");
    until(|| pipes() > before);
    let of_one = pipes();
    let mut quitter = proxied.connect();
    ask(&mut quitter, "/large/2");
    quitter.read_exact(&mut [0; 1000]).unwrap();
    drop(quitter);
    until(|| pipes() <= of_one);
    assert!(receive(&mut slow) == content(1));
    ask(&mut slow, "/large/3");
    assert!(receive(&mut slow) == content(3));
    until(|| pipes() <= before);
}

#[test]
fn a_response_that_the_server_cuts_off_is_not_taken_for_a_whole_one() {
    let part = content(0)[..LARGE / 2].to_vec();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
    let address = cutting_off([head.as_bytes(), &part].concat());
    let proxied = Proxied::new(&[address]);
    for _ in 0..3 {
        let mut client = proxied.connect();
        ask(&mut client, "/");
        read_head(&mut client);
        let mut body = Vec::new();
        // An end or a reset, which may overtake what was sent.
        let _ = client.read_to_end(&mut body);
        assert!(body.len() < LARGE && part.starts_with(&body), "{}", body.len());
    }
}

#[test]
fn bytes_behind_a_response_are_not_taken_for_the_next() {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {LARGE}\r\n\r\n");
    let behind = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged".repeat(1000);
    let address = cutting_off([head.as_bytes(), &content(0), &behind].concat());
    let proxied = Proxied::new(&[address]);
    let mut client = proxied.connect();
    for _ in 0..3 {
        ask(&mut client, "/");
        assert!(receive(&mut client) == content(0));
    }
}
