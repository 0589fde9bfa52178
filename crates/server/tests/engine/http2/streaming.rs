//! Bodies of responses that are made while they are sent, over both versions.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use serow::{Body, Request, Response};
use serow_http2::{ErrorCode, Limits};

use crate::support::{Asked, BOTH, Feed, Multiplexed, Pieces, Running, bytes_of, channel_body, eventually};

/// Makes a body of its own kind for each request.
fn serve(body: impl Fn(&str) -> Body + Send + Clone + 'static) -> Running {
    Running::new(move |request: Request| {
        let body = body(request.target.path());
        async move { Response::default().body(body) }
    })
}

#[test]
fn streams_of_known_and_unknown_length_arrive() {
    let pieces = || [bytes_of(10), vec![], bytes_of(4096), bytes_of(16_385), bytes_of(300_000), bytes_of(1)];
    let expected = pieces().concat();
    let length = expected.len() as u64;
    let server = serve(move |path| match path {
        "/known" => Pieces::new(pieces()).claiming(length).body(),
        "/empty" => Pieces::new([""; 0]).body(),
        _ => Pieces::new(pieces()).body(),
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for target in ["/known", "/unknown", "/known", "/unknown"] {
            let answer = client.ask(&Asked::get(target));
            assert!(answer.body == expected, "{spoken:?} {target}");
            assert_eq!(answer.field("content-length").is_some(), target == "/known");
        }
        assert_eq!(client.ask(&Asked::get("/empty")).text(), "");
    }
}

#[test]
fn trailers_go_to_those_who_take_them() {
    let server = serve(|path| match path {
        "/only" => Pieces::new([""; 0]).then_trailers("x-sum", "9").body(),
        _ => Pieces::new(["abc"]).then_trailers("x-sum", "9").body(),
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let answer = client.ask(&Asked { fields: &[("te", "trailers")], ..Asked::get("/") });
        assert_eq!((answer.text(), &*answer.trailers), ("abc", "x-sum: 9\n"), "{spoken:?}");
        let answer = client.ask(&Asked { fields: &[("te", "trailers")], ..Asked::get("/only") });
        assert_eq!((answer.text(), &*answer.trailers), ("", "x-sum: 9\n"), "{spoken:?}");
        let answer = client.ask(&Asked::get("/"));
        assert_eq!((answer.text(), &*answer.trailers), ("abc", ""), "{spoken:?}");
    }
}

#[test]
fn each_piece_leaves_when_no_other_is_ready() {
    let feeds = Arc::new(Mutex::new(Vec::<Feed>::new()));
    let kept = Arc::clone(&feeds);
    let server = serve(move |_| {
        let (feed, body) = channel_body();
        kept.lock().unwrap().push(feed);
        body
    });
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
fn a_stream_that_fails_or_breaks_its_word_is_cut_for_the_client_to_see() {
    let server = serve(|path| match path {
        "/fails" => Pieces::new(["abc", "def"]).then_fails().body(),
        "/fails-of-known" => Pieces::new(["abc", "def"]).claiming(9).then_fails().body(),
        "/fails-large" => Pieces::new([bytes_of(200_000)]).then_fails().body(),
        "/fewer" => Pieces::new(["abc"]).claiming(9).body(),
        "/none" => Pieces::new([""; 0]).claiming(9).body(),
        "/more" => Pieces::new(["abc", "defghijkl"]).claiming(9).body(),
        _ => Pieces::new(["whole"]).body(),
    });
    for target in ["/fails", "/fails-of-known", "/fails-large", "/fewer", "/none", "/more"] {
        for spoken in BOTH {
            assert!(server.connect_with(spoken).try_ask(&Asked::get(target)).is_err(), "{spoken:?} {target}");
        }
        let mut client = server.connect_http2();
        let (broken, whole) = (client.ask(target), client.ask("/whole"));
        assert_eq!(client.is_reset(broken), ErrorCode::INTERNAL_ERROR, "{target}");
        assert_eq!(client.answer(whole).text(), "whole");
        assert_eq!(client.get("/whole").text(), "whole");
    }
}

const FRAME: usize = 16 * 1024;
const FRAMES: usize = 4000;

#[test]
fn a_stream_does_not_run_ahead_of_its_reader() {
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
