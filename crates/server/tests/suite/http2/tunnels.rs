//! Streams that leave HTTP behind: CONNECT, and WebSocket (RFC 8441) as a handler of HTTP/1's upgrade sees it.

use std::{
    cell::RefCell,
    sync::mpsc::{self, Receiver},
};

use serow::{KnownHeader, Method, Request, Response, StatusCode};
use serow_http2::{BodyLength, ErrorCode, StreamId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::{
    support::{Ended, Multiplexed, Opening, Running, TIMEOUT, bytes_of},
    upgrades::{capitals, is_refused},
};

/// Echoes in capitals behind 101 or a 2xx to CONNECT.
fn server() -> Running {
    Running::new(|mut request: Request| async move {
        if is_refused(&request) {
            return Response::plain_status(StatusCode::FORBIDDEN);
        }
        let Some(upgrade) = request.upgrade() else { return Response::text("plain") };
        let forgets = request.target.path() == "/forget";
        tokio::task::spawn_local(async move {
            match forgets {
                true => drop(upgrade.await.unwrap()),
                false => capitals(upgrade).await,
            }
        });
        if request.method == Method::CONNECT {
            return Response::new(StatusCode::OK);
        }
        assert!(request.headers.get("sec-websocket-key").is_some(), "who implements RFC 6455 asks for a key");
        let agreed = Response::new(StatusCode::SWITCHING_PROTOCOLS).with(KnownHeader::Upgrade, "websocket");
        agreed.with("sec-websocket-accept", "x").with("sec-websocket-protocol", "capitals")
    })
}

fn websocket(client: &mut Multiplexed, target: &str) -> StreamId {
    client.wait("the settings come", |client| client.machine.allows_extended_connect());
    let fields = vec![("sec-websocket-version", "13"), ("sec-websocket-protocol", "capitals")];
    client.open("CONNECT", target, &Opening { fields, length: Some(BodyLength::Unknown), protocol: Some("websocket") })
}

fn connect(client: &mut Multiplexed, target: &str) -> StreamId {
    client.open("CONNECT", target, &Opening { length: Some(BodyLength::Unknown), ..Opening::default() })
}

#[test]
fn a_websocket_of_http_1_is_one_of_http_2() {
    let server = server();
    // Over HTTP/1, as it was.
    let mut old = server.connect();
    old.send(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\nabc",
    );
    assert_eq!(old.answer().status, 101);
    old.finish_sending();
    assert_eq!(old.rest().unwrap(), b"ABCbye");

    let mut client = server.connect_http2();
    let stream = websocket(&mut client, "/");
    client.send(stream, "early");
    assert_eq!(client.head(stream), 200);
    client.wait("the echo comes", |client| client.body(stream) == b"EARLY");
    client.send(stream, "late");
    client.finish(stream, None);
    let answer = client.answer(stream);
    assert_eq!(answer.text(), "EARLYLATEbye");
    assert_eq!(answer.field("sec-websocket-protocol"), Some("capitals"));
    for name in ["connection", "upgrade", "sec-websocket-accept", "content-length", "transfer-encoding"] {
        assert_eq!(answer.field(name), None);
    }
}

#[test]
fn connect_opens_a_tunnel_beside_other_streams() {
    let server = server();
    let mut client = server.connect_http2();
    let tunnels: Vec<_> = (0..5).map(|_| connect(&mut client, "b:443")).collect();
    assert_eq!(client.get("/").text(), "plain");
    let large = bytes_of(3 << 20);
    for stream in &tunnels {
        client.send(*stream, large.clone());
        client.finish(*stream, None);
    }
    let expected = [large.to_ascii_uppercase(), b"bye".to_vec()].concat();
    for stream in tunnels {
        assert!(client.answer(stream).body == expected);
    }
}

#[test]
fn a_refused_tunnel_is_a_request_like_any_other() {
    let server = server();
    let mut client = server.connect_http2();
    let stream = websocket(&mut client, "/refuse");
    assert_eq!(client.answer(stream).status, 403);
    let stream = connect(&mut client, "refuse:1");
    client.send(stream, "what was meant for the tunnel");
    assert_eq!(client.answer(stream).status, 403);
    assert_eq!(client.get("/").text(), "plain");
}

#[test]
fn a_client_that_cuts_a_tunnel_off_leaves_the_others() {
    let server = server();
    let mut client = server.connect_http2();
    let (cut, kept) = (connect(&mut client, "b:443"), connect(&mut client, "b:443"));
    assert_eq!((client.head(cut), client.head(kept)), (200, 200));
    client.machine.reset(cut, ErrorCode::CANCEL);
    client.send(kept, "abc");
    client.finish(kept, None);
    assert_eq!(client.answer(kept).text(), "ABCbye");
}

#[test]
fn a_handler_that_forgets_its_tunnel_closes_it() {
    let server = server();
    let mut client = server.connect_http2();
    let stream = websocket(&mut client, "/forget");
    assert_eq!(client.answer(stream).text(), "");
    assert_eq!(client.get("/").text(), "plain");
}

/// Says `hi`, ends its direction and reads on; the receiver gets all that it reads, once that has ended.
fn half_closing_server() -> (Running, Receiver<Vec<u8>>) {
    let (sender, receiver) = mpsc::channel();
    let server = Running::new(move |mut request: Request| {
        let sender = sender.clone();
        async move {
            let Some(upgrade) = request.upgrade() else { return Response::text("plain") };
            let is_connect = request.method == Method::CONNECT;
            tokio::task::spawn_local(async move {
                let mut connection = upgrade.await.unwrap();
                connection.write_all(b"hi").await.unwrap();
                connection.shutdown().await.unwrap();
                let mut received = Vec::new();
                if request.target.path() != "/forget" {
                    let _ = connection.read_to_end(&mut received).await;
                }
                sender.send(received).unwrap();
            });
            Response::new(if is_connect { StatusCode::OK } else { StatusCode::SWITCHING_PROTOCOLS })
        }
    });
    (server, receiver)
}

#[test]
fn the_end_of_one_direction_of_a_tunnel_leaves_the_other() {
    let (server, receiver) = half_closing_server();
    let mut client = server.connect_http2();
    // More than the tunnel's buffer and the windows in the beginning.
    for late in [b"late".to_vec(), Vec::new(), bytes_of(300_000)] {
        for stream in [websocket(&mut client, "/"), connect(&mut client, "b:443")] {
            client.wait("the server ends its direction", |client| client.ended(stream).is_some());
            assert_eq!((client.ended(stream), client.body(stream)), (Some(Ended::Whole), &b"hi"[..]));
            client.send(stream, late.clone());
            client.wait("all is sent", |client| client.unsent(stream) == 0);
            assert!(receiver.try_recv().is_err(), "the client has not ended its direction");
            client.finish(stream, None);
            let received = RefCell::new(None);
            client.wait("the handler has read all", |_| {
                *received.borrow_mut() = receiver.try_recv().ok();
                received.borrow().is_some()
            });
            assert!(received.into_inner().as_ref() == Some(&late));
        }
    }
    assert_eq!(client.get("/").text(), "plain");
}

#[test]
fn a_client_that_resets_a_half_closed_tunnel_ends_it() {
    let (server, receiver) = half_closing_server();
    let mut client = server.connect_http2();
    let stream = websocket(&mut client, "/");
    client.wait("the server ends its direction", |client| client.ended(stream).is_some());
    client.send(stream, "late");
    client.machine.reset(stream, ErrorCode::CANCEL);
    assert_eq!(client.get("/").text(), "plain");
    assert_eq!(receiver.recv_timeout(TIMEOUT).unwrap(), b"late");
}

#[test]
fn a_tunnel_whose_handler_leaves_between_is_over() {
    let (server, receiver) = half_closing_server();
    let mut client = server.connect_http2();
    let stream = websocket(&mut client, "/forget");
    client.wait("the server ends its direction", |client| client.ended(stream).is_some());
    assert_eq!(receiver.recv_timeout(TIMEOUT).unwrap(), b"");
    // The server takes a little of what comes for nobody, and resets the stream then.
    client.send(stream, bytes_of(1 << 20));
    client.wait("the stream is reset", |client| client.machine.active_streams() == 0);
    assert_eq!(client.get("/").text(), "plain");
}

#[test]
fn a_websocket_that_the_handler_answers_with_success_does_not_open() {
    let server = Running::new(|request: Request| async move {
        let status = request.target.path()[1..].parse::<u16>().unwrap();
        Response::text("login").status(StatusCode::from_u16(status).unwrap())
    });
    let mut client = server.connect_http2();
    for (answered, expected) in [("200", 502), ("204", 502), ("302", 302), ("403", 403)] {
        let stream = websocket(&mut client, &format!("/{answered}"));
        let answer = client.answer(stream);
        assert_eq!((answer.status, answer.text() == "login"), (expected, expected != 502), "{answered}");
    }
}
