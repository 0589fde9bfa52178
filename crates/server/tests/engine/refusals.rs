//! Requests that are refused: with the right status, a whole answer and a closed connection.

use serow::{Limits, Request, Response, Server};

use crate::support::{Running, bytes_of};

fn server() -> Running {
    let limits = Limits { body: 1000, head: 4000, fields: 20, target: 500, ..Limits::default() };
    Running::with(Server::new().limits(limits), |request: Request| async move {
        match request.body.collect(1 << 20).await {
            Ok(body) => Response::text(format!("{}", body.len())),
            Err(error) => Response::text(error.to_string()),
        }
    })
}

#[test]
fn every_mistake_has_its_status() {
    let server = server();
    let long = "a".repeat(600);
    let wide = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(5000));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(30));
    let cases: &[(&str, u16)] = &[
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nb : c\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\nb: c\r\n\r\n", 400),
        ("GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", 413),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nExpect: tea\r\n\r\n", 417),
        (&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
        (&wide, 431),
        (&many, 431),
        ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ];
    for (request, status) in cases {
        // Whole, and cut before the last byte.
        for split in [request.len(), request.len() - 1] {
            let mut client = server.connect();
            client.send(&request[..split]);
            client.send(&request[split..]);
            let answer = client.answer();
            assert_eq!((answer.status, answer.closes()), (*status, true), "{request:?}");
            assert!(!answer.body.is_empty());
            client.ends();
        }
    }
}

#[test]
fn what_was_answered_before_a_mistake_arrives() {
    let server = server();
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    assert_eq!(client.answer().status, 400);
    client.ends();
}

#[test]
fn a_client_in_the_middle_of_a_large_body_gets_its_answer() {
    let server = server();
    for head in ["Content-Length: 30000000", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        let mut writer = client.twin();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n"));
        let sender = std::thread::spawn(move || {
            let mut chunk = b"186a0\r\n".to_vec();
            chunk.extend(bytes_of(100_000));
            chunk.extend(b"\r\n");
            (0..300).all(|_| writer.try_send(&chunk).is_ok())
        });
        let answer = client.answer();
        assert_eq!((answer.status, answer.closes()), (413, true), "{head}");
        client.ends();
        // And it was taken in until the client saw the answer: here until its end.
        assert!(sender.join().unwrap(), "{head}");
    }
}

#[test]
fn a_body_as_long_as_the_limit_is_taken() {
    let server = server();
    let mut client = server.connect();
    let body = "a".repeat(1000);
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{body}"));
    assert_eq!(client.answer().text(), "1000");
    client.send(format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n{body}\r\n0\r\n\r\n"));
    assert_eq!(client.answer().text(), "1000");
}

#[test]
fn a_refused_head_has_no_body() {
    let server = server();
    let mut client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 400);
    client.ends();
}
