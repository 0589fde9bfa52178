//! Attacks that only HTTP/2 has.

use core::time::Duration;

use serow_http2::{
    ErrorCode, Limits, ProtocolError, StreamId,
    frame::{FrameHeader, Kind},
};

use crate::machine::{
    attacks::{of_nth, until_it_ends},
    script::Talk,
};

#[test]
fn continuation_flood() {
    // CVE-2024-27316: bytes without an end, and (CVE-2019-9518) frames without bytes.
    let mut talk = Talk::begun(Limits::default());
    talk.say("HEADERS 1 end open | GET /");
    let value = "v".repeat(10_000);
    let (rounds, code) = until_it_ends(&mut talk, 100, |_| format!("CONTINUATION 1 open | x-one: {value}"));
    assert_eq!((rounds, code), (7, ErrorCode::ENHANCE_YOUR_CALM));

    let mut talk = Talk::begun(Limits::default());
    talk.say("HEADERS 1 end open | GET /");
    let (rounds, code) = until_it_ends(&mut talk, 100, |_| "CONTINUATION 1 open".into());
    assert!(rounds < 20, "{rounds}");
    assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn answers_that_are_not_read() {
    // CVE-2019-9512, CVE-2019-9515: whoever does not read has the answers wait here. The driver does not take them.
    for line in ["PING 12345678", "SETTINGS"] {
        let mut talk = Talk::begun(Limits { control: 1000, ..Limits::default() });
        let bytes = talk.writer.encode(line).repeat(2000);
        let mut input = bytes::BytesMut::from(&bytes[..]);
        let result = talk.server.receive(&mut input, talk.now);
        assert!(
            matches!(result, Err(ProtocolError::Connection { code: ErrorCode::ENHANCE_YOUR_CALM, .. })),
            "{line}: {result:?}"
        );
        let mut output = Vec::new();
        talk.server.write_control(&mut output);
        assert!(output.len() < 1100, "{}", output.len());
    }
}

#[test]
fn priorities_of_streams_that_never_come() {
    // RFC 9218 §7.1, §11; CVE-2019-9513.
    let mut talk = Talk::begun(Limits::default());
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| of_nth("PRIORITY_UPDATE {} u=1", number));
    assert_eq!((rounds, code), (129, ErrorCode::PROTOCOL_ERROR));
}

#[test]
fn hpack_bomb() {
    // CVE-2016-6581: a byte for each copy of a large entry.
    let mut talk = Talk::begun(Limits::default());
    let mut block = vec![0x40, 1, b'x', 0x7f, 0x81, 0x1e];
    block.extend_from_slice(&[b'v'; 4000 - 32]);
    block.extend_from_slice(&[0x80 | 62; 12_000]);
    let mut bytes = Vec::new();
    let length = block.len();
    FrameHeader { length, kind: Kind::HEADERS, flags: 5, stream: StreamId::new(1) }.write(&mut bytes);
    bytes.extend_from_slice(&block);
    talk.feed(&bytes);
    assert_eq!(talk.events, ["refused 1 431"]);
    // The table is what the client thinks it is.
    talk.say("HEADERS 3 end | GET / | x-one: 1");
    assert_eq!(talk.events.last().map(String::as_str), Some("request 3 GET / | host: a | x-one: 1"));
}

#[test]
fn data_for_streams_that_nobody_reads() {
    // The windows bound the data held, and only reading opens them.
    let mut talk = Talk::begun(Limits::default());
    let mut held = 0;
    'all: for stream in 0..128 {
        talk.say(&of_nth("HEADERS {} | POST /", stream));
        for _ in 0..3 {
            talk.say(&of_nth("DATA {} size 16384", stream));
            if talk.error.is_some() {
                break 'all;
            }
            held += 16_384;
        }
    }
    let code = ErrorCode::FLOW_CONTROL_ERROR;
    assert!(matches!(talk.error, Some(ProtocolError::Connection { code: found, .. }) if found == code));
    assert_eq!(held, 256 * 1024);
}

#[test]
fn windows_grow_only_by_reading() {
    // A client that answers the measuring PING late, or by itself, gains nothing without data that were read.
    let mut talk = Talk::begun(Limits::default());
    talk.say("HEADERS 1 | POST /");
    for _ in 0..50 {
        talk.say("PING ack measure.");
        talk.say("DATA 1 size 1000");
    }
    assert!(talk.frames.is_empty(), "{:?}", talk.frames);
    // While it is read, and a round trip brings two thirds of a window, it grows, to its bound and no further.
    let mut talk = Talk::begun(Limits { window: 1 << 20, ..Limits::default() });
    talk.say("HEADERS 1 | POST /");
    let (mut window, mut given) = (65_535u64, Vec::new());
    for _ in 0..2000 {
        while window > 0 && talk.error.is_none() {
            let bytes = window.min(16_384);
            talk.say(&format!("DATA 1 size {bytes}"));
            talk.server.note_consumed(StreamId::new(1), bytes as usize);
            window -= bytes;
        }
        talk.drain();
        talk.now += Duration::from_millis(50);
        talk.say("PING ack measure.");
        for line in talk.frames.drain(..) {
            if let Some(increment) = line.strip_prefix("WINDOW_UPDATE 1 ") {
                let increment: u64 = increment.parse().expect("a number");
                window += increment;
                given.push(window);
            }
        }
        assert_eq!(talk.error, None);
    }
    let largest = given.into_iter().max().expect("windows");
    // A third of the bound is kept for other streams, and windows are given back by halves.
    assert!((350_000..=700_000).contains(&largest), "{largest}");
}

#[test]
fn tiny_windows_are_seen_by_the_driver() {
    // CVE-2019-9517 ("internal data buffering"), CVE-2019-9511 ("data dribble").
    let mut talk = Talk::begun(Limits { idle_frames: 100, ..Limits::default() });
    talk.say("SETTINGS 4=0");
    talk.say("HEADERS 1 end | GET /");
    talk.respond(StreamId::new(1), 200, "hello");
    let stream = StreamId::new(1);
    assert!(talk.server.waits_for_window(stream));
    assert_eq!(talk.server.waiting_for_window().collect::<Vec<_>>(), [stream]);
    // A byte at a time is a flood.
    let (_, code) = until_it_ends(&mut talk, 200, |_| "WINDOW_UPDATE 1 1".into());
    assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM);
}

#[test]
fn settings_that_are_never_acknowledged() {
    // RFC 9113 §6.5.3.
    let mut talk = Talk::new(Limits::default());
    let due = talk.server.deadline().expect("a deadline");
    talk.server.handle_timeout(due - Duration::from_millis(1));
    assert!(!talk.server.is_finished());
    talk.server.handle_timeout(due);
    talk.drain();
    assert!(talk.server.is_finished() && talk.server.deadline().is_none());
    assert_eq!(talk.frames.last().map(String::as_str), Some("GOAWAY 0 SETTINGS_TIMEOUT"));
    assert_eq!(Talk::begun(Limits::default()).server.deadline(), None);
}
