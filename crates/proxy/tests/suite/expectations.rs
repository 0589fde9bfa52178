//! `Expect: 100-continue`: the server decides whether the client sends the body (RFC 9110 §10.1.1).

use std::{
    io::{Read, Write},
    sync::mpsc,
};

use serow::{Method, Request, Response, StatusCode};
use serow_http2::{ErrorCode, Limits};
use serow_message::BodyLength;
use serow_proxy::{ForwardingSettings, RetrySettings, UpstreamSettings};

use crate::support::{
    Origin, Proxied, multiplexed::Client, multiplexing_server, raw_server, read_head, read_response, script::Scripted,
    server,
};

const HEAD: &str = "PUT / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n";

#[test]
fn refusals_come_instead_of_the_question_for_the_body() {
    for status in [301, 307, 401, 403, 413, 417, 500, 503] {
        let (sender, receiver) = mpsc::channel();
        let origin = raw_server(move |mut connection| {
            let head = read_head(&mut connection);
            connection.write_all(format!("HTTP/1.1 {status} X\r\ncontent-length: 2\r\n\r\nno").as_bytes()).unwrap();
            let mut rest = Vec::new();
            let _ = connection.read_to_end(&mut rest);
            sender.send((head, rest)).unwrap();
        });
        let proxied = Proxied::new(&[origin]);
        let mut client = proxied.connect();
        client.write_all(HEAD.as_bytes()).unwrap();
        let response = read_response(&mut client);
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")) && response.ends_with("no"), "{response}");
        assert!(response.contains("connection: close\r\n"), "{response}");
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
        let (head, rest) = receiver.recv().unwrap();
        assert!(head.contains("expect: 100-continue\r\n"), "{head}");
        // The connection to the server is not used again.
        assert_eq!(rest, b"");
    }
}

#[test]
fn the_body_follows_when_the_server_asks_for_it() {
    let collect = |request: Request| async move {
        let body = request.body.collect(100).await.unwrap();
        Response::text(String::from_utf8(body.to_vec()).unwrap())
    };
    for is_multiplexed in [false, true] {
        let origin = Origin::serve(collect);
        let address = origin.address();
        let server = if is_multiplexed { multiplexing_server(address) } else { server(address) };
        let settings = UpstreamSettings::new("test", vec![server]);
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let mut client = proxied.connect();
        for _ in 0..3 {
            client.write_all(HEAD.as_bytes()).unwrap();
            assert_eq!(read_head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
            client.write_all(b"hello").unwrap();
            assert!(read_response(&mut client).ends_with("\r\n\r\nhello"));
        }
        let client = Client::connect(proxied.address());
        let stream = client.begin(Method::PUT, "/", &[("expect", "100-continue")], BodyLength::Known(5));
        client.send(stream, "hello");
        client.end(stream, None);
        assert_eq!(client.response(stream).text(), "hello");
        assert_eq!(origin.connections(), 1);
    }
}

#[test]
fn a_server_that_begins_a_success_without_asking_still_gets_the_body() {
    let origin = raw_server(|mut connection| {
        read_head(&mut connection);
        connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").unwrap();
        let mut body = [0; 5];
        connection.read_exact(&mut body).unwrap();
        connection.write_all(&body).unwrap();
    });
    let proxied = Proxied::new(&[origin]);
    let mut client = proxied.connect();
    client.write_all(HEAD.as_bytes()).unwrap();
    assert_eq!(read_head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
    client.write_all(b"hello").unwrap();
    assert!(read_response(&mut client).ends_with("hello"));
}

#[test]
fn the_next_server_is_to_ask_as_well() {
    let (sender, receiver) = mpsc::channel();
    let origin = raw_server(move |mut connection| {
        let head = read_head(&mut connection);
        assert!(head.contains("expect: 100-continue\r\n"), "{head}");
        // The first fails, and the second asks.
        if sender.send(()).is_ok() {
            connection.write_all(b"HTTP/1.1 503 X\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    let collecting = Origin::serve(|request: Request| async move {
        assert!(request.headers.contains("expect"));
        let body = request.body.collect(100).await.unwrap();
        Response::text(String::from_utf8(body.to_vec()).unwrap())
    });
    let mut settings = UpstreamSettings::new("test", vec![server(origin), server(collecting.address())]);
    settings.retries = RetrySettings { on_status: vec![StatusCode::SERVICE_UNAVAILABLE], ..settings.retries };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    for _ in 0..2 {
        let mut client = proxied.connect();
        client.write_all(HEAD.as_bytes()).unwrap();
        assert_eq!(read_head(&mut client), "HTTP/1.1 100 Continue\r\n\r\n");
        client.write_all(b"hello").unwrap();
        assert!(read_response(&mut client).ends_with("hello"));
    }
    assert!(receiver.try_recv().is_ok(), "one of them had the first server first");
}

#[test]
fn refusals_of_http2_come_instead_of_the_question_for_the_body() {
    let (sender, receiver) = mpsc::channel();
    let origin = Scripted::serve(Limits::default(), move |peer| {
        while let Some((stream, path)) = peer.request() {
            let status = StatusCode::from_bytes(&path.as_bytes()[1..]).unwrap();
            peer.refuse(stream, status);
            assert_eq!(peer.wait_for_reset(stream), ErrorCode::CANCEL);
            sender.send(()).unwrap();
        }
    });
    let proxied = Proxied::multiplexing(origin.address());
    let client = Client::connect(proxied.address());
    for status in [307, 401, 417, 500] {
        let fields = [("expect", "100-continue")];
        let stream = client.begin(Method::PUT, &format!("/{status}"), &fields, BodyLength::Known(5));
        let got = client.response(stream);
        assert_eq!((got.status, got.informational, got.body), (status, Vec::new(), Vec::new()));
        receiver.recv().unwrap();
        let mut client = proxied.connect();
        client.write_all(HEAD.replace("PUT /", &format!("PUT /{status}")).as_bytes()).unwrap();
        let response = read_response(&mut client);
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
        receiver.recv().unwrap();
    }
    assert_eq!(origin.connections(), 1);
}
