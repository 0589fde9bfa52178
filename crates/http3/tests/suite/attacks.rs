//! Attacks by clients that make a server work, or remember, for nothing; each by the name it is known by.

use core::time::Duration;

use bytes::Bytes;
use serow_http3::{ErrorCode, Limits, OwnStream, ProtocolError, Server, StreamId};

use crate::script::Talk;

/// Says lines until the server has had enough, and how many it took; each time it takes what the server sends, as a
/// client that reads.
fn until_it_ends(talk: &mut Talk, most: usize, mut line: impl FnMut(usize) -> String) -> (usize, ErrorCode) {
    for number in 0..most {
        talk.frames.clear();
        let line = line(number);
        talk.say(&line);
        if let Some(ProtocolError::Connection { code, .. }) = talk.error {
            return (number + 1, code);
        }
    }
    panic!("{most} times, and the server took it all");
}

/// The number of the nth request.
fn nth(number: usize) -> usize {
    4 * number
}

#[test]
fn rapid_reset() {
    // CVE-2023-44487, by RESET_STREAM and by STOP_SENDING.
    for signal in ["RESET", "STOP"] {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| match number % 2 {
            0 => format!("HEADERS {} | POST /", nth(number / 2)),
            _ => format!("{signal} {} 10c", nth(number / 2)),
        });
        assert_eq!((rounds, code), (202, ErrorCode::EXCESSIVE_LOAD));
        assert_eq!((talk.server.counters().reset_by_peer, talk.server.active_streams()), (101, 0));
    }
}

#[test]
fn a_browser_that_leaves_pages_is_no_rapid_reset() {
    let mut talk = Talk::begun(Limits::default());
    for page in 0..100 {
        for number in 0..100 {
            talk.say(&format!("HEADERS {} end | GET /", nth(page * 100 + number)));
        }
        for number in 0..100 {
            talk.say(&format!("STOP {} 10c", nth(page * 100 + number)));
        }
        talk.now += Duration::from_secs(4);
        assert_eq!(talk.error, None, "page {page}");
    }
}

#[test]
fn resets_of_streams_of_which_nothing_came() {
    for signal in ["RESET", "STOP"] {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| format!("{signal} {} 10c", nth(number)));
        assert_eq!((rounds, code), (101, ErrorCode::EXCESSIVE_LOAD));
    }
}

#[test]
fn made_you_reset() {
    // CVE-2025-8671: the client makes mistakes, so that the server resets streams whose requests are being answered.
    for mistake in ["DATA {} xx", "HEADERS {} | :path: /", "HEADERS {} | X: 1", "END {}"] {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| match number % 2 {
            0 => format!("HEADERS {} | POST / | content-length: 1", nth(number / 2)),
            _ => mistake.replace("{}", &nth(number / 2).to_string()),
        });
        assert_eq!((rounds, code), (202, ErrorCode::EXCESSIVE_LOAD), "{mistake}");
    }
}

#[test]
fn malformed_and_incomplete_requests_are_counted_as_resets() {
    for line in ["HEADERS {} end | GET / | A: b", "END {}", "FRAME {} end 21"] {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| line.replace("{}", &nth(number).to_string()));
        assert_eq!((rounds, code), (101, ErrorCode::EXCESSIVE_LOAD), "{line}");
    }
}

#[test]
fn streams_beyond_the_limit_are_counted_as_resets() {
    let mut talk = Talk::begun(Limits { resets: 100, streams: 4, ..Limits::default() });
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| format!("HEADERS {} | POST /", nth(number)));
    assert_eq!((rounds, code), (105, ErrorCode::EXCESSIVE_LOAD));
    assert_eq!((talk.server.counters().refused, talk.server.active_streams()), (101, 4));
}

#[test]
fn floods_of_frames_that_bring_nothing() {
    let lines = [
        // Reserved frames, small and empty.
        "FRAME 2 21",
        "FRAME 2 40 00",
        "FRAME 0 21",
        "FRAME 0 40 00",
        "FRAME 4 21",
        // As CVE-2019-9518.
        "DATA 0",
        // As CVE-2019-9513.
        "PRIORITY_UPDATE 0 u=1",
        "PRIORITY_UPDATE 800 u=1",
        "MAX_PUSH_ID 5",
        "GOAWAY 5",
    ];
    for line in lines {
        let mut talk = Talk::begun(Limits { idle_frames: 1000, ..Limits::default() });
        talk.say("HEADERS 0 | POST /");
        let (rounds, code) = until_it_ends(&mut talk, 3000, |_| line.into());
        assert!((990..=1010).contains(&rounds), "{line}: {rounds}");
        assert_eq!(code, ErrorCode::EXCESSIVE_LOAD, "{line}");
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
        talk.say_all(&[&head], crate::script::Pieces::Bytes);
        if !rest.is_empty() {
            talk.say_all(&[&rest], crate::script::Pieces::Bytes);
        }
        assert_eq!(talk.error, None, "{number}");
        talk.server.reset(StreamId::of_quic(stream as u64), ErrorCode::INTERNAL_ERROR);
        talk.turns();
    }
    assert_eq!(talk.server.active_streams(), 0);
}

#[test]
fn priorities_of_streams_that_never_open() {
    let mut talk = Talk::begun(Limits::default());
    for number in 0..9_000 {
        talk.say(&format!("PRIORITY_UPDATE {} u=1", nth(number * 7)));
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
        talk.feed(0, &[b'x'; 1000], false);
        assert_eq!(talk.events.pop().unwrap(), "data 0 size 1000");
    }
}

#[test]
fn nothing_is_read_while_events_are_not_taken() {
    let mut talk = Talk::begun(Limits::default());
    talk.takes_events = false;
    let now = talk.now;
    let id = StreamId::of_quic(0);
    talk.say("HEADERS 0 | POST /");
    assert!(!talk.server.wants_data(id) && talk.server.wants_data(StreamId::of_quic(4)));
    // A driver that does not care: nothing is lost.
    talk.server.receive(id, Bytes::from_static(b"\0\x03abc\0\x03def"), false, now).unwrap();
    talk.server.receive(id, Bytes::from_static(b"\0\x01g"), true, now).unwrap();
    talk.takes_events = true;
    talk.take_events();
    assert_eq!(talk.events, ["request 0 POST / body | host: a", "data 0 abc", "data 0 def", "data 0 g", "end 0"]);
    assert!(talk.server.wants_data(id));
}
