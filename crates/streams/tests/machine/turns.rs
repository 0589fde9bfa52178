//! The results of a server's methods, called in turn and out of turn.

use core::time::Duration;

use serow_message::{BodyLength, Headers, Priority, ResponseHead, StatusCode, UsageError};
use serow_streams::{Follows, ReceivedRequest, StreamId, Turn};

use super::script::{Reading as _, localised};
use crate::protocol::{self, CANCELLED, Limits, Reader, Server, follows};

const NOW: Duration = Duration::from_secs(1);

/// A server that has received one whole request.
pub(crate) fn received(method: &str, fields: &[(&str, &str)]) -> (Server, ReceivedRequest) {
    let fields: String = fields.iter().map(|(name, value)| format!(" | {name}: {value}")).collect();
    let mut server = Server::new(Limits::default(), NOW);
    let line = localised(&format!("HEADERS #1 end | {method} /b?c{fields}"));
    let request = protocol::receive_request(&mut server, &line, NOW);
    (server, request)
}

fn first() -> StreamId {
    protocol::stream(protocol::nth(0))
}

fn head(status: u16) -> ResponseHead {
    let status = StatusCode::from_u16(status).expect("a status");
    ResponseHead { status, version: protocol::VERSION, headers: Headers::new() }
}

pub(crate) fn send(server: &mut Server, status: u16, length: BodyLength) -> Result<bool, UsageError> {
    let head = head(status);
    server.send_head(first(), head.status, head.headers, length)
}

/// Headers of these fields.
pub(crate) fn headers(fields: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, *value).expect("a field");
    }
    headers
}

#[test]
fn a_request_and_its_response() {
    let (mut server, request) = received("GET", &[("x-one", "1")]);
    let (stream, mut reader) = (request.stream, Reader::default());
    assert_eq!((request.head.target.as_str(), request.head.headers.get_str("host")), ("/b?c", Some("a")));
    assert_eq!((request.has_body, request.length), (false, Some(0)));
    assert!(server.has_control());
    assert!(reader.drain(&mut server)[0].starts_with("SETTINGS "));
    assert_eq!(server.next_turn(100), None);
    let mut output = Vec::new();
    assert_eq!(server.send_head(stream, StatusCode::OK, Headers::new(), BodyLength::Known(5)), Ok(true));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output).err(), Some(UsageError::OutOfTurn));
    server.set_ready(stream, true);
    assert_eq!(server.next_turn(3), Some(Turn { stream, head: true, bytes: 3 }));
    assert_eq!(server.next_turn(100), Some(Turn { stream, head: true, bytes: 5 }));
    let written = server.write_head(stream, b"", &mut output);
    assert_eq!(follows(written, &output), Ok(Follows::More));
    output.clear();
    assert_eq!(server.write_data(stream, b"hell", true, &mut output).err(), Some(UsageError::TooFewBytes));
    assert_eq!(server.write_data(stream, b"hello!", true, &mut output).err(), Some(UsageError::TooManyBytes));
    assert!(output.is_empty());
    let written = server.write_data(stream, b"hello", true, &mut output);
    assert_eq!(follows(written, &output), Ok(Follows::Fin));
    assert_eq!(reader.read(stream, &output, Follows::Fin), [localised("DATA #1 end hello")]);
    assert_eq!((server.active_streams(), server.next_turn(100)), (0, None));
    assert_eq!(reader.drain(&mut server), [""; 0]);
}

#[test]
fn a_response_waits_for_its_request_and_is_one() {
    let mut server = Server::new(Limits::default(), NOW);
    assert_eq!(send(&mut server, 200, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(first(), &head(103)), Err(UsageError::OutOfTurn));
    let (mut server, _) = received("GET", &[]);
    for status in [100, 101, 103] {
        assert_eq!(send(&mut server, status, BodyLength::Known(0)), Err(UsageError::OutOfTurn), "{status}");
    }
    for status in [101, 200, 404] {
        assert_eq!(server.send_informational(first(), &head(status)), Err(UsageError::OutOfTurn), "{status}");
    }
    assert_eq!(server.send_informational(first(), &head(103)), Ok(()));
    assert!(!server.has_begun_response(first()));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Ok(true));
    assert!(server.has_begun_response(first()));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(first(), &head(103)), Err(UsageError::OutOfTurn));
}

