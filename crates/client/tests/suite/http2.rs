//! Requests over HTTP/2 whose bodies are made while they are sent, to a real server.

use std::{future::poll_fn, rc::Rc, task::Poll, thread, time::Duration};

use bytes::Bytes;
use serow::{
    Address, Body, HandlerExt, Headers, Method, Request, RequestHead, Response, Server, Stopper, Target, Version,
};
use serow_client::{Buffers, Destination, Dialer, Http2};
use serow_http2::{Asking, ClientEvent, ErrorCode, StreamId};
use serow_message::{BodyLength, UsageError};
use serow_net::monotonic;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Builder,
    sync::watch,
    time::timeout,
};

/// A server on a thread of this process; dropping it ends it.
struct Peer {
    destination: Destination,
    stopper: Stopper,
}

impl Peer {
    fn start() -> Self {
        let server = Server::new().listen("127.0.0.1:0").workers(1).ignore_signals().bind().unwrap();
        let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("a port") };
        let stopper = server.stopper();
        let (gate, _) = watch::channel(false);
        thread::spawn(move || server.run((move |request| answer(request, gate.clone())).boxed()));
        Self { destination: Destination::Tcp(address), stopper }
    }

    async fn connect(&self) -> Http2 {
        let buffers = Rc::new(Buffers::new());
        let dialer = Dialer { destination: self.destination.clone(), encryption: None, timeout: TIMEOUT };
        let wire = dialer.dial(&buffers).await.unwrap();
        Http2::new(wire, buffers, serow_http2::Limits::default(), monotonic())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
    }
}

/// `/sum` reads all and says what it got; `/gated` does so once `/open` was asked for; `/early` reads nothing; `/tunnel`
/// echoes what it receives.
async fn answer(mut request: Request, gate: watch::Sender<bool>) -> Response {
    match request.target.path() {
        "/open" => gate.send_replace(true),
        "/gated" => gate.subscribe().wait_for(|open| *open).await.is_ok(),
        "/tunnel" => {
            let upgrade = request.upgrade().unwrap();
            tokio::task::spawn_local(async move {
                let mut tunnel = upgrade.await.unwrap();
                let mut received = [0; 5];
                tunnel.read_exact(&mut received).await.unwrap();
                tunnel.write_all(&received).await.unwrap();
            });
            return Response::new(serow::StatusCode::SWITCHING_PROTOCOLS);
        }
        "/early" => return Response::text("early"),
        _ => false,
    };
    let (length, trailer) = read(std::mem::take(&mut request.body)).await;
    Response::text(format!("{length} {trailer}"))
}

async fn read(mut body: Body) -> (usize, String) {
    let (mut length, mut trailer) = (0, String::new());
    while let Some(Ok(frame)) = poll_fn(|context| body.poll_next(context)).await {
        match frame.into_data() {
            Ok(data) => length += data.len(),
            Err(frame) => {
                let trailers = frame.into_trailers().unwrap();
                trailers["x-trailer"].to_str().unwrap().clone_into(&mut trailer);
            }
        }
    }
    (length, trailer)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { timeout(TIMEOUT, future).await.expect("in time") })
}

fn head(method: Method, path: &'static str) -> RequestHead {
    let mut headers = Headers::new();
    headers.append("Host", "localhost").unwrap();
    let target = Target::parse(Bytes::from_static(path.as_bytes()), false).unwrap();
    RequestHead { method, target, version: Version::HTTP_11, headers }
}

fn begin(connection: &mut Http2, path: &'static str, length: BodyLength) -> StreamId {
    let asking = Asking { scheme: "http", ..Asking::default() };
    let method = if length == BodyLength::Known(0) { Method::GET } else { Method::POST };
    connection.begin(&head(method, path), length, asking).unwrap()
}

/// The next event of the connection, or that a stream wants a piece.
enum Step {
    Event(ClientEvent),
    Wanting,
}

async fn step(connection: &mut Http2) -> Step {
    poll_fn(|context| {
        let event = connection.poll_receive(context, monotonic());
        let _ = connection.poll_flush(context);
        if let Poll::Ready(event) = event {
            return Poll::Ready(Step::Event(event.unwrap()));
        }
        connection.next_wanting().map_or(Poll::Pending, |_| Poll::Ready(Step::Wanting))
    })
    .await
}

/// The body of the stream's response.
async fn response(connection: &mut Http2, stream: StreamId) -> String {
    let mut body = Vec::new();
    loop {
        match step(connection).await {
            Step::Event(ClientEvent::Data { stream: of, data }) => {
                connection.note_consumed(of, data.len());
                if of == stream {
                    body.extend_from_slice(&data);
                }
            }
            Step::Event(ClientEvent::End { stream: of, .. }) if of == stream => {
                return String::from_utf8(body).unwrap();
            }
            Step::Event(ClientEvent::Reset { stream, code }) => panic!("stream {stream} was reset: {code}"),
            _ => {}
        }
    }
}

