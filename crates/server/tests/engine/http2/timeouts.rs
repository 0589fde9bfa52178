//! How long a client of HTTP/2 may take, and what is not held against it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serow::{Request, Response, Server, Timeouts};
use serow_http2::{BodyLength, ErrorCode, Limits};

use crate::support::{
    Ended, Feed, Multiplexed, Opening, PATIENCE, Running, bytes_of, channel_body,
    frames::{CONTINUATION, GOAWAY, HEADERS, RST_STREAM, WINDOW_UPDATE, block, frame},
    patient,
};

const SHORT: Duration = Duration::from_millis(400);

fn with_timeouts(timeouts: Timeouts) -> Running {
    Running::with(Server::new().timeouts(timeouts), |mut request: Request| async move {
        match request.target.path() {
            "/large" => Response::default().body(vec![b'a'; 30 << 20]),
            "/slow" => {
                tokio::time::sleep(3 * SHORT).await;
                Response::text("slow")
            }
            "/unread" => Response::text("unread"),
            "/slow-reader" => {
                let mut length = 0;
                while let Some(chunk) = request.body.chunk().await {
                    length += chunk.unwrap().len();
                    tokio::time::sleep(2 * SHORT).await;
                }
                Response::text(length.to_string())
            }
            _ => Response::text(request.body.collect(100 << 20).await.map_or(0, |body| body.len()).to_string()),
        }
    })
}

/// Never early, and not much later than promised, even on a busy machine.
#[track_caller]
fn assert_timely(took: Duration) {
    assert!((SHORT..PATIENCE).contains(&took), "{took:?}");
}

#[test]
fn what_was_begun_must_be_finished() {
    let server = with_timeouts(Timeouts { head: SHORT, ..patient() });
    let block = frame(HEADERS, 0x1, 1, &block("a"));
    let more = frame(CONTINUATION, 0, 1, b"");
    // Half a frame; a block without its end, alone and with a CONTINUATION now and then.
    for (begun, each) in [(&block[..block.len() - 1], &[][..]), (&block, &[]), (&block, &more)] {
        let mut client = server.connect_frames(&[]);
        let mut writer = client.client.twin();
        let began = Instant::now();
        client.client.send(begun);
        let each = each.to_vec();
        let writing = std::thread::spawn(move || {
            while began.elapsed() < 3 * SHORT && writer.try_send(&each).is_ok() {
                std::thread::sleep(SHORT / 10);
            }
        });
        let farewell = client.until(GOAWAY, 0);
        assert_timely(began.elapsed());
        assert_eq!(farewell.payload[4..8], ErrorCode::ENHANCE_YOUR_CALM.0.to_be_bytes());
        writing.join().unwrap();
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
fn an_idle_connection_is_closed_in_order() {
    let server = with_timeouts(Timeouts { idle: SHORT, ..patient() });
    let mut client = server.connect_http2();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "0");
        client.go_on_for(SHORT / 4);
    }
    assert_eq!(client.get("/").text(), "0");
    let began = Instant::now();
    assert_eq!(client.ends(), Some(ErrorCode::NO_ERROR));
    assert_timely(began.elapsed() + SHORT / 20);
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
        assert!(began.elapsed() < PATIENCE, "PING keeps a connection for ever");
    }
}

#[test]
fn a_body_sent_too_slowly_is_answered_with_408() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    for length in [BodyLength::Known(1_000_000), BodyLength::Unknown] {
        let began = Instant::now();
        let stream = client.open("POST", "/", &Opening { length: Some(length), ..Opening::default() });
        while client.ended(stream).is_none() {
            client.send(stream, "a");
            client.go_on_for(SHORT / 10);
            assert!(began.elapsed() < PATIENCE);
        }
        assert_eq!(client.answer(stream).status, 408);
        assert_timely(began.elapsed());
        // Nothing else of the connection is concerned.
        assert_eq!(client.get("/").text(), "0");
    }
}

