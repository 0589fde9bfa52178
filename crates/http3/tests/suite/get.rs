//! One request and its response, byte by byte on the wire.

use core::time::Duration;

use bytes::Bytes;
use serow_http3::{BodyLength, Event, Follows, Limits, OwnStream, Server, StreamId};
use serow_message::{Headers, StatusCode};

#[test]
fn a_get_request_is_answered() {
    let now = Duration::from_secs(1);
    let mut server = Server::new(Limits::default(), now);
    assert_eq!(server.control(OwnStream::Control)[..2], [0, 4]);
    let stream = StreamId::of_quic(0);
    // :method GET, :scheme https, :path /, :authority a
    let request = Bytes::from_static(&[1, 8, 0, 0, 0xd1, 0xd7, 0xc1, 0x50, 1, b'a']);
    server.receive(stream, request, true, now).unwrap();
    let Some(Event::Request(request)) = server.next_event() else { panic!("no request") };
    assert!(!request.has_body);
    assert!(server.next_event().is_none());
    assert_eq!(server.send_head(stream, StatusCode::OK, Headers::new(), BodyLength::Known(5)), Ok(true));
    server.set_ready(stream, true);
    let mut output = Vec::new();
    let turn = server.next_turn(100).unwrap();
    assert_eq!((turn.stream, turn.head, turn.bytes), (stream, true, 5));
    assert_eq!(server.write_head(stream, b"", &mut output), Ok(Follows::More));
    assert_eq!(server.write_data(stream, b"hello", true, &mut output), Ok(Follows::Fin));
    assert_eq!(output[..6], [1, 0x40, 6, 0, 0, 0xd9]);
    assert_eq!(output[output.len() - 7..], *b"\0\x05hello");
    assert_eq!((server.active_streams(), server.next_turn(1), server.next_order()), (0, None, None));
}
