//! Requests that are refused: with the right status and a whole answer, over HTTP/1 on a connection that ends with it.

use std::time::Duration;

use serow::{Limits, Request, Response, Server, StatusCode};

use crate::support::{Asked, BOTH, Running, Spoken, bytes_of};

pub(crate) fn server() -> Running {
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
    let (long, wide) = (format!("/{}", "a".repeat(600)), "a".repeat(5000));
    let body = vec![b'a'; 1001];
    let names: Vec<_> = (0..30).map(|number| format!("x-{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| (&**name, "b")).collect();
    let cases = [
        (Asked::post("/", &body), 413),
        (Asked::post("/", &body).chunked(), 413),
        (Asked { fields: &[("expect", "tea")], ..Asked::post("/", b"a") }, 417),
        (Asked::get(&long), 414),
        (Asked { fields: &[("x", &wide)], ..Asked::get("/") }, 431),
        (Asked { fields: &many, ..Asked::get("/") }, 431),
    ];
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for (asked, status) in &cases {
            let answer = client.ask(asked);
            assert_eq!((answer.status, answer.closes()), (*status, spoken == Spoken::Http1), "{spoken:?} {asked:?}");
            let reason = StatusCode::from_u16(*status).unwrap().canonical_reason().unwrap();
            let limit = if *status == 413 { ": the body of a request may have at most 1000 bytes here" } else { "" };
            assert_eq!(answer.text(), format!("{status} {reason}{limit}\n"), "{spoken:?} {status}");
            assert_eq!(answer.field("content-type"), Some("text/plain; charset=utf-8"), "{spoken:?} {asked:?}");
            if spoken == Spoken::Http1 {
                client.ends();
                client = server.connect_with(spoken);
            }
        }
        assert_eq!(client.ask(&Asked::post("/", b"abc")).text(), "3");
    }
}

#[test]
fn every_mistake_of_http_1_has_its_status_wherever_its_bytes_are_split() {
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
        (&format!("{long} / HTTP/1.1\r\nHost: a\r\n\r\n"), 501),
        (&format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", long.repeat(30)), 501),
        (&format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", long.repeat(200)), 501),
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
fn a_response_before_an_invalid_request_arrives() {
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
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n"));
        let chunk = [b"186a0\r\n", &bytes_of(100_000)[..], b"\r\n"].concat();
        let writing = client.write_beside(vec![chunk; 300], Duration::ZERO);
        let answer = client.answer();
        assert_eq!((answer.status, answer.closes()), (413, true), "{head}");
        client.ends();
        // And it was taken in until the client saw the answer: here until its end.
        assert!(writing.end(), "{head}");
    }
}

#[test]
fn a_body_as_long_as_the_limit_is_taken() {
    let server = server();
    let body = vec![b'a'; 1000];
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for asked in [Asked::post("/", &body), Asked::post("/", &body).chunked()] {
            assert_eq!(client.ask(&asked).text(), "1000", "{spoken:?}");
        }
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let server = server();
    let long = format!("/{}", "a".repeat(600));
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let answer = client.ask(&Asked { method: "HEAD", ..Asked::get(&long) });
        assert_eq!((answer.status, answer.body.len()), (414, 0));
    }
    for (target, host, status) in [("/", "a\r\nHost: b", 400), (&*long, "a", 414), ("/", "a\r\nb : c", 400)] {
        let mut client = server.connect();
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.answer_to_head().status, status);
        client.ends();
    }
}