#[test]
fn bodies_are_made_as_they_are_sent() {
    let peer = Peer::start();
    block_on(async {
        let mut connection = peer.connect().await;
        for (length, trailer) in [(BodyLength::Unknown, "unknown"), (BodyLength::Known(5 * 300_000), "known")] {
            let stream = begin(&mut connection, "/sum", length);
            assert!(connection.wants_data(stream));
            connection.send_data(stream, Bytes::new()).unwrap();
            assert!(connection.wants_data(stream), "nothing was given");
            connection.send_data(stream, Bytes::from(vec![b'x'; 300_000])).unwrap();
            assert_eq!(connection.send_data(stream, Bytes::from_static(b"more")), Err(UsageError::OutOfTurn));
            for _ in 1..5 {
                while !connection.wants_data(stream) {
                    if let Step::Event(event @ (ClientEvent::Data { .. } | ClientEvent::End { .. })) =
                        step(&mut connection).await
                    {
                        panic!("{event:?}");
                    }
                }
                connection.send_data(stream, Bytes::from(vec![b'x'; 300_000])).unwrap();
            }
            let mut trailers = Headers::new();
            trailers.append("x-trailer", trailer).unwrap();
            connection.send_end(stream, Some(trailers)).unwrap();
            assert_eq!(response(&mut connection, stream).await, format!("1500000 {trailer}"));
        }
        assert_eq!(connection.active_streams(), 0);
    });
}

#[test]
fn a_server_that_does_not_read_holds_up_the_body() {
    let peer = Peer::start();
    block_on(async {
        let mut connection = peer.connect().await;
        let gated = begin(&mut connection, "/gated", BodyLength::Unknown);
        let piece = Bytes::from(vec![b'x'; 1000]);
        let mut given = 0;
        // Other exchanges go on meanwhile, and show that time passes.
        for _ in 0..200 {
            let other = begin(&mut connection, "/sum", BodyLength::Known(0));
            if connection.wants_data(gated) {
                connection.send_data(gated, piece.clone()).unwrap();
                given += piece.len();
            }
            assert_eq!(response(&mut connection, other).await, "0 ");
        }
        assert!((65_535..=65_535 + piece.len()).contains(&given), "{given}");
        let opening = begin(&mut connection, "/open", BodyLength::Known(0));
        response(&mut connection, opening).await;
        connection.send_end(gated, None).unwrap();
        assert_eq!(response(&mut connection, gated).await, format!("{given} "));
    });
}

#[test]
fn lengths_are_kept_to() {
    let peer = Peer::start();
    block_on(async {
        let mut connection = peer.connect().await;
        let stream = begin(&mut connection, "/sum", BodyLength::Known(3));
        assert_eq!(connection.send_data(stream, Bytes::from_static(b"four")), Err(UsageError::TooManyBytes));
        assert_eq!(connection.send_end(stream, None), Err(UsageError::TooFewBytes));
        connection.reset(stream, ErrorCode::CANCEL);
        // It is over, and takes anything.
        connection.send_data(stream, Bytes::from_static(b"four")).unwrap();
        connection.send_end(stream, None).unwrap();
        assert!(!connection.wants_data(stream));
        let stream = begin(&mut connection, "/sum", BodyLength::Known(3));
        connection.send_data(stream, Bytes::from_static(b"abc")).unwrap();
        connection.send_end(stream, None).unwrap();
        assert_eq!(connection.send_end(stream, None), Err(UsageError::OutOfTurn));
        assert_eq!(response(&mut connection, stream).await, "3 ");
    });
}

#[test]
fn a_response_may_be_whole_before_its_request() {
    let peer = Peer::start();
    block_on(async {
        let mut connection = peer.connect().await;
        let stream = begin(&mut connection, "/early", BodyLength::Unknown);
        assert_eq!(response(&mut connection, stream).await, "early");
        // RFC 9113 §8.1: the server needs no more of it, and says so.
        let Step::Event(ClientEvent::Reset { stream: of, code }) = step(&mut connection).await else {
            panic!("not reset")
        };
        assert_eq!((of, code), (stream, ErrorCode::NO_ERROR));
        assert_eq!(connection.active_streams(), 0);
    });
}

#[test]
fn tunnels_where_the_server_allows_them() {
    let peer = Peer::start();
    block_on(async {
        let mut connection = peer.connect().await;
        assert_eq!(connection.allows_extended_connect(), None);
        connection.send_ping();
        let other = begin(&mut connection, "/sum", BodyLength::Known(0));
        response(&mut connection, other).await;
        assert_eq!(connection.allows_extended_connect(), Some(true));
        let asking = Asking { scheme: "http", protocol: Some("websocket"), ..Asking::default() };
        let stream = connection.begin(&head(Method::CONNECT, "/tunnel"), BodyLength::Unknown, asking).unwrap();
        connection.send_data(stream, Bytes::from_static(b"hello")).unwrap();
        assert_eq!(response(&mut connection, stream).await, "hello");
        connection.send_end(stream, None).unwrap();
    });
}

/// Far beyond what a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(20);