#[test]
fn method_status_and_length_decide_whether_a_body_is_sent() {
    for (method, status, length, sends) in [
        ("GET", 200, BodyLength::Known(0), false),
        ("GET", 200, BodyLength::Known(1), true),
        ("GET", 200, BodyLength::Unknown, true),
        ("GET", 204, BodyLength::Unknown, false),
        ("GET", 304, BodyLength::Known(7), false),
        ("HEAD", 200, BodyLength::Known(7), false),
        ("HEAD", 200, BodyLength::Unknown, false),
    ] {
        let (mut server, request) = received(method, &[]);
        assert_eq!(send(&mut server, status, length), Ok(sends), "{method} {status} {length:?}");
        let mut output = Vec::new();
        assert_eq!(server.next_turn(100), Some(Turn { stream: request.stream, head: true, bytes: 0 }));
        let written = server.write_head(request.stream, b"", &mut output);
        assert_eq!(follows(written, &output), Ok(if sends { Follows::More } else { Follows::Fin }));
        assert_eq!(server.write_head(request.stream, b"", &mut output).err(), Some(UsageError::OutOfTurn));
        assert_eq!(server.active_streams(), usize::from(sends), "{method} {status} {length:?}");
    }
}

#[test]
fn trailers_end_a_response_where_they_are_wanted() {
    let trailers = headers(&[("x-sum", "1")]);
    let wanted = localised("HEADERS #1 end | x-sum: 1");
    for (fields, expected) in [(&[][..], localised(protocol::EMPTY_END)), (&[("te", "trailers")], wanted)] {
        let (mut server, request) = received("GET", fields);
        let (stream, mut reader, mut output) = (request.stream, Reader::default(), Vec::new());
        reader.drain(&mut server);
        assert_eq!(server.write_trailers(stream, &trailers, &mut output).err(), Some(UsageError::OutOfTurn));
        assert_eq!(send(&mut server, 200, BodyLength::Known(3)), Ok(true));
        assert_eq!(server.write_trailers(stream, &trailers, &mut output).err(), Some(UsageError::OutOfTurn));
        assert!(server.write_head(stream, b"", &mut output).is_ok());
        assert_eq!(server.write_trailers(stream, &trailers, &mut output).err(), Some(UsageError::TooFewBytes));
        assert!(server.write_data(stream, b"abc", false, &mut output).is_ok());
        assert_eq!(reader.read(stream, &output, Follows::More).len(), 2);
        output.clear();
        let written = server.write_trailers(stream, &trailers, &mut output);
        assert_eq!(follows(written, &output), Ok(Follows::Fin));
        assert_eq!(reader.read(stream, &output, Follows::Fin), [expected]);
        assert_eq!(server.active_streams(), 0);
    }
}

#[test]
fn fields_of_a_connection_are_left_out_and_names_are_small() {
    let (mut server, request) = received("GET", &[]);
    let mut reader = Reader::default();
    reader.drain(&mut server);
    let headers = headers(&[
        ("Connection", "close, X-Mine"),
        ("X-Mine", "1"),
        ("Keep-Alive", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "99"),
        ("X-Kept", "1"),
    ]);
    server.send_head(request.stream, StatusCode::OK, headers, BodyLength::Known(0)).expect("its turn");
    let mut output = Vec::new();
    let written = server.write_head(request.stream, b"today", &mut output);
    assert_eq!(follows(written, &output), Ok(Follows::Fin));
    let lines = reader.read(request.stream, &output, Follows::Fin);
    let expected = "HEADERS #1 end | :status: 200 | date: today | x-kept: 1 | content-length: 0";
    assert_eq!(lines, [localised(expected)]);
}

#[test]
fn priorities_are_the_clients_and_the_responses_together() {
    let (mut server, request) = received("GET", &[("priority", "u=1")]);
    assert_eq!(server.priority(request.stream), Priority { urgency: 1, incremental: false });
    assert!(server.has_said_priority(request.stream));
    let headers = headers(&[("priority", "i")]);
    server.send_head(request.stream, StatusCode::OK, headers, BodyLength::Unknown).expect("its turn");
    assert_eq!(server.priority(request.stream), Priority { urgency: 1, incremental: true });
    let (server, request) = received("GET", &[]);
    assert!(!server.has_said_priority(request.stream));
}

#[test]
fn calls_for_streams_that_are_over_do_nothing() {
    let (mut server, request) = received("GET", &[]);
    let (stream, mut reader, mut output) = (request.stream, Reader::default(), Vec::new());
    reader.drain(&mut server);
    server.reset(stream, CANCELLED);
    assert_eq!(reader.drain(&mut server), [localised("CUT #1 CANCELLED")]);
    server.reset(stream, CANCELLED);
    server.set_ready(stream, true);
    protocol::note_room(&mut server, stream);
    server.abandon_body(stream);
    server.send_continue(stream);
    server.set_priority(stream, Priority::DEFAULT);
    assert_eq!(server.write_data(stream, b"x", true, &mut output).err(), Some(UsageError::OutOfTurn));
    assert_eq!(reader.drain(&mut server), [""; 0]);
    assert_eq!((server.next_turn(100), server.counters().reset_by_us), (None, 1));
}