#[test]
fn a_body_nobody_reads_is_not_waited_for() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    let stream =
        client.open("POST", "/unread", &Opening { length: Some(BodyLength::Known(1000)), ..Opening::default() });
    client.send(stream, "abc");
    assert_eq!(client.answer(stream).text(), "unread");
    assert_eq!(client.get("/").text(), "0");
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
fn a_window_opened_by_the_byte_is_no_more_patience() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    for first in [0, 1] {
        let mut client = server.connect_frames(&[(INITIAL_WINDOW_SIZE, first)]);
        let began = Instant::now();
        client.ask(1, "large");
        client.until(HEADERS, 1);
        let mut writer = client.client.twin();
        let writing = std::thread::spawn(move || {
            while began.elapsed() < 3 * SHORT && writer.try_send(frame(WINDOW_UPDATE, 0, 1, &[0, 0, 0, 1])).is_ok() {
                std::thread::sleep(SHORT / 20);
            }
        });
        assert_eq!(client.until(RST_STREAM, 1).payload, ErrorCode::CANCEL.0.to_be_bytes());
        assert_timely(began.elapsed());
        writing.join().unwrap();
        // The connection goes on.
        client.ask(3, "");
        assert_eq!(client.until(HEADERS, 3).flags, 0x4);
    }
}

/// RFC 9113 §6.5.2.
const INITIAL_WINDOW_SIZE: u16 = 4;

#[test]
fn a_reader_that_takes_nothing_from_the_socket_is_cut_off() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    let stream = client.ask("/large");
    client.head(stream);
    client.machine.note_consumed(stream, 0);
    client.write_raw(&[0, 0, 4, 8, 0, 0, 0, 0, 1, 3, 0, 0, 0]);
    client.write_raw(&[0, 0, 4, 8, 0, 0, 0, 0, 0, 3, 0, 0, 0]);
    std::thread::sleep(5 * SHORT);
    assert_ne!(client.outcome(stream).1, Ended::Whole);
}

#[test]
fn a_slow_handler_is_nobodys_fault() {
    let server = with_timeouts(Timeouts { head: SHORT, idle: SHORT, body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    assert_eq!(client.get("/slow").text(), "slow");
    let stream = client.post("/slow", b"abc".to_vec(), true);
    assert_eq!(client.answer(stream).text(), "slow");
    // Nor one that takes its time over each piece, with the client waiting behind it.
    let stream =
        client.open("POST", "/slow-reader", &Opening { length: Some(BodyLength::Known(6)), ..Opening::default() });
    client.send(stream, "abc");
    client.go_on_for(SHORT / 2);
    client.send(stream, "def");
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "6");
}

#[test]
fn a_slow_body_that_moves_is_not_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect_http2();
    let began = Instant::now();
    let stream = client.open("POST", "/", &Opening { length: Some(BodyLength::Known(163_840)), ..Opening::default() });
    // Ten times what is asked for.
    for piece in bytes_of(160 << 10).chunks(4096) {
        client.send(stream, piece.to_vec());
        client.go_on_for(SHORT / 10);
    }
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "163840");
    assert!(began.elapsed() > 3 * SHORT);
}

#[test]
fn a_stream_at_rest_does_not_count_against_its_reader() {
    let feeds = Arc::new(Mutex::new(Vec::<Feed>::new()));
    let kept = Arc::clone(&feeds);
    let server = Running::with(Server::new().timeouts(Timeouts { body: 2 * SHORT, ..patient() }), move |_: Request| {
        let (feed, body) = channel_body();
        kept.lock().unwrap().push(feed);
        async move { Response::default().body(body) }
    });
    let mut client = server.connect_http2();
    let stream = client.ask("/");
    client.head(stream);
    let feed = feeds.lock().unwrap().pop().unwrap();
    for round in 1..=3 {
        for _ in 0..10_000 {
            feed.send(vec![b'a'; 1000].into()).unwrap();
        }
        std::thread::sleep(SHORT / 4);
        client.wait("all of it comes", |client| client.body(stream).len() == round * 10_000_000);
        client.go_on_for(3 * SHORT);
    }
    drop(feed);
    assert_eq!(client.answer(stream).body.len(), 30_000_000);
}
