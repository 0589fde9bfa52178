//! Upgrades behind the body of a request (RFC 9110 §7.8), whenever the server agrees.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use serow::{Request, Response, StatusCode};

use crate::support::{Origin, Proxied, multiplexing_server, raw_server, read_head, read_response};

const HEAD: &str = "POST /exec HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: tcp\r\n";
const AGREED: &[u8] = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nhello";

/// The framing of a request, and its body in the halves in which it is sent.
const BODIES: [(&str, [&str; 2]); 2] = [
    ("content-length: 20\r\n", ["GET / HTTP", "/1.1\r\n\r\n12"]),
    ("transfer-encoding: chunked\r\n", ["a\r\nGET / HTTP\r\n", "4\r\n/1.1\r\n0\r\n\r\n"]),
];

fn read_text(connection: &mut TcpStream, text: &str) {
    let mut received = vec![0; text.len()];
    connection.read_exact(&mut received).unwrap();
    assert_eq!(String::from_utf8(received).unwrap(), text);
}

#[test]
fn a_server_may_agree_before_it_has_the_body() {
    for (framing, [first, second]) in BODIES {
        let server = raw_server(move |mut connection| {
            let head = read_head(&mut connection);
            assert!(head.contains("upgrade: tcp\r\n"), "{head}");
            connection.write_all(AGREED).unwrap();
            // The body comes as the client frames it, and only then the other protocol.
            read_text(&mut connection, &[first, second, "ping"].concat());
            connection.write_all(b"pong").unwrap();
        });
        let proxied = Proxied::new(&[server]);
        let mut client = proxied.connect();
        client.write_all([HEAD, framing, "\r\n", first].concat().as_bytes()).unwrap();
        let head = read_head(&mut client);
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        client.write_all([second, "ping"].concat().as_bytes()).unwrap();
        read_text(&mut client, "hellopong");
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }
}

#[test]
fn a_client_that_leaves_within_the_body_leaves_no_tunnel() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = raw_server(move |mut connection| {
        read_head(&mut connection);
        connection.write_all(AGREED).unwrap();
        let mut received = Vec::new();
        let _ = connection.read_to_end(&mut received);
        sender.send(received).unwrap();
    });
    let proxied = Proxied::new(&[server]);
    let (framing, [first, _]) = BODIES[0];
    let mut client = proxied.connect();
    client.write_all([HEAD, framing, "\r\n", first].concat().as_bytes()).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
    drop(client);
    assert_eq!(receiver.recv().unwrap(), first.as_bytes());
}

#[test]
fn a_malformed_body_never_becomes_a_tunnel() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = raw_server(move |mut connection| {
        read_head(&mut connection);
        connection.write_all(AGREED).unwrap();
        let mut received = Vec::new();
        let _ = connection.read_to_end(&mut received);
        sender.send(received).unwrap();
    });
    let proxied = Proxied::new(&[server]);
    let mut client = proxied.connect();
    client.write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n1\r\na\r\n").as_bytes()).unwrap();
    assert!(read_head(&mut client).starts_with("HTTP/1.1 101 "));
    client.write_all(b"x\r\nGET /smuggled HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(receiver.recv().unwrap(), b"1\r\na\r\n");
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    assert!(!rest.windows(4).any(|bytes| bytes == b"HTTP"), "{}", rest.escape_ascii());
}

#[test]
fn a_request_whose_upgrade_the_server_ignores_leaves_both_connections_open() {
    for multiplexed in [false, true] {
        let origin = Origin::serve(|request: Request| async move {
            let path = request.target.to_string();
            let body = request.body.collect(100).await.unwrap();
            Response::text(format!("{path} {}", body.len())).status(StatusCode::OK)
        });
        let server =
            if multiplexed { multiplexing_server(origin.address()) } else { crate::support::server(origin.address()) };
        let settings = serow_proxy::UpstreamSettings::new("test", vec![server]);
        let proxied = Proxied::with(settings, serow_proxy::ForwardingSettings::default());
        let mut client = proxied.connect();
        for (framing, halves) in BODIES {
            let text = [HEAD, framing, "\r\n", halves[0], halves[1], "GET /next HTTP/1.1\r\nhost: a\r\n\r\n"].concat();
            client.write_all(text.as_bytes()).unwrap();
            let response = read_response(&mut client);
            assert!(response.starts_with("HTTP/1.1 200 ") && response.contains("/exec "), "{response}");
            assert!(read_response(&mut client).ends_with("/next 0"));
        }
        assert_eq!(origin.connections(), 1);
    }
}
