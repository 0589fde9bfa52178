//! What the access log is told.

use std::time::{Duration, SystemTime};

use serow::{Limits, Peer, Request, Response, Server, StatusCode, Timeouts};

use crate::support::{Noted, Pieces, Running, patient};

fn server(noted: &Noted) -> Running {
    let (noted, limits) = (noted.clone(), Limits { body: 1000, ..Limits::default() });
    let timeouts = Timeouts { body: Duration::from_millis(300), ..patient() };
    let server = Server::new().limits(limits).timeouts(timeouts).access_log(move || noted.clone());
    Running::with(server, |request: Request| async move {
        match request.target.path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(50)).await,
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
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    let before = SystemTime::now();
    client.send("POST /slow?a=b HTTP/1.1\r\nHost: a\r\nUser-Agent: me\r\nContent-Length: 12\r\n\r\nantelopes go");
    client.answer();
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!(entry.peer, Peer::Tcp(client.local_address()));
    assert_eq!(entry.line.as_deref(), Some("POST /slow?a=b HTTP/1.1"));
    assert_eq!((entry.agent.as_deref(), entry.status, entry.body_bytes, entry.whole), (Some("me"), 200, 2, true));
    assert!(entry.took >= Duration::from_millis(50) && entry.took < Duration::from_secs(20), "{:?}", entry.took);
    assert!(entry.began >= before && entry.began <= SystemTime::now());
}

#[test]
fn bytes_are_those_of_the_body_that_were_sent() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.get("/stream");
    client.get("/missing");
    client.send("HEAD /stream HTTP/1.0\r\n\r\n");
    client.answer_to_head();
    let entries = noted.entries(3);
    let seen: Vec<_> = entries.iter().map(|entry| (entry.status, entry.body_bytes)).collect();
    assert_eq!(seen, [(200, 5), (404, 14), (200, 0)]);
    assert_eq!(entries[2].line.as_deref(), Some("HEAD /stream HTTP/1.0"));
    assert!(entries.iter().all(|entry| entry.whole));
}

#[test]
fn a_response_that_was_cut_is_told_as_such() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.send("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n");
    client.is_reset();
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.status, entry.body_bytes, entry.whole), (200, 3, false));

    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    drop(client);
    let entry = noted.entries(2).pop().unwrap();
    assert_eq!((entry.status, entry.whole), (200, false));
    assert!(entry.body_bytes < 30 << 20, "{}", entry.body_bytes);
}

#[test]
fn a_request_refused_in_the_middle_is_told_too() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.send("POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3e7\r\n");
    assert_eq!(client.answer().status, 413);
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.line.as_deref(), entry.status, entry.whole), (Some("POST /a HTTP/1.1"), 413, true));

    let mut client = server.connect();
    client.send("POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
    assert_eq!(client.answer().status, 408);
    let entry = noted.entries(2).pop().unwrap();
    assert_eq!((entry.line.as_deref(), entry.status, entry.whole), (Some("POST /b HTTP/1.1"), 408, true));

    let mut client = server.connect();
    client.send("no request\r\n\r\n");
    assert_eq!(client.answer().status, 400);
    let entry = noted.entries(3).pop().unwrap();
    assert_eq!((entry.line, entry.status), (None, 400));
}
