//! Attacks by clients that make a server work, or remember, for nothing; each by the name it is known by.

use core::time::Duration;

use serow_http2::{ErrorCode, Limits, ProtocolError, StreamId};

use crate::script::Talk;

/// Says lines until the server has had enough, and how many it took; each time it takes what the server sends, as a
/// client that reads.
fn until_it_ends(talk: &mut Talk, most: usize, mut line: impl FnMut(usize) -> String) -> (usize, ErrorCode) {
    for number in 0..most {
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
    2 * number + 1
}

#[test]
fn rapid_reset() {
    // CVE-2023-44487.
    let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| match number % 2 {
        0 => format!("HEADERS {} end | GET /", nth(number / 2)),
        _ => format!("RST_STREAM {} 8", nth(number / 2)),
    });
    assert_eq!((rounds, code), (202, ErrorCode::ENHANCE_YOUR_CALM));
    assert_eq!(talk.server.counters().reset_by_peer, 101);
}

#[test]
fn a_browser_that_leaves_pages_is_no_rapid_reset() {
    let mut talk = Talk::begun(Limits::default());
    for page in 0..100 {
        for number in 0..100 {
            talk.say(&format!("HEADERS {} end | GET /", nth(page * 100 + number)));
        }
        for number in 0..100 {
            talk.say(&format!("RST_STREAM {} 8", nth(page * 100 + number)));
        }
        talk.now += Duration::from_secs(4);
        assert_eq!(talk.error, None, "page {page}");
    }
}

#[test]
fn made_you_reset() {
    // CVE-2025-8671: the client makes mistakes, so that the server resets streams whose requests are being answered.
    for mistake in
        ["WINDOW_UPDATE {} 0", "WINDOW_UPDATE {} 2147483647", "DATA {} x", "HEADERS {} | x-one: 1", "PRIORITY {} on {}"]
    {
        let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
        let (rounds, code) = until_it_ends(&mut talk, 1000, |number| match number % 2 {
            0 => format!("HEADERS {} end | GET /", nth(number / 2)),
            _ => mistake.replace("{}", &nth(number / 2).to_string()),
        });
        assert_eq!((rounds, code), (202, ErrorCode::ENHANCE_YOUR_CALM), "{mistake}");
    }
}

#[test]
fn malformed_requests_are_counted_as_resets() {
    let mut talk = Talk::begun(Limits { resets: 100, ..Limits::default() });
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| format!("HEADERS {} end | GET / | A: b", nth(number)));
    assert_eq!((rounds, code), (101, ErrorCode::ENHANCE_YOUR_CALM));
}

#[test]
fn streams_beyond_the_limit_are_counted_as_resets() {
    let mut talk = Talk::begun(Limits { resets: 100, streams: 4, ..Limits::default() });
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| format!("HEADERS {} | POST /", nth(number)));
    assert_eq!((rounds, code), (105, ErrorCode::ENHANCE_YOUR_CALM));
    assert_eq!(talk.server.counters().refused, 101);
}

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
fn floods_of_frames_that_bring_nothing() {
    // CVE-2019-9512 (PING), CVE-2019-9515 (SETTINGS), CVE-2019-9513 (PRIORITY), CVE-2019-9518 (empty DATA), and others.
    let lines = [
        "PING 12345678",
        "PING ack 12345678",
        "SETTINGS",
        "SETTINGS 4=100",
        "SETTINGS ack",
        "PRIORITY 7 on 5",
        "PRIORITY_UPDATE 7 u=1",
        "WINDOW_UPDATE 0 1",
        "WINDOW_UPDATE 1 1",
        "DATA 1",
        "DATA 1 pad 20",
        "RST_STREAM 3 8",
        "WINDOW_UPDATE 3 1",
        "DATA 5 size 1",
        "BYTES 00 00 00 fa 00 00 00 00 00",
    ];
    for line in lines {
        let mut talk = Talk::begun(Limits { idle_frames: 100, ..Limits::default() });
        talk.say("HEADERS 1 | POST /");
        talk.say("HEADERS 3 end | GET /");
        talk.say("HEADERS 5 | POST /");
        talk.respond(3, 200, "hello");
        talk.server.reset(StreamId::new(5), ErrorCode::CANCEL);
        let (rounds, code) = until_it_ends(&mut talk, 1000, |_| line.into());
        assert_eq!(code, ErrorCode::ENHANCE_YOUR_CALM, "{line}");
        assert!((90..=110).contains(&rounds), "{line}: {rounds}");
        // As fast as is allowed, they go on for ever.
        let mut talk = Talk::begun(Limits { idle_frames: 100, ..Limits::default() });
        talk.say("HEADERS 1 | POST /");
        for _ in 0..1000 {
            talk.now += Duration::from_millis(4);
            talk.say("PING 12345678");
        }
        assert_eq!(talk.error, None);
    }
}

#[test]
fn answers_that_are_not_read() {
    // CVE-2019-9512, CVE-2019-9515: whoever does not read has the answers wait here. The driver does not take them.
    for line in ["PING 12345678", "SETTINGS"] {
        let mut talk = Talk::begun(Limits { control: 1000, ..Limits::default() });
        let bytes = talk.encode(line).repeat(2000);
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
    let (rounds, code) = until_it_ends(&mut talk, 1000, |number| format!("PRIORITY_UPDATE {} u=1", nth(number)));
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
    serow_http2::frame::FrameHeader {
        length,
        kind: serow_http2::frame::Kind::HEADERS,
        flags: 5,
        stream: StreamId::new(1),
    }
    .write(&mut bytes);
    bytes.extend_from_slice(&block);
    talk.feed(&bytes);
    assert_eq!(talk.events, ["refused 1 431"]);
    // The table is what the client thinks it is.
    talk.say("HEADERS 3 end | GET / | x-one: 1");
    assert_eq!(talk.events.last().map(String::as_str), Some("request 3 GET / | host: a | x-one: 1"));
}

#[test]
fn fields_without_names() {
    // CVE-2019-9516: "zero-length headers leak".
    let mut talk = Talk::begun(Limits::default());
    talk.say("HEADERS 1 end | GET / | : | : | :");
    assert_eq!(talk.events, ["refused 1 400"]);
}

#[test]
fn data_for_streams_that_nobody_reads() {
    // The windows bound the data held, and only reading opens them.
    let mut talk = Talk::begun(Limits::default());
    let mut held = 0;
    'all: for stream in 0..128 {
        talk.say(&format!("HEADERS {} | POST /", nth(stream)));
        for _ in 0..3 {
            talk.say(&format!("DATA {} size 16384", nth(stream)));
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
    talk.respond(1, 200, "hello");
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
