//! The last response of a connection, which leaves in one packet with the end.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use rustix::event::{PollFd, PollFlags, Timespec};
use serow::{Request, Response};

use crate::{
    files::{file_of, file_server},
    support::{Folder, Running, bytes_of},
};

/// Waits for the first bytes of the response to this request, and returns whether the end has come with them; then all.
fn response(server: &Running, request: &str) -> (bool, Vec<u8>) {
    let mut client = TcpStream::connect(server.address()).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut polled = [PollFd::new(&client, PollFlags::IN | PollFlags::RDHUP)];
    let limit = Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut polled, Some(&limit)), Ok(1));
    let has_ended = polled[0].revents().contains(PollFlags::RDHUP);
    let mut received = Vec::new();
    client.read_to_end(&mut received).unwrap();
    (has_ended, received)
}

#[test]
fn a_small_response_from_memory_or_a_file_arrives_with_the_end() {
    let folder = Folder::new("last-packet");
    let (path, content) = file_of(4000, &folder);
    let memory = Running::new(|request: Request| async move {
        let length: usize = request.target.path()[3..].parse().unwrap();
        Response::default().body(bytes_of(length))
    });
    for (server, lengths) in [(memory, [0, 13, 10_000]), (file_server(path, true), [0, 13, 4000])] {
        for length in lengths {
            let request = format!("GET /0/{length} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            let body = if length > content.len() { bytes_of(length) } else { content[..length].to_vec() };
            // The kernel holds the packet back for 200 ms at most: less than a busy machine may keep the server waiting.
            let arrives_whole = || {
                let (has_ended, received) = response(&server, &request);
                assert!(received.ends_with(&body), "{length}");
                has_ended
            };
            assert!((0..5).any(|_| arrives_whole()), "{length}");
        }
    }
}
