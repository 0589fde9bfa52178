//! How long a client of HTTP/2 may take over its frames and windows.

use serow::Timeouts;
use serow_http2::{ErrorCode, Limits};

use crate::{
    support::{
        Ended, Instant, Multiplexed, TIMEOUT,
        frames::{CONTINUATION, GOAWAY, HEADERS, RST_STREAM, WINDOW_UPDATE, block, frame},
        patient, sleep,
    },
    timeouts::{SHORT, assert_timely, with_timeouts},
};

#[test]
fn frames_and_header_blocks_must_be_finished() {
    let server = with_timeouts(Timeouts { head: SHORT, ..patient() });
    let block = frame(HEADERS, 0x1, 1, &block("a"));
    let more = frame(CONTINUATION, 0, 1, b"");
    // Half a frame; a block without its end, alone and with a CONTINUATION now and then.
    for (begun, each) in [(&block[..block.len() - 1], &[][..]), (&block, &[]), (&block, &more)] {
        let mut client = server.connect_frames(&[]);
        let began = Instant::now();
        client.client.send(begun);
        let writing = client.client.write_beside(vec![each.to_vec(); 30], SHORT / 10);
        let farewell = client.until(GOAWAY, 0);
        assert_timely(began.elapsed());
        assert_eq!(farewell.payload[4..8], ErrorCode::ENHANCE_YOUR_CALM.0.to_be_bytes());
        writing.end();
    }
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    let server = with_timeouts(Timeouts { head: SHORT, idle: SHORT, ..patient() });
    for preface in [&b""[..], &serow_http2::PREFACE[..7], serow_http2::PREFACE] {
        let mut client = server.connect();
        let began = Instant::now();
        client.send(preface);
        let _ = client.rest();
        assert_timely(began.elapsed());
    }
}

#[test]
fn pings_keep_no_idle_connection_open() {
    let server = with_timeouts(Timeouts { idle: SHORT, ..patient() });
    let mut client = server.connect_http2();
    assert_eq!(client.get("/").text(), "0");
    let began = Instant::now();
    while client.lost.is_none() {
        client.write_raw(&[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        client.go_on_for(SHORT / 10);
        assert!(began.elapsed() < TIMEOUT, "PING keeps a connection for ever");
    }
}

/// Requests that are answered at once are requests, too.
#[test]
fn the_idle_time_begins_with_the_last_request() {
    let server = with_timeouts(Timeouts { idle: 3 * SHORT, ..patient() });
    let mut client = server.connect_http2();
    let began = Instant::now();
    while began.elapsed() < 6 * SHORT {
        assert_eq!(client.get("/").text(), "0");
        client.go_on_for(SHORT / 4);
    }
    assert_eq!(client.lost, None);
}

#[test]
fn a_client_that_opens_no_window_is_cut_off() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    // Only the stream's window is shut, so only the stream is lost.
    let mut client = Multiplexed::with(server.address(), Limits { window: 4 << 20, ..Limits::default() });
    client.reads = false;
    let began = Instant::now();
    let stream = client.ask("/large");
    assert_eq!(client.is_reset(stream), ErrorCode::CANCEL);
    assert_timely(began.elapsed());
    client.reads = true;
    assert_eq!(client.get("/").text(), "0");
}

#[test]
fn a_window_opened_byte_by_byte_does_not_extend_the_timeout() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    for first in [0, 1] {
        let mut client = server.connect_frames(&[(INITIAL_WINDOW_SIZE, first)]);
        let began = Instant::now();
        client.ask(1, "large");
        client.until(HEADERS, 1);
        let writing = client.client.write_beside(vec![frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1]); 60], SHORT / 20);
        assert_eq!(client.until(RST_STREAM, 1).payload, ErrorCode::CANCEL.0.to_be_bytes());
        assert_timely(began.elapsed());
        writing.end();
        // The connection goes on.
        client.ask(3, "");
        assert_eq!(client.until(HEADERS, 3).flags, 0x4);
    }
}

#[test]
fn a_reader_that_takes_nothing_from_the_socket_is_cut_off() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    let stream = client.ask("/large");
    client.head(stream);
    client.machine.note_consumed(stream, 0);
    client.write_raw(&[0, 0, 4, 8, 0, 0, 0, 0, 1, 3, 0, 0, 0]);
    client.write_raw(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
    sleep(5 * SHORT);
    assert_ne!(client.outcome(stream).1, Ended::Whole);
}

/// RFC 9113 §6.5.2.
const INITIAL_WINDOW_SIZE: u16 = 4;
