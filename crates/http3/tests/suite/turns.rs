//! The results of methods that only a server of HTTP/3 has.

use serow_http3::{BodyLength, Follows, Turn};

use crate::machine::turns::{received, send};

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

#[test]
fn data_of_no_bytes_write_nothing_before_the_end() {
    let (mut server, request) = received("GET", &[]);
    assert_eq!(send(&mut server, 200, BodyLength::Unknown), Ok(true));
    let mut output = Vec::new();
    assert_eq!(server.write_head(request.stream, b"", &mut output), Ok(Follows::More));
    output.clear();
    assert_eq!(server.write_data(request.stream, b"", false, &mut output), Ok(Follows::More));
    assert!(output.is_empty());
    assert_eq!(server.write_data(request.stream, b"", true, &mut output), Ok(Follows::Fin));
    assert!(output.is_empty());
}
