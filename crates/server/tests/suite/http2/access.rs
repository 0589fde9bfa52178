//! The access log entries of aborted streams.

use serow_http2::ErrorCode;

use crate::{
    access::{LARGE, server},
    support::{
        Noted, Opening,
        frames::{HEADERS, RST_STREAM, WHOLE, block},
    },
};

#[test]
fn a_response_that_was_cut_off_is_told_as_such() {
    // The client leaves, cuts the stream off, or is not answered at all.
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect_http2();
    client.reads = false;
    let stream = client.ask("/large");
    assert_eq!(client.head(stream), 200);
    client.machine.reset(stream, ErrorCode::CANCEL);
    client.turn();
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.status, entry.whole), (200, false));
    assert!(entry.body_bytes < LARGE, "{}", entry.body_bytes);
    let stream = client.ask("/large");
    assert_eq!(client.head(stream), 200);
    client.ask("/never");
    // A head needs no window, and that of the connection is full.
    let missing = client.open("HEAD", "/missing", &Opening::default());
    assert_eq!(client.head(missing), 404);
    noted.entries(2);
    drop(client);
    let mut entries = noted.entries(4);
    entries.drain(..2);
    assert!(entries.iter().all(|entry| !entry.whole), "{entries:?}");
}

#[test]
fn a_malformed_request_is_told_too() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect_frames(&[]);
    // A field of HTTP/1's connections, as a literal that goes into no table (RFC 9113 §8.2.2, RFC 7541 §6.2.2).
    let malformed = [&block("c")[..], b"\x00\x02te\x04gzip"].concat();
    client.send(HEADERS, WHOLE, 1, &malformed);
    assert_eq!(client.until(RST_STREAM, 1).payload, ErrorCode::PROTOCOL_ERROR.0.to_be_bytes());
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.status, entry.body_bytes), (400, 0));
    // The connection goes on.
    client.ask(3, "missing").until(HEADERS, 3);
    assert_eq!(noted.entries(2)[1].status, 404);
}
