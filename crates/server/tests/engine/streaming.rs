//! Bodies of responses that are made while they are sent.

use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use serow::{Body, Request, Response};

use crate::support::{Feed, Pieces, Running, bytes_of, channel_body, eventually};

/// Makes a body of its own kind for each request.
fn serve(body: impl Fn(&str) -> Body + Send + Clone + 'static) -> Running {
    Running::new(move |request: Request| {
        let body = body(request.target.path());
        async move { Response::default().body(body) }
    })
}

#[test]
fn streams_of_known_and_unknown_length_arrive() {
    let pieces = || [bytes_of(10), vec![], bytes_of(4096), bytes_of(4097), bytes_of(300_000), bytes_of(1)];
    let expected = pieces().concat();
    let length = expected.len() as u64;
    let server = serve(move |path| match path {
        "/known" => Pieces::new(pieces()).claiming(length).body(),
        _ => Pieces::new(pieces()).body(),
    });
    let mut client = server.connect();
    for target in ["/known", "/unknown", "/known", "/unknown"] {
        let answer = client.get(target);
        assert!(answer.body == expected);
        assert_eq!(answer.field("content-length").is_some(), target == "/known");
    }
    client.send("GET /unknown HTTP/1.0\r\n\r\n");
    assert!(client.answer().body == expected);
}

#[test]
fn trailers_go_to_those_who_take_them() {
    let server = serve(|_| Pieces::new(["abc"]).then_trailers("x-sum", "9").body());
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: TE\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.text(), &*answer.trailers), ("abc", "x-sum: 9\n"));
    let answer = client.get("/");
    assert_eq!((answer.text(), &*answer.trailers), ("abc", ""));
    client.send("GET / HTTP/1.0\r\nTE: trailers\r\n\r\n");
    assert_eq!(client.answer().text(), "abc");
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
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    let feed = feeds.lock().unwrap().pop().unwrap();
    for word in ["antelope", "serow"] {
        feed.send(word.into()).unwrap();
        let chunk = format!("{:x}\r\n{word}\r\n", word.len());
        assert_eq!(client.take(chunk.len()).unwrap(), chunk.as_bytes());
    }
    drop(feed);
    assert_eq!(client.take(5).unwrap(), b"0\r\n\r\n");
    // The next one on the same connection.
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    drop(feeds.lock().unwrap().pop());
    assert_eq!(client.take(5).unwrap(), b"0\r\n\r\n");
}

#[test]
fn a_stream_that_fails_is_cut_for_the_client_to_see() {
    let server = serve(|path| match path {
        "/known" => Pieces::new(["abc", "def"]).claiming(9).then_fails().body(),
        "/large" => Pieces::new([bytes_of(200_000)]).then_fails().body(),
        _ => Pieces::new(["abc", "def"]).then_fails().body(),
    });
    for target in ["/known", "/unknown", "/large"] {
        for version in ["1.1", "1.0"] {
            let mut client = server.connect();
            client.send(format!("GET {target} HTTP/{version}\r\nHost: a\r\n\r\n"));
            client.is_reset();
        }
    }
}

#[test]
fn a_stream_that_breaks_its_word_is_not_taken_for_whole() {
    let server = serve(|path| match path {
        "/fewer" => Pieces::new(["abc"]).claiming(9).body(),
        "/none" => Pieces::new([""; 0]).claiming(9).body(),
        _ => Pieces::new(["abc", "defghijkl"]).claiming(9).body(),
    });
    for target in ["/fewer", "/none", "/more"] {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.is_reset();
    }
}

#[test]
fn a_stream_does_not_run_ahead_of_its_reader() {
    const FRAME: usize = 16 * 1024;
    const FRAMES: usize = 4000;
    let pieces = Pieces::new(std::iter::repeat_n(vec![b'a'; FRAME], FRAMES));
    let asked = Arc::clone(&pieces.asked);
    let pieces = Arc::new(Mutex::new(Some(pieces)));
    let server = serve(move |_| pieces.lock().unwrap().take().unwrap().body());
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    // It comes to rest when the kernel's buffers are full.
    let mut before = 0;
    eventually("the stream comes to rest", || {
        std::thread::sleep(Duration::from_millis(100));
        let now = asked.load(Ordering::Relaxed);
        std::mem::replace(&mut before, now) == now
    });
    assert!((1..FRAMES / 2).contains(&before), "{before} frames for a reader that does not read");
    let mut whole = 0;
    while whole < FRAME * FRAMES {
        let size = client.take(6).unwrap();
        assert_eq!(size, b"4000\r\n");
        whole += client.take(FRAME + 2).unwrap().len() - 2;
    }
    assert_eq!(asked.load(Ordering::Relaxed), FRAMES + 1);
}
