//! Bodies of responses that lie in memory.

use serow::{Bytes, Request, Response};

use crate::support::{Running, bytes_of};

#[test]
fn every_length_arrives_whole() {
    let all = Bytes::from(bytes_of(20 << 20));
    let expected = all.clone();
    let server = Running::new(move |request: Request| {
        let length: usize = request.target.path()[1..].parse().unwrap();
        let body = all.slice(..length);
        async move { Response::default().body(body) }
    });
    for connection in ["close", "keep-alive"] {
        for length in [0, 1, 13, 4095, 4096, 4097, 8192, 16_384, 100_000, 20 << 20] {
            let mut client = server.connect();
            client.send(format!("GET /{length} HTTP/1.1\r\nHost: a\r\nConnection: {connection}\r\n\r\n"));
            let answer = client.answer();
            assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
            assert!(answer.body == expected[..length], "{length}");
            if connection == "close" {
                client.ends();
            }
        }
    }
}

#[test]
fn http_1_0_gets_the_same_bytes() {
    let body = bytes_of(300_000);
    let expected = body.clone();
    let server = Running::new(move |_: Request| {
        let body = body.clone();
        async move { Response::default().body(body) }
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert!(client.answer().body == expected);
    client.ends();
}

#[test]
fn statuses_without_content_have_none() {
    let server = Running::new(|request: Request| async move {
        let status: u16 = request.target.path()[1..].parse().unwrap();
        Response::text("content").status(serow::StatusCode::from_u16(status).unwrap())
    });
    let mut client = server.connect();
    for status in [204, 304] {
        assert_eq!(client.get(&format!("/{status}")).field("content-length"), None);
    }
    for status in [200, 205, 404, 503, 599, 999] {
        let answer = client.get(&format!("/{status}"));
        assert_eq!((answer.status, answer.text()), (status, "content"));
    }
}
