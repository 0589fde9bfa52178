//! The results of a server's methods, called in turn and out of turn.

use core::{ops::ControlFlow, time::Duration};

use bytes::BytesMut;
use serow_http2::{
    BodyLength, ErrorCode, Event, Limits, PREFACE, ReceivedRequest, Server, Settings, StreamId, Turn, UsageError,
    frame,
    hpack::{Decoder, Encoder, Pseudo},
};
use serow_message::{Headers, KnownHeader, Priority, ResponseHead, StatusCode, Version};

const NOW: Duration = Duration::from_secs(1);

/// A server that has received one request on stream 1.
fn received(method: &str, fields: &[(&str, &str)]) -> (Server, ReceivedRequest) {
    let (mut bytes, mut encoder) = (PREFACE.to_vec(), Encoder::new());
    Settings::default().write(&mut bytes);
    let start = frame::begin_headers(&mut bytes);
    for (pseudo, value) in
        [(Pseudo::Method, method), (Pseudo::Scheme, "https"), (Pseudo::Authority, "a"), (Pseudo::Path, "/b?c")]
    {
        encoder.encode_pseudo(pseudo, value.as_bytes(), &mut bytes);
    }
    for (name, value) in fields {
        encoder.encode(name.as_bytes(), KnownHeader::recognise(name.as_bytes()), value.as_bytes(), &mut bytes);
    }
    frame::finish_headers(start, StreamId::new(1), true, 16_384, &mut bytes);
    let mut server = Server::new(Limits::default(), NOW);
    let event = server.receive(&mut BytesMut::from(&bytes[..]), NOW);
    let Ok(Some(Event::Request(request))) = event else { panic!("{event:?}") };
    (server, request)
}

#[test]
fn a_request_and_its_response() {
    let (mut server, request) = received("GET", &[("x-one", "1")]);
    let stream = request.stream;
    assert_eq!((request.head.target.as_str(), request.head.headers.get_str("host")), ("/b?c", Some("a")));
    assert_eq!((request.has_body, request.length), (false, Some(0)));
    let mut output = Vec::new();
    server.write_control(&mut output);
    assert!(!output.is_empty() && !server.has_control());
    assert_eq!(server.next_turn(100), None);
    assert_eq!(server.send_head(stream, StatusCode::OK, Headers::new(), BodyLength::Known(5)), Ok(true));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Err(UsageError::OutOfTurn));
    server.set_ready(stream, true);
    assert_eq!(server.next_turn(100), Some(Turn { stream, head: true, bytes: 5 }));
    output.clear();
    assert_eq!(server.write_head(stream, b"", &mut output), Ok(()));
    assert_eq!(server.write_data(stream, b"hell", true, &mut output), Err(UsageError::TooFewBytes));
    assert_eq!(server.write_data(stream, b"hello!", true, &mut output), Err(UsageError::TooManyBytes));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Ok(()));
    assert!(output.ends_with(b"\0\0\x05\0\x01\0\0\0\x01hello"));
    assert_eq!((server.active_streams(), server.next_turn(100)), (0, None));
}

#[test]
fn responses_announce_an_alternative_service_unless_they_say_something_else() {
    for own in [None, Some("clear")] {
        let (mut server, request) = received("GET", &[]);
        server.set_alternative_service(Some(b"h3=\":1\""[..].into()));
        let mut headers = Headers::new();
        if let Some(own) = own {
            headers.append("alt-svc", own).expect("a field");
        }
        server.send_head(request.stream, StatusCode::OK, headers, BodyLength::Known(0)).expect("its turn");
        server.write_control(&mut Vec::new());
        let mut output = Vec::new();
        server.write_head(request.stream, b"", &mut output).expect("its turn");
        let mut values = Vec::new();
        Decoder::new(4096)
            .decode(&output[9..], |field| {
                if field.name == b"alt-svc" {
                    values.push(field.value.to_vec());
                }
                ControlFlow::Continue(())
            })
            .expect("a field block");
        assert_eq!(values, [own.unwrap_or("h3=\":1\"").as_bytes()]);
    }
}

