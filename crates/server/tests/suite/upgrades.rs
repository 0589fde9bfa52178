//! Connections that leave HTTP behind: upgrades and tunnels.

use serow::{KnownHeader, Method, OnUpgrade, Request, Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{BOTH, Running, Spoken};

/// Sends back in capitals what it reads, until the client is done.
pub(crate) async fn capitals(upgrade: OnUpgrade) {
    let mut connection = upgrade.await.unwrap();
    let mut buffer = [0; 1000];
    loop {
        match connection.read(&mut buffer).await.unwrap() {
            0 => break,
            count => connection.write_all(&buffer[..count].to_ascii_uppercase()).await.unwrap(),
        }
    }
    connection.write_all(b"bye").await.unwrap();
}

/// Whether a tunnel is asked for that is to be refused.
pub(crate) fn is_refused(request: &Request) -> bool {
    request.target.path() == "/refuse" || request.target.as_str().starts_with("refuse")
}

/// Echoes in capitals behind 101 or a 2xx to CONNECT.
fn tunnel_server() -> Running {
    Running::new(|mut request: Request| async move {
        if is_refused(&request) {
            return Response::plain_status(StatusCode::FORBIDDEN);
        }
        let Some(upgrade) = request.upgrade() else { return Response::text("plain") };
        tokio::task::spawn_local(capitals(upgrade));
        match request.method == Method::CONNECT {
            true => Response::new(StatusCode::OK),
            false => Response::new(StatusCode::SWITCHING_PROTOCOLS).with(KnownHeader::Upgrade, "capitals"),
        }
    })
}

const UPGRADE: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: capitals\r\n\r\n";

#[test]
fn bytes_behind_the_head_belong_to_the_new_protocol() {
    let server = tunnel_server();
    for (tail, later) in [("", "abc"), ("abc", ""), ("GET / HTTP/1.1\r\n\r\n", "x")] {
        let mut client = server.connect();
        client.send(format!("{UPGRADE}{tail}"));
        let answer = client.answer();
        assert_eq!((answer.status, answer.field("upgrade")), (101, Some("capitals")));
        assert_eq!(answer.field("connection").map(str::to_ascii_lowercase).as_deref(), Some("upgrade"));
        assert_eq!((answer.field("content-length"), answer.field("transfer-encoding")), (None, None));
        client.send(later);
        client.finish_sending();
        let expected = format!("{tail}{later}").to_ascii_uppercase() + "bye";
        assert_eq!(String::from_utf8(client.rest().unwrap()).unwrap(), expected);
    }
}

#[test]
fn connect_opens_a_tunnel() {
    let server = tunnel_server();
    let mut client = server.connect();
    client.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\nCONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\nearly");
    assert_eq!(client.answer().text(), "plain");
    let head = client.take_head().unwrap();
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(!head.to_ascii_lowercase().contains("content-length"), "{head}");
    client.send("late");
    client.finish_sending();
    assert_eq!(String::from_utf8(client.rest().unwrap()).unwrap(), "EARLYLATEbye");
}

#[test]
fn a_refused_upgrade_is_a_request_like_any_other() {
    let server = tunnel_server();
    let mut client = server.connect();
    client.send(UPGRADE.replace("GET /", "GET /refuse"));
    let answer = client.answer();
    assert_eq!((answer.status, answer.closes()), (403, false));
    assert_eq!(client.get("/").text(), "plain");
    // Bytes that follow a refused CONNECT may have been meant for the tunnel.
    client.send("CONNECT refuse:1 HTTP/1.1\r\nHost: refuse:1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.closes()), (403, true));
    client.ends();
}

#[test]
fn a_switch_nobody_asked_for_is_an_error_of_the_server() {
    let server = Running::new(|request: Request| async move {
        let status = request.target.path()[1..].parse::<u16>().unwrap();
        Response::new(StatusCode::from_u16(status).unwrap()).with(KnownHeader::Upgrade, "capitals")
    });
    for spoken in BOTH {
        for status in ["101", "100", "103", "199"] {
            let mut client = server.connect_with(spoken);
            let answer = client.get(&format!("/{status}"));
            assert_eq!((answer.status, answer.closes()), (500, spoken == Spoken::Http1), "{status}");
            match spoken {
                Spoken::Http1 => client.ends(),
                // The connection goes on.
                Spoken::Http2 => assert_eq!(client.get("/200").status, 200),
            }
        }
    }
}

#[test]
fn a_handler_that_forgets_its_tunnel_closes_it() {
    let server = Running::new(|_: Request| async { Response::new(StatusCode::SWITCHING_PROTOCOLS) });
    let mut client = server.connect();
    client.send(UPGRADE);
    assert_eq!(client.answer().status, 101);
    client.ends();
}
