//! Bodies of responses that are made while they are sent, on streams beside each other.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use serow::Server;
use serow_http2::{ErrorCode, Limits};

use crate::{
    streaming::{BREAKING_THEIR_WORD, FAILING, FRAME, FRAMES, failing_server, serve, serve_fed},
    support::{
        Multiplexed, Pieces, eventually,
        frames::{DATA, HEADERS, WINDOW_UPDATE},
    },
};

#[test]
fn each_piece_leaves_when_no_other_of_its_stream_is_ready() {
    let (server, feeds) = serve_fed(Server::new());
    let mut client = server.connect_http2();
    let streams = [client.ask("/"), client.ask("/")];
    for stream in streams {
        assert_eq!(client.head(stream), 200);
    }
    let mut seen = String::new();
    for word in ["antelope", "serow"] {
        seen += word;
        for (stream, feed) in streams.into_iter().zip(&*feeds.lock().unwrap()) {
            feed.send(word.into()).unwrap();
            client.wait("the piece comes", |client| client.body(stream) == seen.as_bytes());
        }
    }
    feeds.lock().unwrap().clear();
    for stream in streams {
        assert_eq!(client.answer(stream).text(), "antelopeserow");
    }
}

#[test]
fn a_stream_that_fails_or_breaks_its_word_costs_itself_alone() {
    let server = failing_server();
    for target in FAILING.into_iter().chain(BREAKING_THEIR_WORD) {
        let mut client = server.connect_http2();
        let (broken, whole) = (client.ask(target), client.ask("/whole"));
        assert_eq!(client.is_reset(broken), ErrorCode::INTERNAL_ERROR, "{target}");
        assert_eq!(client.answer(whole).text(), "whole");
        assert_eq!(client.get("/whole").text(), "whole");
    }
}

#[test]
fn a_stream_does_not_run_ahead_of_its_window() {
    let pieces = Pieces::new(std::iter::repeat_n(vec![b'a'; FRAME], FRAMES));
    let asked = Arc::clone(&pieces.asked);
    let pieces = Arc::new(Mutex::new(Some(pieces)));
    let server = serve(move |path| match path {
        "/large" => pieces.lock().unwrap().take().unwrap().body(),
        _ => Pieces::new(["small"]).body(),
    });
    let mut client = Multiplexed::with(server.address(), Limits { window: 4 << 20, ..Limits::default() });
    client.reads = false;
    let large = client.ask("/large");
    client.go_on_for(Duration::from_millis(300));
    // The window of the stream holds four frames.
    let before = asked.load(Ordering::Relaxed);
    assert!((4..8).contains(&before), "{before} frames for a reader that does not read");
    // Others do not wait behind it.
    assert_eq!(client.get("/small").text(), "small");
    client.reads = true;
    client.machine.note_consumed(large, client.body(large).len());
    assert_eq!(client.answer(large).body.len(), FRAME * FRAMES);
    eventually("its end was asked for", || asked.load(Ordering::Relaxed) == FRAMES + 1);
}

/// CVE-2019-9517: what was taken from the body would wait in memory, once for each stream.
#[test]
fn a_body_of_known_length_is_not_asked_for_before_there_is_room() {
    let pieces = Pieces::new([vec![b'a'; FRAME], vec![b'b'; FRAME]]).claiming(2 * FRAME as u64);
    let asked = Arc::clone(&pieces.asked);
    let pieces = Arc::new(Mutex::new(Some(pieces)));
    let server = serve(move |_| pieces.lock().unwrap().take().unwrap().body());
    // RFC 9113 §6.5.2: the windows of streams begin shut.
    let mut client = server.connect_frames(&[(4, 0)]);
    client.ask(1, "large");
    assert_eq!(client.until(HEADERS, 1).flags, 0x4);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let room = (FRAME as u32).to_be_bytes();
    client.send(WINDOW_UPDATE, 0, 1, &room);
    assert_eq!(client.until(DATA, 1).payload, vec![b'a'; FRAME]);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    client.send(WINDOW_UPDATE, 0, 1, &room);
    assert_eq!(client.until(DATA, 1).payload, vec![b'b'; FRAME]);
}
