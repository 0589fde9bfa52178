//! A panic costs the connection it happened on, and leaves a line in the log.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, Request, Response};

use crate::support::{Client, Running, eventually, logged_since};

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

fn server() -> Running {
    let _ = logged_since("");
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/handler" => panic!("a panic that a test asked for"),
            "/later" => {
                tokio::task::yield_now().await;
                panic!("a panic that a test asked for")
            }
            "/body" => Response::default().body(Body::stream(Exploding(false))),
            _ => Response::text("fine"),
        }
    })
}

fn lines_about(client: &Client) -> usize {
    logged_since(&client.local_address().to_string()).len()
}

#[test]
fn other_connections_and_the_server_go_on() {
    let server = server();
    let mut other = server.connect();
    assert_eq!(other.get("/").text(), "fine");
    for target in ["/handler", "/later", "/body"] {
        let mut client = server.connect();
        assert_eq!(client.get("/").text(), "fine");
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(client.try_answer(false).is_err(), "{target}");
        eventually("the panic is logged", || lines_about(&client) > 0);
        assert_eq!(lines_about(&client), 1);
        assert_eq!(other.get("/").text(), "fine");
    }
    assert_eq!(server.connect().get("/").text(), "fine");
}

#[test]
fn what_a_panic_cut_short_is_not_taken_for_whole() {
    let server = server();
    // Without a length and without chunks only a reset tells.
    let mut client = server.connect();
    client.send("GET /body HTTP/1.0\r\n\r\n");
    client.is_reset();
}
