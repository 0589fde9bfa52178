//! A panic costs the stream it happened on, and leaves a line in the log.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use http_body::Frame;
use serow::{Body, BoxError, Bytes, Request, Response};
use serow_http2::ErrorCode;

use crate::support::{Multiplexed, Running, eventually, logged_since};

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
            "/call" => panic!("a panic that a test asked for"),
            "/later" => {
                tokio::task::yield_now().await;
                panic!("a panic that a test asked for")
            }
            "/body" => Response::default().body(Body::stream(Exploding(false))),
            "/slow" => {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                Response::text("slow")
            }
            _ => Response::text("fine"),
        }
    })
}

fn lines_about(client: &Multiplexed) -> usize {
    logged_since(&client.socket.local_addr().unwrap().to_string()).len()
}

#[test]
fn other_streams_of_the_connection_go_on() {
    let server = server();
    let mut client = server.connect_http2();
    for (number, target) in ["/call", "/later", "/body"].into_iter().enumerate() {
        let before = client.ask("/slow");
        let stream = client.ask(target);
        let behind = client.ask("/");
        assert_eq!(client.is_reset(stream), ErrorCode::INTERNAL_ERROR, "{target}");
        assert_eq!(client.answer(before).text(), "slow");
        assert_eq!(client.answer(behind).text(), "fine");
        eventually("the panic is logged", || lines_about(&client) > number);
        assert_eq!(lines_about(&client), number + 1);
    }
    assert_eq!(server.connect_http2().get("/").text(), "fine");
}

#[test]
fn a_handler_that_panics_before_it_is_a_future_costs_no_more() {
    let server = Running::new(|request: Request| {
        assert!(request.target.path() != "/call", "a panic that a test asked for");
        async { Response::text("fine") }
    });
    let mut client = server.connect_http2();
    let stream = client.ask("/call");
    assert_eq!(client.is_reset(stream), ErrorCode::INTERNAL_ERROR);
    assert_eq!(client.get("/").text(), "fine");
}
