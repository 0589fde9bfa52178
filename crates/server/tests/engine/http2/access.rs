//! What the access log is told, whichever version a request came by.

use std::time::Duration;

use serow::{Limits, Peer, Request, Response, Server, StatusCode, Timeouts};
use serow_http2::{BodyLength, ErrorCode};

use crate::support::{Asked, BOTH, Noted, Opening, Pieces, Running, Spoken, patient};

fn server(noted: &Noted) -> Running {
    let (noted, limits) = (noted.clone(), Limits { body: 1000, ..Limits::default() });
    let timeouts = Timeouts { body: Duration::from_millis(300), ..patient() };
    let server = Server::new().limits(limits).timeouts(timeouts).access_log(move || noted.clone());
    Running::with(server, |request: Request| async move {
        match request.target.path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(50)).await,
            "/never" => std::future::pending().await,
            "/cut" => return Response::default().body(Pieces::new(["abc"]).then_fails().body()),
            "/stream" => return Response::default().body(Pieces::new(["abc", "de"]).body()),
            "/large" => return Response::default().body(vec![b'a'; 30 << 20]),
            "/missing" => return Response::plain_status(StatusCode::NOT_FOUND),
            _ => {}
        }
        Response::text(request.body.collect(10_000).await.map_or(0, |body| body.len()).to_string())
    })
}

#[test]
fn every_field_is_told() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.ask(&Asked { fields: &[("user-agent", "me")], ..Asked::post("/slow?a=b", b"antelopes go") });
        let entry = noted.entries(1).pop().unwrap();
        let version = if spoken == Spoken::Http1 { "HTTP/1.1" } else { "HTTP/2.0" };
        assert_eq!(entry.line, Some(format!("POST /slow?a=b {version}")));
        assert_eq!((entry.agent.as_deref(), entry.status, entry.body_bytes, entry.whole), (Some("me"), 200, 2, true));
        assert!(entry.took >= Duration::from_millis(50) && entry.took < Duration::from_secs(20), "{:?}", entry.took);
        assert!(matches!(entry.peer, Peer::Tcp(_)));
    }
}

#[test]
fn bytes_are_those_of_the_body_that_were_sent() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.ask(&Asked::get("/stream"));
        client.ask(&Asked::get("/missing"));
        client.ask(&Asked { method: "HEAD", ..Asked::get("/stream") });
        let entries = noted.entries(3);
        let seen: Vec<_> = entries.iter().map(|entry| (entry.status, entry.body_bytes, entry.whole)).collect();
        assert_eq!(seen, [(200, 5, true), (404, 14, true), (200, 0, true)], "{spoken:?}");
    }
}

#[test]
fn a_response_that_was_cut_is_told_as_such() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        assert!(server.connect_with(spoken).try_ask(&Asked::get("/cut")).is_err());
        let entry = noted.entries(1).pop().unwrap();
        assert_eq!((entry.status, entry.body_bytes, entry.whole), (200, 3, false), "{spoken:?}");
    }
    // The client leaves, cuts the stream off, or is not answered at all.
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect_http2();
    client.reads = false;
    let stream = client.ask("/large");
    assert_eq!(client.head(stream), 200);
    client.machine.reset(stream, ErrorCode::CANCEL);
    client.turn();
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.status, entry.whole), (200, false));
    assert!(entry.body_bytes < 30 << 20, "{}", entry.body_bytes);
    let stream = client.ask("/large");
    assert_eq!(client.head(stream), 200);
    client.ask("/never");
    // A head needs no window, and that of the connection is full.
    let missing = client.open("HEAD", "/missing", &Opening::default());
    assert_eq!(client.head(missing), 404);
    noted.entries(2);
    drop(client);
    let mut entries = noted.entries(4);
    entries.drain(..2);
    assert!(entries.iter().all(|entry| !entry.whole), "{entries:?}");
}

#[test]
fn a_request_refused_in_the_middle_is_told_too() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect_http2();
    let stream = client.post("/a", vec![b'a'; 1001], false);
    assert_eq!(client.answer(stream).status, 413);
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.line.as_deref(), entry.status, entry.whole), (Some("POST /a HTTP/2.0"), 413, true));

    let stream = client.open("POST", "/b", &Opening { length: Some(BodyLength::Known(9)), ..Opening::default() });
    client.send(stream, "abc");
    assert_eq!(client.answer(stream).status, 408);
    let entry = noted.entries(2).pop().unwrap();
    assert_eq!((entry.line.as_deref(), entry.status, entry.whole), (Some("POST /b HTTP/2.0"), 408, true));

    // A field of HTTP/1's connections: the request is malformed, and its stream reset (RFC 9113 §8.2.2).
    let opening = Opening { fields: vec![("te", "gzip")], ..Opening::default() };
    let stream = client.open("GET", "/c", &opening);
    let _ = client.outcome(stream);
    noted.entries(3);
    assert_eq!(client.get("/missing").status, 404);
}
