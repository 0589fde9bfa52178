//! Bodies of responses that are made while they are sent.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, atomic::Ordering},
    task::{Context, Poll},
    time::Duration,
};

use http_body::{Frame, SizeHint};
use serow::{Body, BoxError, Bytes, Request, Response, Server};

use crate::support::{Asked, BOTH, Feed, Instant, Pieces, Running, bytes_of, channel_body, eventually, sleep};

/// Makes a body of its own kind for each request.
pub(crate) fn serve(body: impl Fn(&str) -> Body + Send + Clone + 'static) -> Running {
    serve_with(Server::new(), body)
}

fn serve_with(server: Server, body: impl Fn(&str) -> Body + Send + Clone + 'static) -> Running {
    Running::with(server, move |request: Request| {
        let body = body(request.target.path());
        async move { Response::default().body(body) }
    })
}

#[test]
fn streams_of_known_and_unknown_length_arrive() {
    let pieces = || [10, 0, 4096, 4097, 16_385, 300_000, 1].map(bytes_of);
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
            let answer = client.get(target);
            assert!(answer.body == expected, "{spoken:?} {target}");
            assert_eq!(answer.field("content-length").is_some(), target == "/known");
        }
        assert_eq!(client.get("/empty").text(), "");
    }
    let mut client = server.connect();
    client.send("GET /unknown HTTP/1.0\r\n\r\n");
    assert!(client.answer().body == expected);
}

/// A body that fails a while after its first piece.
struct FailsLater(Option<Bytes>, Pin<Box<tokio::time::Sleep>>);

impl http_body::Body for FailsLater {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(piece) = self.0.take() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        self.1.as_mut().poll(context).map(|()| Some(Err("the source dried up".into())))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(if self.0.is_some() { 200 } else { 100 })
    }
}

#[test]
fn a_body_that_fails_while_nothing_else_is_sent_is_cut_at_once() {
    let server = Running::new(|_: Request| async {
        let pause = Box::pin(tokio::time::sleep(Duration::from_millis(50)));
        Response::default().body(Body::stream(FailsLater(Some(bytes_of(100).into()), pause)))
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let began = Instant::now();
        client.begin(&Asked::get("/"));
        client.try_answer().unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(5), "{spoken:?} {:?}", began.elapsed());
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
        for (target, text) in [("/", "abc"), ("/only", "")] {
            let answer = client.ask(&Asked { fields: &[("te", "trailers")], ..Asked::get(target) });
            assert_eq!((answer.text(), &*answer.trailers), (text, "x-sum: 9\n"), "{spoken:?}");
        }
        let answer = client.get("/");
        assert_eq!((answer.text(), &*answer.trailers), ("abc", ""), "{spoken:?}");
    }
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\nTE: trailers\r\n\r\n");
    assert_eq!(client.answer().text(), "abc");
}

/// The test's ends of bodies, in the order of the requests.
pub(crate) type Feeds = Arc<Mutex<Vec<Feed>>>;

/// Answers with bodies that the test feeds.
pub(crate) fn serve_fed(server: Server) -> (Running, Feeds) {
    let feeds = Feeds::default();
    let kept = Arc::clone(&feeds);
    let server = serve_with(server, move |_| {
        let (feed, body) = channel_body();
        kept.lock().unwrap().push(feed);
        body
    });
    (server, feeds)
}

#[test]
fn each_piece_leaves_when_no_other_is_ready() {
    for spoken in BOTH {
        let (server, feeds) = serve_fed(Server::new());
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/"));
        assert_eq!(client.head(), 200);
        let feed = feeds.lock().unwrap().pop().unwrap();
        let mut seen = String::new();
        for word in ["antelope", "serow"] {
            seen += word;
            feed.send(word.into()).unwrap();
            assert_eq!(client.body(seen.len()), seen.as_bytes(), "{spoken:?}");
        }
        drop(feed);
        assert_eq!(client.answer().text(), seen);
        // The next one on the same connection.
        client.begin(&Asked::get("/"));
        assert_eq!(client.head(), 200);
        drop(feeds.lock().unwrap().pop());
        assert_eq!(client.answer().text(), "");
    }
}

/// Fails over its body in the way that the target says.
pub(crate) fn failing_server() -> Running {
    serve(|path| match path {
        "/fails" => Pieces::new(["abc", "def"]).then_fails().body(),
        "/fails-of-known" => Pieces::new(["abc", "def"]).claiming(9).then_fails().body(),
        "/fails-large" => Pieces::new([bytes_of(200_000)]).then_fails().body(),
        "/fewer" => Pieces::new(["abc"]).claiming(9).body(),
        "/none" => Pieces::new([""; 0]).claiming(9).body(),
        "/more" => Pieces::new(["abc", "defghijkl"]).claiming(9).body(),
        _ => Pieces::new(["whole"]).body(),
    })
}

/// The source of the body fails.
pub(crate) const FAILING: [&str; 3] = ["/fails", "/fails-of-known", "/fails-large"];

/// The body is not as long as announced.
pub(crate) const BREAKING_THEIR_WORD: [&str; 3] = ["/fewer", "/none", "/more"];

#[test]
fn a_stream_that_fails_or_breaks_its_word_is_cut_for_the_client_to_see() {
    let server = failing_server();
    for target in FAILING.into_iter().chain(BREAKING_THEIR_WORD) {
        for spoken in BOTH {
            let mut client = server.connect_with(spoken);
            client.begin(&Asked::get(target));
            client.is_cut();
        }
    }
    for target in FAILING {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.0\r\n\r\n"));
        client.is_reset();
    }
}

/// The body for a reader that does not read: so many pieces of so many bytes.
pub(crate) const FRAME: usize = 16 * 1024;
pub(crate) const FRAMES: usize = 4000;

#[test]
fn a_stream_does_not_run_ahead_of_its_reader() {
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
        sleep(Duration::from_millis(100));
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
