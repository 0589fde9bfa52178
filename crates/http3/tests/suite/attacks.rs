//! Attacks that only HTTP/3 has.

use core::time::Duration;

use bytes::Bytes;
use serow_http3::{ErrorCode, Limits, OwnStream, ProtocolError, Server, StreamId};

use crate::{
    machine::{
        attacks::{of_nth, until_it_ends},
        script::{Pieces, Speaking as _, Talk},
    },
    protocol::{Said, encode, nth},
};

#[test]
fn resets_of_streams_of_which_nothing_came() {
    for signal in ["RESET", "STOP"] {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| of_nth(&format!("{signal} {{}} 10c"), number));
        assert_eq!((rounds, code), (101, ErrorCode::EXCESSIVE_LOAD));
    }
}

#[test]
fn streams_of_unknown_types() {
    let mut talk = Talk::begun(Limits { idle_frames: 1000, ..Limits::default() });
    let (rounds, code) = until_it_ends(&mut talk, 3000, |number| format!("BYTES {} 21", 14 + 4 * number));
    assert!((990..=1010).contains(&rounds), "{rounds}");
    assert_eq!(code, ErrorCode::EXCESSIVE_LOAD);
}

#[test]
fn streams_without_a_type() {
    let mut talk = Talk::begun(Limits::default());
    let (rounds, code) = until_it_ends(&mut talk, 3000, |number| format!("BYTES {} c0", 14 + 4 * number));
    assert_eq!((rounds, code), (62, ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn many_heads_that_do_not_end() {
    // 128 streams, each of which begins with 60 KiB of a head of 64 KiB.
    let mut talk = Talk::begun(Limits::default());
    let head = format!("01 80 00 ff ff {}", "00 ".repeat(60 * 1024));
    let (rounds, code) = until_it_ends(&mut talk, 128, |number| format!("BYTES {} {head}", nth(number)));
    assert_eq!((rounds, code), (9, ErrorCode::EXCESSIVE_LOAD));
}

#[test]
fn memory_counted_for_heads_is_given_back() {
    let limits = Limits { sections: 3000, head: 1500, resets: 10_000, ..Limits::default() };
    let mut talk = Talk::begun(limits);
    let value = "v".repeat(1200);
    for number in 0..500 {
        let stream = nth(number);
        // Ended, malformed, cut off, with trailers, too large, abandoned.
        let (head, rest) = match number % 6 {
            0 => (format!("HEADERS {stream} end | GET / | x: {value}"), String::new()),
            1 => (format!("HEADERS {stream} end | GET / | X: {value}"), String::new()),
            2 => (format!("BYTES {stream} 01 44 00 {}", "00 ".repeat(1000)), format!("RESET {stream} 10c")),
            3 => (format!("HEADERS {stream} | POST /"), format!("HEADERS {stream} end | x: {value}")),
            4 => (format!("HEADERS {stream} end | GET / | x: {value} | y: {value}"), String::new()),
            _ => (format!("HEADERS {stream} | POST /"), format!("HEADERS {stream} end | X: {value}")),
        };
        talk.say_all(&[&head], Pieces::Bytes);
        if !rest.is_empty() {
            talk.say_all(&[&rest], Pieces::Bytes);
        }
        assert_eq!(talk.error, None, "{number}");
        talk.server.reset(StreamId::of_quic(stream), ErrorCode::INTERNAL_ERROR);
        talk.turns();
    }
    assert_eq!(talk.server.active_streams(), 0);
}

#[test]
fn priorities_of_streams_that_never_open() {
    let mut talk = Talk::begun(Limits::default());
    for number in 0..9_000 {
        talk.say(&of_nth("PRIORITY_UPDATE {} u=1", number * 7));
    }
    assert_eq!(talk.error, None);
    talk.say("HEADERS 0 end | GET /");
    assert_eq!(talk.server.priority(StreamId::of_quic(0)).urgency, 1);
}

#[test]
fn a_control_stream_that_is_not_read() {
    // Sections that are to be acknowledged: the client lets us send nothing on the decoder stream.
    let now = Duration::from_secs(1);
    let mut server = Server::new(Limits::default(), now);
    let receive = |server: &mut Server, stream: u64, bytes: &[u8], fin| {
        server.receive(StreamId::of_quic(stream), Bytes::copy_from_slice(bytes), fin, now)
    };
    receive(&mut server, 6, &[2, 0x3f, 0xbd, 1, 0xc1, 2, b'/', b'a'], false).unwrap();
    let mut stream = 0;
    let error = loop {
        let section = [1, 8, 2, 0, 0xd1, 0xd7, 0x50, 1, b'a', 0x80];
        match receive(&mut server, stream, &section, true) {
            Ok(()) => {
                assert!(server.next_event().is_some());
                server.reset(StreamId::of_quic(stream), ErrorCode::NO_ERROR);
                while server.next_order().is_some() {}
                assert!(server.control(OwnStream::QpackDecoder).len() < 100);
                stream += 4;
            }
            Err(error) => break error,
        }
        assert!(stream < 100_000, "without end");
    };
    assert!(matches!(error, ProtocolError::Connection { code: ErrorCode::EXCESSIVE_LOAD, .. }), "{error}");
}

#[test]
fn a_qpack_bomb() {
    // Small sections that stand for large heads (as CVE-2016-6581): each of 60,000 lines is an entry of 3,900 bytes.
    let mut talk = Talk::begun(Limits::default());
    talk.say("BYTES 6 3f e1 1f");
    // x, and a length of 127 + 3773.
    talk.say(&format!("BYTES 6 41 78 7f bd 1d {}", "61 ".repeat(3900)));
    let bomb = format!("00 01 80 00 ea 67 02 00 d1 d7 50 01 61 {}", "80 ".repeat(60_000)).replacen("00 ", "", 1);
    for number in 0..100 {
        let stream = nth(number);
        talk.say(&format!("BYTES {stream} end {bomb}"));
        talk.turns();
        assert_eq!(talk.events.pop().unwrap(), format!("refused {stream} 431"));
    }
    assert_eq!((talk.error, talk.server.active_streams()), (None, 0));
}

#[test]
fn data_without_end_are_not_held() {
    let mut talk = Talk::begun(Limits::default());
    talk.say("HEADERS 0 | POST /");
    talk.say("BYTES 0 00 ff ff ff ff ff ff ff ff");
    for _ in 0..1000 {
        talk.feed(StreamId::of_quic(0), &[b'x'; 1000], false);
        assert_eq!(talk.events.pop().unwrap(), "data 0 size 1000");
    }
}

#[test]
fn nothing_is_read_while_events_are_not_taken() {
    let mut talk = Talk::begun(Limits::default());
    let (now, id) = (talk.now, StreamId::of_quic(0));
    let Said::Bytes(_, head, _) = encode("HEADERS 0 | POST /") else { panic!("no bytes") };
    talk.server.receive(id, head.into(), false, now).unwrap();
    assert!(!talk.server.wants_data(id) && talk.server.wants_data(StreamId::of_quic(4)));
    // A driver that does not care: nothing is lost.
    talk.server.receive(id, Bytes::from_static(b"\0\x03abc\0\x03def"), false, now).unwrap();
    talk.server.receive(id, Bytes::from_static(b"\0\x01g"), true, now).unwrap();
    talk.take_events();
    assert_eq!(talk.events, ["request 0 POST / body | host: a", "data 0 abc", "data 0 def", "data 0 g", "end 0"]);
    assert!(talk.server.wants_data(id));
}
