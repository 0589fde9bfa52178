//! The results of a server's methods, called in turn and out of turn.

use core::time::Duration;

use serow_http3::{
    BodyLength, ErrorCode, Event, Follows, Limits, OwnStream, ReceivedRequest, Server, StreamId, StreamOrder, Turn,
    UsageError, frame::Kind, qpack::Decoder,
};
use serow_message::{Headers, Priority, ResponseHead, StatusCode, Version};

use crate::script::{Said, encode};

const NOW: Duration = Duration::from_secs(1);

/// The first request stream.
const FIRST: StreamId = StreamId::of_quic(0);

/// A server that has received one request on stream 0.
fn received(method: &str, fields: &[(&str, &str)]) -> (Server, ReceivedRequest) {
    let fields: String = fields.iter().map(|(name, value)| format!(" | {name}: {value}")).collect();
    let Said::Bytes(_, bytes, _) = encode(&format!("HEADERS 0 | {method} /b?c{fields}")) else { panic!("no bytes") };
    let mut server = Server::new(Limits::default(), NOW);
    server.receive(FIRST, bytes.into(), true, NOW).expect("a request");
    let Some(Event::Request(request)) = server.next_event() else { panic!("no request") };
    assert!(server.next_event().is_none());
    (server, request)
}

#[test]
fn a_request_and_its_response() {
    let (mut server, request) = received("GET", &[("x-one", "1")]);
    let stream = request.stream;
    assert_eq!((request.head.target.as_str(), request.head.headers.get_str("host")), ("/b?c", Some("a")));
    assert_eq!((request.has_body, request.length), (false, Some(0)));
    assert!(server.has_control());
    // The type of the control stream, and SETTINGS.
    assert_eq!(server.control(OwnStream::Control).split()[..2], [0, 4]);
    assert_eq!(
        (&server.control(OwnStream::QpackEncoder).split()[..], &server.control(OwnStream::QpackDecoder).split()[..]),
        (&[2][..], &[3][..])
    );
    assert!(!server.has_control());
    let mut output = Vec::new();
    assert_eq!(server.next_turn(100), None);
    assert_eq!(server.send_head(stream, StatusCode::OK, Headers::new(), BodyLength::Known(5)), Ok(true));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Err(UsageError::OutOfTurn));
    server.set_ready(stream, true);
    assert_eq!(server.next_turn(3), Some(Turn { stream, head: true, bytes: 3 }));
    assert_eq!(server.next_turn(100), Some(Turn { stream, head: true, bytes: 5 }));
    assert_eq!(server.write_head(stream, b"", &mut output), Ok(Follows::More));
    output.clear();
    assert_eq!(server.write_data(stream, b"hell", true, &mut output), Err(UsageError::TooFewBytes));
    assert_eq!(server.write_data(stream, b"hello!", true, &mut output), Err(UsageError::TooManyBytes));
    assert_eq!(server.write_data(stream, b"", false, &mut output), Ok(Follows::More));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Ok(Follows::Fin));
    assert_eq!(output, b"\0\x05hello");
    assert_eq!((server.active_streams(), server.next_turn(100), server.next_order()), (0, None, None));
}

#[test]
fn without_room_there_are_no_turns() {
    let (mut server, request) = received("GET", &[]);
    let stream = request.stream;
    server.set_writable(stream, false);
    assert!(!server.waits_for_window(stream));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Ok(true));
    assert_eq!((server.next_turn(100), server.waits_for_window(stream)), (None, true));
    assert!(server.waiting_for_window().eq([stream]));
    server.set_writable(stream, true);
    server.set_connection_writable(false);
    assert_eq!((server.next_turn(100), server.waits_for_window(stream)), (None, false));
    server.set_connection_writable(true);
    assert_eq!(server.next_turn(100), Some(Turn { stream, head: true, bytes: 0 }));
}

fn head(status: u16) -> ResponseHead {
    let status = StatusCode::from_u16(status).expect("a status");
    ResponseHead { status, version: Version::HTTP_3, headers: Headers::new() }
}

fn send(server: &mut Server, status: u16, length: BodyLength) -> Result<bool, UsageError> {
    let head = head(status);
    server.send_head(FIRST, head.status, head.headers, length)
}

