//! A panic costs the exchange it happened on, over HTTP/1 with its connection, and leaves a line in the log.

use std::{
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, Request, Response};

use crate::support::{Asked, BOTH, Running, eventually, logged_since};

/// Gives one piece, and panics over the next.
struct Exploding(bool);

impl http_body::Body for Exploding {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        assert!(!std::mem::replace(&mut self.0, true), "a panic that a test asked for");
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(vec![b'a'; 20_000])))))
    }
}

pub(crate) fn server() -> Running {
    let _ = logged_since("");
    Running::new(|request: Request| {
        assert!(request.target.path() != "/call", "a panic that a test asked for");
        async move {
            match request.target.path() {
                "/handler" => panic!("a panic that a test asked for"),
                "/later" => {
                    tokio::task::yield_now().await;
                    panic!("a panic that a test asked for")
                }
                "/body" => Response::default().body(Body::stream(Exploding(false))),
                "/slow" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    Response::text("slow")
                }
                _ => Response::text("fine"),
            }
        }
    })
}

/// Before the handler is a future, as soon as it is one, when it is awaited again, and over the body of its response.
pub(crate) const PANICS: [&str; 4] = ["/call", "/handler", "/later", "/body"];

/// How often the log speaks of this client.
pub(crate) fn lines_about(client: SocketAddr) -> usize {
    logged_since(&client.to_string()).len()
}

#[test]
fn other_connections_and_the_server_go_on() {
    let server = server();
    for spoken in BOTH {
        let mut other = server.connect_with(spoken);
        assert_eq!(other.get("/").text(), "fine");
        for target in PANICS {
            let mut client = server.connect_with(spoken);
            assert_eq!(client.get("/").text(), "fine");
            // In the simulation, an earlier client of this test had the same address.
            let before = lines_about(client.local_address());
            client.begin(&Asked::get(target));
            assert!(client.try_answer().is_err(), "{spoken:?} {target}");
            eventually("the panic is logged", || lines_about(client.local_address()) > before);
            assert_eq!(lines_about(client.local_address()), before + 1, "{spoken:?} {target}");
            assert_eq!(other.get("/").text(), "fine");
        }
        assert_eq!(server.connect_with(spoken).get("/").text(), "fine");
    }
}

#[test]
fn a_body_that_a_panic_cut_short_is_not_taken_for_whole() {
    let server = server();
    // Without a length and without chunks only a reset tells.
    let mut client = server.connect();
    client.send("GET /body HTTP/1.0\r\n\r\n");
    client.is_reset();
}