fn head(status: u16) -> ResponseHead {
    let status = StatusCode::from_u16(status).expect("a status");
    ResponseHead { status, version: Version::HTTP_2, headers: Headers::new() }
}

fn send(server: &mut Server, status: u16, length: BodyLength) -> Result<bool, UsageError> {
    let head = head(status);
    server.send_head(StreamId::new(1), head.status, head.headers, length)
}

#[test]
fn a_response_waits_for_its_request_and_is_one() {
    let mut server = Server::new(Limits::default(), NOW);
    assert_eq!(send(&mut server, 200, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(StreamId::new(1), &head(103)), Err(UsageError::OutOfTurn));
    let (mut server, _) = received("GET", &[]);
    for status in [100, 101, 103] {
        assert_eq!(send(&mut server, status, BodyLength::Known(0)), Err(UsageError::OutOfTurn), "{status}");
    }
    for status in [101, 200, 404] {
        assert_eq!(server.send_informational(StreamId::new(1), &head(status)), Err(UsageError::OutOfTurn), "{status}");
    }
    assert_eq!(server.send_informational(StreamId::new(1), &head(103)), Ok(()));
    assert!(!server.has_begun_response(StreamId::new(1)));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Ok(true));
    assert!(server.has_begun_response(StreamId::new(1)));
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_informational(StreamId::new(1), &head(103)), Err(UsageError::OutOfTurn));
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
        assert_eq!(server.write_head(request.stream, b"", &mut output), Ok(()));
        assert_eq!(server.write_head(request.stream, b"", &mut output), Err(UsageError::OutOfTurn));
        assert_eq!(server.active_streams(), usize::from(sends), "{method} {status} {length:?}");
    }
}

#[test]
fn trailers_end_a_response_where_they_are_wanted() {
    let mut trailers = Headers::new();
    trailers.append("x-sum", "1").expect("a field");
    // DATA without content, or HEADERS, either with END_STREAM.
    for (fields, kind, flags) in [(&[][..], 0, 1), (&[("te", "trailers")], 1, 5)] {
        let (mut server, request) = received("GET", fields);
        let mut output = Vec::new();
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::OutOfTurn));
        assert_eq!(send(&mut server, 200, BodyLength::Known(3)), Ok(true));
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::OutOfTurn));
        server.write_head(request.stream, b"", &mut output).expect("its turn");
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Err(UsageError::TooFewBytes));
        server.write_data(request.stream, b"abc", false, &mut output).expect("its turn");
        output.clear();
        assert_eq!(server.write_trailers(request.stream, &trailers, &mut output), Ok(()));
        assert_eq!(output[3..5], [kind, flags], "{output:?}");
        assert_eq!((output.len() > 9, server.active_streams()), (!fields.is_empty(), 0));
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
    server.write_control(&mut output);
    output.clear();
    server.write_head(request.stream, b"today", &mut output).expect("its turn");
    let mut seen = Vec::new();
    let block = &output[9..];
    let decoded = Decoder::new(4096).decode(block, |field| {
        seen.push(format!("{}: {}", field.name.escape_ascii(), field.value.escape_ascii()));
        core::ops::ControlFlow::Continue(())
    });
    assert_eq!(decoded, Ok(()));
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
    server.reset(request.stream, ErrorCode::CANCEL);
    let mut output = Vec::new();
    server.write_control(&mut output);
    server.reset(request.stream, ErrorCode::CANCEL);
    server.set_ready(request.stream, true);
    server.note_consumed(request.stream, 100);
    server.abandon_body(request.stream);
    server.send_continue(request.stream);
    server.set_priority(request.stream, Priority::DEFAULT);
    assert_eq!(server.write_data(request.stream, b"x", true, &mut output), Err(UsageError::OutOfTurn));
    assert_eq!((server.has_control(), server.next_turn(100), server.counters().reset_by_us), (false, None, 1));
}
