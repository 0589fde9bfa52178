//! `Expect: 100-continue` over HTTP/2 (RFC 9110 §10.1.1).

use std::time::Duration;

use serow::{Body, Request, Response, StatusCode};
use serow_http2::{BodyLength, StreamId};

use crate::support::{Multiplexed, Opening, Running};

fn server() -> Running {
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/read" => Response::text(request.body.collect(100).await.unwrap().escape_ascii().to_string()),
            "/echo" => Response::default().body(Body::stream(request.body)),
            "/late" => {
                tokio::time::sleep(Duration::from_millis(150)).await;
                Response::text(request.body.collect(100).await.unwrap().escape_ascii().to_string())
            }
            _ => Response::plain_status(StatusCode::FORBIDDEN),
        }
    })
}

fn expect(client: &mut Multiplexed, target: &str) -> StreamId {
    let opening =
        Opening { fields: vec![("expect", "100-continue")], length: Some(BodyLength::Known(3)), ..Opening::default() };
    client.open("POST", target, &opening)
}

fn go_on(client: &mut Multiplexed, stream: StreamId) {
    client.send(stream, "abc");
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "abc");
}

#[test]
fn the_client_is_told_to_go_on_when_the_body_is_read() {
    let server = server();
    let mut client = server.connect_http2();
    for target in ["/read", "/echo"] {
        let stream = expect(&mut client, target);
        assert_eq!(client.interim(stream).status, 100);
        go_on(&mut client, stream);
    }
    let stream = expect(&mut client, "/late");
    client.go_on_for(Duration::from_millis(20));
    assert!(!client.has_interim(stream));
    assert_eq!(client.interim(stream).status, 100);
    go_on(&mut client, stream);
}

#[test]
fn a_client_that_does_not_wait_is_not_held_up() {
    let server = server();
    let mut client = server.connect_http2();
    let stream = expect(&mut client, "/late");
    go_on(&mut client, stream);
}

#[test]
fn an_answer_without_reading_leaves_the_connection_as_it_is() {
    let server = server();
    let mut client = server.connect_http2();
    for _ in 0..3 {
        let stream = expect(&mut client, "/refused");
        assert_eq!(client.answer(stream).status, 403);
        assert!(!client.has_interim(stream));
    }
    let stream = expect(&mut client, "/read");
    assert_eq!(client.interim(stream).status, 100);
    go_on(&mut client, stream);
}

#[test]
fn other_expectations_are_refused() {
    let server = server();
    let mut client = server.connect_http2();
    let opening = Opening { fields: vec![("expect", "tea")], length: Some(BodyLength::Known(3)), ..Opening::default() };
    let stream = client.open("POST", "/read", &opening);
    assert_eq!(client.answer(stream).status, 417);
}
