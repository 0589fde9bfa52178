//! The PROXY protocol in front of HTTP.

use std::time::{Duration, Instant};

use serow::{ProxyProtocol, Request, Response, Server, Timeouts};

use crate::support::{Folder, Running, TIMEOUT, patient};

fn who(request: Request) -> std::future::Ready<Response> {
    std::future::ready(Response::text(format!("{:?}", request.connection().peer())))
}

fn server() -> Running {
    let timeouts = Timeouts { head: Duration::from_millis(400), ..patient() };
    Running::with(Server::new().proxy_protocol(ProxyProtocol::Required).timeouts(timeouts), who)
}

const LINE: &[u8] = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n";
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc0\0\x02\x08\x10\x00\x01\xbb";
const BINARY_6: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x21\0\x24\
    \x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02\x10\x00\x01\xbb";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

const CASES: [(&[u8], &str); 3] =
    [(LINE, "Tcp(192.0.2.1:56324)"), (BINARY, "Tcp(192.0.2.7:4096)"), (BINARY_6, "Tcp([2001:db8::1]:4096)")];

#[test]
fn the_handler_sees_the_client_behind_the_proxy() {
    let server = server();
    for (header, peer) in CASES {
        let mut client = server.connect();
        client.send(header);
        client.send(REQUEST);
        assert_eq!(client.answer().text(), peer);
        // Once for a connection, not for a request.
        assert_eq!(client.get("/").text(), peer);
    }
}

/// The destination in the header is the proxy's business.
#[test]
fn the_local_address_is_the_one_that_the_proxy_connected_to() {
    let server = Server::new().proxy_protocol(ProxyProtocol::Required);
    let server = Running::with(server, |request: Request| async move {
        Response::text(format!("{:?}", request.connection().local()))
    });
    let mut client = server.connect();
    client.send([LINE, REQUEST].concat());
    assert_eq!(client.answer().text(), format!("{:?}", Some(server.address())));
}

#[test]
fn header_and_requests_may_come_in_one_packet() {
    let server = server();
    for (header, peer) in CASES {
        let mut client = server.connect();
        client.send([header, REQUEST, REQUEST].concat());
        assert_eq!(client.answer().text(), peer);
        assert_eq!(client.answer().text(), peer);
    }
}

#[test]
fn header_and_request_may_come_byte_by_byte() {
    let server = server();
    for (header, peer) in CASES {
        let mut client = server.connect();
        for byte in header.iter().chain(REQUEST) {
            client.send([*byte]);
        }
        assert_eq!(client.answer().text(), peer);
    }
}

#[test]
fn a_proxy_that_speaks_for_itself_is_the_peer() {
    let server = server();
    for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\x00\0\0"] {
        let mut client = server.connect();
        client.send([header, REQUEST].concat());
        assert_eq!(client.answer().text(), format!("Tcp({})", client.local_address()));
    }
}

#[test]
fn without_a_header_the_connection_is_closed() {
    let server = server();
    for beginning in [REQUEST, b"PROXY TCP9 a b c d\r\n", b"\r\n\r\n\0\r\nQUIT\r"] {
        let mut client = server.connect();
        client.send(beginning);
        // Unread bytes make it a reset; either way nothing is said.
        if let Ok(said) = client.rest() {
            assert_eq!(said, b"");
        }
    }
}

#[test]
fn a_header_that_does_not_come_is_not_waited_for() {
    let server = server();
    for beginning in [&b""[..], &LINE[..20], &BINARY[..20]] {
        let mut client = server.connect();
        let began = Instant::now();
        client.send(beginning);
        client.ends();
        assert!((Duration::from_millis(400)..TIMEOUT).contains(&began.elapsed()));
    }
    // Nor the request behind it.
    let mut client = server.connect();
    client.send([LINE, b"GET / "].concat());
    assert_eq!(client.answer().status, 408);
}

#[test]
fn unix_sockets_take_it_too() {
    let folder = Folder::new("proxy");
    let path = folder.path("socket");
    let server = Server::new().proxy_protocol(ProxyProtocol::Required).workers(1);
    let server = server.listen(format!("unix:{}", path.display()));
    let _server = Running::of(server.bind().unwrap(), who);
    let mut client = Running::connect_unix(&path);
    client.send([LINE, REQUEST].concat());
    assert_eq!(client.answer().text(), "Tcp(192.0.2.1:56324)");
}
