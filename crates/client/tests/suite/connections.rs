//! Connections to a real server, in both versions.

use std::{future::poll_fn, rc::Rc, thread, time::Duration};

use bytes::Bytes;
use serow::{Address, HandlerExt, Headers, Method, Request, RequestHead, Response, Server, Stopper, Target, Version};
use serow_client::{Buffers, Destination, DialError, Dialer, Http1, Http2};
use serow_http1::{Event, Next};
use serow_http2::{Asking, ClientEvent};
use serow_message::BodyLength;
use serow_net::monotonic;
use tokio::{runtime::Builder, time::timeout};

/// An echo server on a thread of this process; dropping it ends it.
struct Echo {
    destination: Destination,
    stopper: Stopper,
}

impl Echo {
    fn start() -> Self {
        let server = Server::new().listen("127.0.0.1:0").workers(1).ignore_signals().bind().unwrap();
        let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("a port") };
        let stopper = server.stopper();
        thread::spawn(move || server.run(answer.boxed()));
        Self { destination: Destination::Tcp(address), stopper }
    }

    fn dialer(&self) -> Dialer {
        Dialer { destination: self.destination.clone(), encryption: None, timeout: TIMEOUT }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
    }
}

async fn answer(mut request: Request) -> Response {
    let length = request.headers.get_str("content-length").unwrap_or("none").to_owned();
    let body = std::mem::take(&mut request.body).collect(usize::MAX).await.unwrap_or_default();
    let answer = Response::text("").with("x-length", length).with("x-method", request.method.as_str());
    answer.body(body)
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

/// Sends what is there and takes the whole response: one of its fields, its body, and what becomes of the connection.
async fn response(connection: &mut Http1, field: &str) -> (String, Vec<u8>, Next) {
    let (mut value, mut body) = (String::new(), Vec::new());
    loop {
        let event = poll_fn(|context| {
            let _ = connection.poll_flush(context);
            connection.poll_receive(context)
        });
        match event.await.unwrap() {
            Event::Head(response) => value = response.head.headers.get_str(field).unwrap_or_default().to_owned(),
            Event::Data(data) => body.extend_from_slice(&data),
            Event::End(_) => return (value, body, connection.next()),
        }
    }
}

#[test]
fn http1_sends_bodies_of_known_and_unknown_length() {
    let server = Echo::start();
    block_on(async {
        let buffers = Rc::new(Buffers::new());
        let wire = server.dialer().dial(&buffers).await.unwrap();
        let mut connection = Box::new(Http1::new(wire, buffers, serow_http1::Limits::default()));
        let large = vec![b'x'; 300_000];
        for (length, said) in [(BodyLength::Known(300_000), "300000"), (BodyLength::Unknown, "none")] {
            assert!(connection.send_head(&head(Method::POST, "/"), length).unwrap());
            for piece in large.chunks(100_000) {
                connection.send_data(piece).unwrap();
            }
            connection.send_end(None).unwrap();
            let (value, body, next) = response(&mut connection, "x-length").await;
            assert_eq!((value.as_str(), body.len(), next), (said, large.len(), Next::Reuse));
            connection = connection.into_idle().unwrap().into_active().unwrap();
        }
        assert!(!connection.send_head(&head(Method::GET, "/"), BodyLength::Known(0)).unwrap());
        assert_eq!(response(&mut connection, "x-method").await, ("GET".to_owned(), Vec::new(), Next::Reuse));
        assert!(connection.received() > 600_000);
    });
}

#[test]
fn http1_sends_what_was_written_behind_what_it_writes() {
    let server = Echo::start();
    block_on(async {
        let buffers = Rc::new(Buffers::new());
        let wire = server.dialer().dial(&buffers).await.unwrap();
        let mut connection = Http1::new(wire, buffers, serow_http1::Limits::default());
        connection.send_head(&head(Method::PUT, "/"), BodyLength::Known(0)).unwrap();
        for text in
            ["DELETE / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\ncontent-length: 2\r\n\r\nab"]
        {
            connection.send_written(Bytes::from_static(text.as_bytes()));
        }
        assert!(connection.has_unsent());
        for (method, body) in [("PUT", ""), ("DELETE", ""), ("POST", "ab")] {
            if method != "PUT" {
                connection.expect(&Method::from_bytes(method.as_bytes()).unwrap()).unwrap();
            }
            let (value, received, next) = response(&mut connection, "x-method").await;
            assert_eq!((value.as_str(), &received[..], next), (method, body.as_bytes(), Next::Reuse));
        }
    });
}

#[test]
fn http2_sends_bodies_beyond_the_windows() {
    let server = Echo::start();
    block_on(async {
        let buffers = Rc::new(Buffers::new());
        let wire = server.dialer().dial(&buffers).await.unwrap();
        let mut connection = Http2::new(wire, buffers, serow_http2::Limits::default(), monotonic());
        let bodies = [300_000, 0, 1_000_000].map(|length| Bytes::from(vec![b'y'; length]));
        let asking = Asking { scheme: "http", ..Asking::default() };
        let streams = bodies.each_ref().map(|body| connection.open(&head(Method::POST, "/"), body, asking).unwrap());
        assert_eq!(connection.active_streams(), 3);
        let mut received = [0; 3];
        let mut open = 3;
        while open > 0 {
            let event = poll_fn(|context| {
                let event = connection.poll_receive(context, monotonic());
                let _ = connection.poll_flush(context);
                event
            });
            match event.await.unwrap() {
                ClientEvent::Data { stream, data } => {
                    received[streams.iter().position(|known| *known == stream).unwrap()] += data.len();
                    connection.note_consumed(stream, data.len());
                }
                ClientEvent::End { .. } => open -= 1,
                ClientEvent::Response(response) if response.has_body => {}
                ClientEvent::Response(response) => open -= usize::from(!response.is_informational()),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(received, [300_000, 0, 1_000_000]);
        connection.begin_shutdown();
        assert!(connection.is_finished());
    });
}

#[test]
fn why_there_is_no_connection() {
    let destination = Destination::Tcp(serow_ports::refusing_address());
    let limit = Duration::from_millis(50);
    let refused = Dialer { destination, encryption: None, timeout: limit };
    let error = block_on(async { refused.dial(&Rc::default()).await.map(drop).unwrap_err() });
    assert!(matches!(error, DialError::Connect(_)), "{error:?}");
}

/// Far beyond what a busy machine needs.
const TIMEOUT: Duration = Duration::from_secs(20);
