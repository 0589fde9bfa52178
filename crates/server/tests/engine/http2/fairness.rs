//! One busy client of HTTP/2 does not keep the others of its worker waiting, nor its own streams.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, Request, Response};
use serow_http2::{BodyLength, StreamId};

use crate::support::{Asked, BOTH, Multiplexed, Opening, Running, Spoken};

/// A client that is busy on a thread of its own until it is dropped.
struct Busy {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    fn new(mut client: Multiplexed, mut round: impl FnMut(&mut Multiplexed) + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                round(&mut client);
                client.turn();
                assert_eq!(client.lost, None);
            }
        });
        Self { over, thread: Some(thread) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))), "the busy client was cut off");
    }
}

/// Pieces without end, all of them ready.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[b'a'; 2000])))))
    }
}

fn server() -> Running {
    Running::new(|mut request: Request| async move {
        match request.target.path() {
            "/upload" => while request.body.chunk().await.is_some_and(|chunk| chunk.is_ok()) {},
            "/echo" => return Response::default().body(Body::stream(request.body)),
            "/stream" => return Response::default().body(Body::stream(Endless)),
            _ => {}
        }
        Response::text("hello")
    })
}

/// The machine has other work too, which may be in the way of some; a worker that does not look for events for a while
/// is in the way of all, or for seconds.
#[track_caller]
fn assert_fair(server: &Running, spoken: Spoken) {
    let mut client = server.connect_with(spoken);
    let mut times: Vec<_> = (0..40)
        .map(|_| {
            std::thread::sleep(Duration::from_millis(5));
            let began = Instant::now();
            assert_eq!(client.ask(&Asked::get("/")).text(), "hello");
            began.elapsed()
        })
        .collect();
    times.sort();
    let (median, longest) = (times[times.len() / 2], times[times.len() - 1]);
    assert!(
        median < Duration::from_millis(50) && longest < Duration::from_secs(1),
        "{spoken:?}: {median:?}, {longest:?}"
    );
}

/// Keeps a server busy in this way, and asks it meanwhile by both versions.
#[track_caller]
fn is_fair(round: impl FnMut(&mut Multiplexed) + Send + 'static) {
    let server = server();
    let _busy = Busy::new(server.connect_http2(), round);
    for spoken in BOTH {
        assert_fair(&server, spoken);
    }
}

/// Keeps so many streams of this kind at work.
fn keep(target: &'static str, count: usize) -> impl FnMut(&mut Multiplexed) + Send + 'static {
    let mut streams: Vec<StreamId> = Vec::new();
    move |client| {
        while streams.len() < count {
            let length = (target != "/stream").then_some(BodyLength::Unknown);
            streams.push(client.open("POST", target, &Opening { length, ..Opening::default() }));
        }
        for stream in &streams {
            client.forget_body(*stream);
            if target != "/stream" && client.unsent(*stream) < 1 << 20 {
                client.send(*stream, vec![b'a'; 1 << 20]);
            }
        }
    }
}

#[test]
fn beside_many_small_requests() {
    let mut streams = Vec::new();
    is_fair(move |client| {
        while streams.len() < 100 {
            streams.push(client.ask("/"));
        }
        streams.retain(|stream| {
            let over = client.ended(*stream).is_some();
            if over {
                client.outcome(*stream);
            }
            !over
        });
    });
}

#[test]
fn beside_uploads() {
    is_fair(keep("/upload", 1));
    is_fair(keep("/upload", 20));
}

#[test]
fn beside_echoes() {
    is_fair(keep("/echo", 10));
}

#[test]
fn beside_endless_streams() {
    is_fair(keep("/stream", 1));
    is_fair(keep("/stream", 20));
}

#[test]
fn streams_of_one_connection_share_it() {
    let server = server();
    let mut client = server.connect_http2();
    // Those that are equally urgent and of use piece by piece take turns (RFC 9218 §4.2).
    let opening = Opening { fields: vec![("priority", "i")], ..Opening::default() };
    let streams: Vec<_> = (0..8).map(|_| client.open("GET", "/stream", &opening)).collect();
    let began = Instant::now();
    client.wait("all get something", |client| streams.iter().all(|stream| client.body(*stream).len() > 100_000));
    let small = client.open("GET", "/", &opening);
    assert_eq!(client.answer(small).text(), "hello");
    assert!(began.elapsed() < Duration::from_secs(10));
}