#[test]
fn a_response_waits_for_its_request_and_is_one() {
    let mut server = Server::new(Limits::default(), NOW);
    assert_eq!(send(&mut server, 200, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(FIRST, &head(103)), Err(UsageError::OutOfTurn));
    let (mut server, _) = received("GET", &[]);
    for status in [100, 101, 103] {
        assert_eq!(send(&mut server, status, BodyLength::Known(0)), Err(UsageError::OutOfTurn), "{status}");
    }
    for status in [101, 200, 404] {
        assert_eq!(server.send_informational(FIRST, &head(status)), Err(UsageError::OutOfTurn), "{status}");
    }
    assert_eq!(server.send_informational(FIRST, &head(103)), Ok(()));
    assert!(!server.has_begun_response(FIRST));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Ok(true));
    assert!(server.has_begun_response(FIRST));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(FIRST, &head(103)), Err(UsageError::OutOfTurn));
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
        let follows = if sends { Follows::More } else { Follows::Fin };
        assert_eq!(server.write_head(request.stream, b"", &mut output), Ok(follows));
        assert_eq!(server.write_head(request.stream, b"", &mut output), Err(UsageError::OutOfTurn));
        assert_eq!(server.active_streams(), usize::from(sends), "{method} {status} {length:?}");
    }
}

#[test]
fn trailers_end_a_response_where_they_are_wanted() {
    let mut trailers = Headers::new();
    trailers.append("x-sum", "1").expect("a field");
    for (fields, is_sent) in [(&[][..], false), (&[("te", "trailers")], true)] {
        let (mut server, request) = received("GET", fields);
        let mut output = Vec::new();
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::OutOfTurn));
        assert_eq!(send(&mut server, 200, BodyLength::Known(3)), Ok(true));
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::OutOfTurn));
        let _ = server.write_head(request.stream, b"", &mut output).expect("its turn");
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::TooFewBytes));
        let _ = server.write_data(request.stream, b"abc", false, &mut output).expect("its turn");
        output.clear();
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Ok(Follows::Fin));
        assert_eq!((output.first(), server.active_streams()), (is_sent.then_some(&(Kind::HEADERS.0 as u8)), 0));
    }
}

#[test]
fn fields_of_a_connection_are_left_out_and_names_are_small() {
    let (mut server, request) = received("GET", &[]);
    let mut headers = Headers::new();
    for (name, value) in [
        ("Connection", "close, X-Mine"),
        ("X-Mine", "1"),
        ("Keep-Alive", "5"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "99"),
        ("X-Kept", "1"),
    ] {
        headers.append(name, value).expect("a field");
    }
    server.send_head(request.stream, StatusCode::OK, headers, BodyLength::Known(0)).expect("its turn");
    let mut output = Vec::new();
    assert_eq!(server.write_head(request.stream, b"today", &mut output), Ok(Follows::Fin));
    let mut seen = Vec::new();
    let decoded = Decoder::new(0, 0).decode(FIRST, &output[3..], |field| {
        seen.push(format!("{}: {}", field.name.escape_ascii(), field.value.escape_ascii()));
        core::ops::ControlFlow::Continue(())
    });
    assert!(decoded.is_ok());
    assert_eq!(seen, [":status: 200", "date: today", "x-kept: 1", "content-length: 0"]);
}

#[test]
fn priorities_are_the_clients_and_the_responses_together() {
    let (mut server, request) = received("GET", &[("priority", "u=1")]);
    assert_eq!(server.priority(request.stream), Priority { urgency: 1, incremental: false });
    assert!(server.has_said_priority(request.stream));
    let mut headers = Headers::new();
    headers.append("priority", "i").expect("a field");
    server.send_head(request.stream, StatusCode::OK, headers, BodyLength::Unknown).expect("its turn");
    assert_eq!(server.priority(request.stream), Priority { urgency: 1, incremental: true });
    let (server, request) = received("GET", &[]);
    assert!(!server.has_said_priority(request.stream));
}

#[test]
fn calls_for_streams_that_are_over_do_nothing() {
    let (mut server, request) = received("GET", &[]);
    server.reset(request.stream, ErrorCode::INTERNAL_ERROR);
    let mut output = Vec::new();
    server.reset(request.stream, ErrorCode::INTERNAL_ERROR);
    server.set_ready(request.stream, true);
    server.set_writable(request.stream, true);
    server.abandon_body(request.stream);
    server.send_continue(request.stream);
    server.set_priority(request.stream, Priority::DEFAULT);
    assert_eq!(server.write_data(request.stream, b"x", true, &mut output), Err(UsageError::OutOfTurn));
    let reset = StreamOrder::Reset { stream: request.stream, code: ErrorCode::INTERNAL_ERROR };
    assert_eq!((server.next_order(), server.next_order()), (Some(reset), None));
    assert_eq!((server.next_turn(100), server.counters().reset_by_us), (None, 1));
}
