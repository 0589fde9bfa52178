//! Bodies of requests on streams beside each other.

use serow_http2::ErrorCode;

use crate::{
    request_bodies::{echo_server, half, late_reader, length_server},
    support::{
        TIMEOUT, bytes_of,
        frames::{DATA, HEADERS, RST_STREAM, block},
    },
};

#[test]
fn many_large_bodies_come_at_once() {
    let server = length_server();
    let mut client = server.connect_http2();
    let streams: Vec<_> = (0..50).map(|number| client.post("/", bytes_of(500_000 + number), number % 2 == 0)).collect();
    for (number, stream) in streams.into_iter().enumerate() {
        assert_eq!(client.answer(stream).text(), (500_000 + number).to_string());
    }
}

#[test]
fn a_body_nobody_reads_costs_its_stream_alone() {
    let server = length_server();
    let mut client = server.connect_http2();
    // More than the connection's window altogether: the server gives back the window of data that no handler reads.
    for length in [10, 10_000, 20 << 20, 20 << 20, 3] {
        let stream = client.post("/unread", bytes_of(length), true);
        let other = client.post("/", bytes_of(100_000), true);
        assert_eq!(client.answer(stream).text(), "unread");
        assert_eq!(client.answer(other).text(), "100000");
    }
}

/// The client may wait for nothing but that (RFC 9113 §8.1).
#[test]
fn an_answered_request_that_does_not_end_is_reset_after_a_while() {
    let server = length_server();
    let mut client = server.connect_frames(&[]);
    let mut post = block("unread");
    // `:method: POST`
    post[0] = 0x83;
    client.send(HEADERS, 0x4, 1, &post).send(DATA, 0, 1, b"abc");
    assert_eq!(client.until(DATA, 1).payload, b"unread");
    // The server ignores data that comes meanwhile.
    client.send(DATA, 0, 1, b"def");
    assert_eq!(client.until(RST_STREAM, 1).payload, ErrorCode::NO_ERROR.0.to_be_bytes());
    // The connection goes on.
    client.ask(3, "");
    assert_eq!(client.until(DATA, 3).payload, b"0");
}

#[test]
fn an_answered_request_that_ends_is_not_reset() {
    let server = length_server();
    let mut client = server.connect_frames(&[]);
    let mut post = block("unread");
    post[0] = 0x83;
    client.send(HEADERS, 0x4, 1, &post);
    assert_eq!(client.until(DATA, 1).payload, b"unread");
    client.send(DATA, 1, 1, b"abc").ask(3, "");
    loop {
        let frame = client.next().unwrap();
        assert_ne!(frame.kind, RST_STREAM);
        if (frame.kind, frame.stream) == (DATA, 3) {
            break;
        }
    }
}

#[test]
fn a_reader_learns_that_the_stream_was_cut_off() {
    let (server, outcomes) = late_reader();
    let mut client = server.connect_http2();
    let stream = client.open("POST", "/", &half());
    client.send(stream, bytes_of(5000));
    assert_eq!(client.head(stream), 200);
    client.machine.reset(stream, ErrorCode::CANCEL);
    client.turn();
    assert!(outcomes.recv_timeout(TIMEOUT).unwrap().is_err());
    // The connection goes on.
    assert_eq!(client.get("/").text(), "accepted");
    assert_eq!(outcomes.recv_timeout(TIMEOUT).unwrap(), Ok(0));
}

#[test]
fn echoes_run_in_both_directions_at_once() {
    let server = echo_server();
    let mut client = server.connect_http2();
    let body = bytes_of(5 << 20);
    let streams: Vec<_> = (0..4).map(|_| client.post("/", body.clone(), false)).collect();
    for stream in streams {
        assert!(client.answer(stream).body == body);
    }
}
