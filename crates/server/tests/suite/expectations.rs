//! `Expect: 100-continue`: the server sends 100 Continue only when the handler reads the body (RFC 9110 §10.1.1).

use std::time::Duration;

use serow::{Body, Request, Response, StatusCode};
use serow_http2::BodyLength;

use crate::support::{BOTH, Opening, Running};

pub(crate) fn server() -> Running {
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

/// Three bytes, and what is expected before they are sent.
pub(crate) fn expecting(expectation: &str) -> Opening<'_> {
    Opening { fields: vec![("expect", expectation)], length: Some(BodyLength::Known(3)), ..Opening::default() }
}

fn head(target: &str) -> String {
    format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
}

#[test]
fn the_client_is_told_to_go_on_when_the_body_is_read() {
    let server = server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        // A response made of the body asks for it first.
        for target in ["/read", "/read", "/echo", "/echo", "/late"] {
            client.open("POST", target, &expecting("100-continue"));
            if target == "/late" {
                client.receives_nothing_for(Duration::from_millis(20));
            }
            assert_eq!(client.informational().status, 100, "{spoken:?} {target}");
            client.send(b"abc");
            client.finish(&[]);
            let answer = client.answer();
            assert_eq!((answer.text(), answer.closes()), ("abc", false), "{spoken:?} {target}");
        }
    }
}

#[test]
fn a_client_that_does_not_wait_is_not_told() {
    let server = server();
    let mut client = server.connect();
    client.send(head("/late") + "abc" + &head("/read"));
    let mut answer = client.answer();
    if answer.status == 100 {
        // RFC 9110 §10.1.1 allows to leave it out, and does not ask for it.
        answer = client.answer();
    }
    assert_eq!(answer.text(), "abc");
    assert_eq!(client.answer().status, 100);
}

#[test]
fn an_answer_without_reading_ends_the_connection_and_says_so() {
    let server = server();
    let mut client = server.connect();
    client.send(head("/refused"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.closes()), (403, true));
    client.ends();
    // The server cannot know whether the following bytes are the body.
    let mut client = server.connect();
    client.send(head("/refused") + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().status, 403);
    client.ends();
}

#[test]
fn other_expectations_are_refused() {
    let server = server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.open("POST", "/read", &expecting("tea"));
        assert_eq!(client.answer().status, 417, "{spoken:?}");
    }
}

#[test]
fn http_1_0_knows_no_expectations() {
    let server = server();
    let mut client = server.connect();
    client.send("POST /read HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    client.receives_nothing_for(Duration::from_millis(50));
    client.send("abc");
    assert_eq!(client.answer().text(), "abc");
}
