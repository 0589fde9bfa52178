//! Requests sent before the answers to those before have come (RFC 9112 §9.3.2).

use std::time::Duration;

use serow::{Request, Response};
use tokio::time::sleep;

use crate::support::{Running, bytes_of};

fn echo_server() -> Running {
    Running::new(|request: Request| async move {
        let path = request.target.path().to_owned();
        if path.starts_with("/slow") {
            sleep(Duration::from_millis(300)).await;
        }
        let body = request.body.collect(1 << 20).await.unwrap();
        Response::text(format!("{path} {}", String::from_utf8_lossy(&body)))
    })
}

#[test]
fn a_hundred_requests_in_one_write_are_answered_in_order() {
    let server = echo_server();
    let mut client = server.connect();
    let requests: String = (0..100).map(|number| format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    client.send(requests);
    for number in 0..100 {
        assert_eq!(client.answer().text(), format!("/{number} "));
    }
}

#[test]
fn bodies_of_every_framing_may_stand_between() {
    let server = echo_server();
    let mut client = server.connect();
    let mut requests = String::new();
    for number in 0..30 {
        requests += &match number % 3 {
            0 => format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n"),
            1 => format!("POST /{number} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /"),
            _ => format!(
                "POST /{number} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3;x=y\r\nabc\r\n2\r\n\r\n\r\n0\r\nA: b\r\n\r\n"
            ),
        };
    }
    client.send(requests);
    for number in 0..30 {
        let body = ["", "GET /", "abc\r\n"][number % 3];
        assert_eq!(client.answer().text(), format!("/{number} {body}"));
    }
}

#[test]
fn responses_before_a_slow_one_leave_at_once() {
    let server = Running::new(|request: Request| async move {
        if request.target.path() == "/never" {
            std::future::pending::<()>().await;
        }
        "done"
    });
    let mut client = server.connect();
    let mut requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3);
    requests += "GET /never HTTP/1.1\r\nHost: a\r\n\r\n";
    client.send(requests);
    for _ in 0..3 {
        assert_eq!(client.answer().text(), "done");
    }
}

#[test]
fn a_slow_one_in_the_middle_keeps_the_order() {
    let server = echo_server();
    let mut client = server.connect();
    client.send(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /slow HTTP/1.1\r\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n",
    );
    for path in ["/a ", "/slow ", "/c "] {
        assert_eq!(client.answer().text(), path);
    }
}

#[test]
fn answers_before_half_a_request_do_not_wait_for_its_other_half() {
    let server = echo_server();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTT");
    assert_eq!(client.answer().text(), "/a ");
    client.send("P/1.1\r\nHost: a\r\n\r\nPOST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    assert_eq!(client.answer().text(), "/b ");
    client.send("cd");
    assert_eq!(client.answer().text(), "/c abcd");
}

#[test]
fn large_answers_to_many_requests_come_whole() {
    let body = bytes_of(100_000);
    let expected = body.clone();
    let server = Running::new(move |_: Request| {
        let body = body.clone();
        async move { Response::default().body(body) }
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(50));
    for _ in 0..50 {
        assert!(client.answer().body == expected);
    }
}

#[test]
fn nothing_behind_a_closing_request_is_answered() {
    let server = echo_server();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().text(), "/a ");
    client.ends();
}
