//! What a server says to a caller, in turn and out of it.

use core::time::Duration;

use bytes::BytesMut;
use serow_http2::{
    BodyLength, Event, Limits, Misuse, PREFACE, ReceivedRequest, Server, Settings, StreamId, Turn, frame,
    hpack::{Encoder, Pseudo},
};
use serow_message::{Headers, StatusCode};

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
        encoder.encode(name.as_bytes(), None, value.as_bytes(), &mut bytes);
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
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Err(Misuse::OutOfTurn));
    server.set_ready(stream, true);
    assert_eq!(server.next_turn(100), Some(Turn { stream, head: true, bytes: 5 }));
    output.clear();
    assert_eq!(server.write_head(stream, b"", &mut output), Ok(()));
    assert_eq!(server.write_data(stream, b"hell", true, &mut output), Err(Misuse::TooFewBytes));
    assert_eq!(server.write_data(stream, b"hello!", true, &mut output), Err(Misuse::TooManyBytes));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Ok(()));
    assert!(output.ends_with(b"\0\0\x05\0\x01\0\0\0\x01hello"));
    assert_eq!((server.active_streams(), server.next_turn(100)), (0, None));
}
