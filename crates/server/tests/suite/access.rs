//! The calls of the access log, over both versions of HTTP.

use std::time::Duration;

use serow::{Limits, Peer, Priority, Request, Response, Server, StatusCode, Timeouts, Unanswered};
use serow_http2::{BodyLength, ErrorCode};

use crate::support::{Asked, BOTH, Noted, Opening, Pieces, Running, Spoken, patient, wall};

pub(crate) fn server(noted: &Noted) -> Running {
    let (noted, limits) = (noted.clone(), Limits { body: 1000, ..Limits::default() });
    let timeouts = Timeouts { body: Duration::from_millis(300), ..patient() };
    let server = Server::new().limits(limits).timeouts(timeouts).access_log(move || noted.clone());
    Running::with(server, |request: Request| async move {
        match request.target.path() {
            "/slow" => tokio::time::sleep(Duration::from_millis(50)).await,
            "/never" => std::future::pending().await,
            "/cut" => return Response::default().body(Pieces::new(["abc"]).then_fails().body()),
            "/stream" => return Response::default().body(Pieces::new(["abc", "de"]).body()),
            "/large" => return Response::default().body(vec![b'a'; LARGE as usize]),
            "/panic" => panic!("a panic that a test asked for"),
            "/closed" => return unanswered(),
            "/missing" => return Response::plain_status(StatusCode::NOT_FOUND),
            "/token" => return Response::text("abc").with("x-token", "secret"),
            "/urgent" => return Response::text("abc").with("priority", "u=1"),
            _ => {}
        }
        Response::text(request.body.collect(10_000).await.map_or(0, |body| body.len()).to_string())
    })
}

/// A response that no client gets.
fn unanswered() -> Response {
    let mut response = Response::text("secret");
    response.status = StatusCode::from_u16(444).unwrap();
    response.extensions.insert(Unanswered);
    response
}

/// More than the kernel holds on its way.
pub(crate) const LARGE: u64 = 30 << 20;

/// As the log names it.
fn version(spoken: Spoken) -> &'static str {
    match spoken {
        Spoken::Http1 => "HTTP/1.1",
        Spoken::Http2 => "HTTP/2.0",
    }
}

#[test]
fn every_field_is_told() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        let before = wall();
        client.ask(&Asked { fields: &[("user-agent", "me")], ..Asked::post("/slow?a=b", b"antelopes go") });
        let entry = noted.entries(1).pop().unwrap();
        assert_eq!(entry.peer, Peer::Tcp(client.local_address()));
        assert_eq!(entry.line, Some(format!("POST /slow?a=b {}", version(spoken))));
        assert_eq!((entry.agent.as_deref(), entry.status, entry.body_bytes, entry.whole), (Some("me"), 200, 2, true));
        assert!(entry.took >= Duration::from_millis(50) && entry.took < Duration::from_secs(20), "{:?}", entry.took);
        assert!(entry.began >= before && entry.began <= wall());
    }
}

#[test]
fn a_panic_is_a_500_that_is_not_whole() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/panic"));
        client.try_answer().unwrap_err();
        let entry = noted.entries(1).pop().unwrap();
        assert_eq!((entry.status, entry.body_bytes, entry.whole), (500, 0, false), "{spoken:?}");
    }
}

#[test]
fn a_request_without_a_response_has_the_status_for_the_log() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        assert_eq!(client.get("/").text(), "0");
        client.begin(&Asked::get("/closed"));
        assert!(client.try_answer().is_err(), "{spoken:?}");
        let entries = noted.entries(2);
        assert_eq!((entries[1].status, entries[1].body_bytes), (444, 0), "{spoken:?}");
    }
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect_http2();
    let (before, closed, behind) = (client.ask("/slow"), client.ask("/closed"), client.ask("/"));
    assert_eq!(client.is_reset(closed), ErrorCode::CANCEL);
    assert_eq!(client.answer(before).text(), "0");
    assert_eq!(client.answer(behind).text(), "0");
}

#[test]
fn bytes_are_those_of_the_body_that_were_sent() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.get("/stream");
        client.get("/missing");
        client.ask(&Asked { method: "HEAD", ..Asked::get("/stream") });
        let entries = noted.entries(3);
        let seen: Vec<_> = entries.iter().map(|entry| (entry.status, entry.body_bytes, entry.whole)).collect();
        assert_eq!(seen, [(200, 5, true), (404, 14, true), (200, 0, true)], "{spoken:?}");
        assert_eq!(entries[2].line, Some(format!("HEAD /stream {}", version(spoken))));
    }
}

#[test]
fn connections_and_their_requests_are_numbered() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.get("/missing");
        client.get("/missing");
        server.connect_with(spoken).get("/missing");
        let numbers: Vec<_> = noted.entries(3).iter().map(|entry| entry.numbers).collect();
        let (first, second) = (numbers[0].0, numbers[2].0);
        assert_eq!(numbers, [(first, 1), (first, 2), (second, 1)], "{spoken:?}");
        assert!(first != second);
    }
}

#[test]
fn the_head_of_the_response_is_told() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let answer = server.connect_with(spoken).get("/token");
        let entry = noted.entries(1).pop().unwrap();
        assert_eq!(entry.token.as_deref(), Some("secret"));
        match spoken {
            Spoken::Http1 => assert_eq!(entry.head_bytes, answer.head.len() as u64 + 4, "{}", answer.head),
            // A frame's header, and at least the field that is in no table.
            Spoken::Http2 => assert!((20..200).contains(&entry.head_bytes), "{}", entry.head_bytes),
        }
        // A response that the server makes by itself.
        assert_eq!(server.connect_with(spoken).ask(&Asked::post("/a", &[b'a'; 1001])).status, 413);
        assert_eq!(noted.entries(2)[1].token, None);
    }
}

#[cfg(feature = "http2")]
#[test]
fn streams_are_told_with_their_priority_in_the_end() {
    let noted = Noted::default();
    let server = server(&noted);
    server.connect_with(Spoken::Http1).ask(&Asked { fields: &[("priority", "u=5")], ..Asked::get("/missing") });
    assert_eq!(noted.entries(1)[0].stream, None);

    let mut client = server.connect_http2();
    let opening = |field| Opening { fields: vec![("priority", field)], ..Opening::default() };
    let told = |count| noted.entries(count)[count - 1].stream.map(|stream| (stream.number, stream.priority.as_str()));
    let stream = client.open("GET", "/missing", &opening("u=5, i"));
    client.answer(stream);
    assert_eq!(told(2), Some((1, "u=5, i")));
    // The response knows better; and so does the client, later.
    let stream = client.open("GET", "/urgent", &opening("u=5, i"));
    client.answer(stream);
    assert_eq!(told(3), Some((3, "u=1, i")));
    let stream = client.open("GET", "/slow", &opening("u=5, i"));
    client.machine.set_priority(stream, Priority { urgency: 0, incremental: false });
    client.answer(stream);
    assert_eq!(told(4), Some((5, "u=0")));
    // No response at all.
    let stream = client.open("GET", "/never", &opening("u=2"));
    client.machine.reset(stream, ErrorCode::CANCEL);
    client.turn();
    assert_eq!(told(5), Some((7, "u=2")));
}

#[test]
fn http_1_0_is_told_as_such() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.send("HEAD /stream HTTP/1.0\r\n\r\n");
    client.answer_to_head();
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.line.as_deref(), entry.body_bytes), (Some("HEAD /stream HTTP/1.0"), 0));
    assert!(entry.whole);
}

#[test]
fn a_response_that_was_cut_is_told_as_such() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/cut"));
        client.is_cut();
        let entry = noted.entries(1).pop().unwrap();
        assert_eq!((entry.status, entry.body_bytes, entry.whole), (200, 3, false), "{spoken:?}");
    }
}

#[test]
fn a_response_whose_client_left_is_told_as_such() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    drop(client);
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.status, entry.whole), (200, false));
    assert!(entry.body_bytes < LARGE, "{}", entry.body_bytes);
}

#[test]
fn a_request_refused_in_the_middle_is_told_too() {
    for spoken in BOTH {
        let noted = Noted::default();
        let server = server(&noted);
        let answer = server.connect_with(spoken).ask(&Asked::post("/a", &[b'a'; 1001]).chunked());
        assert_eq!(answer.status, 413);
        let mut client = server.connect_with(spoken);
        let _ = noted.entries(1);
        client.open("POST", "/b", &Opening { length: Some(BodyLength::Known(9)), ..Opening::default() });
        client.send(b"abc");
        assert_eq!(client.answer().status, 408);
        let told: Vec<_> = noted.entries(2).into_iter().map(|entry| (entry.line, entry.status, entry.whole)).collect();
        let line = |path: &str| Some(format!("POST {path} {}", version(spoken)));
        assert_eq!(told, [(line("/a"), 413, true), (line("/b"), 408, true)]);
    }
}

#[test]
fn an_invalid_request_is_logged_without_a_request_line() {
    let noted = Noted::default();
    let server = server(&noted);
    let mut client = server.connect();
    client.send("no request\r\n\r\n");
    assert_eq!(client.answer().status, 400);
    let entry = noted.entries(1).pop().unwrap();
    assert_eq!((entry.line, entry.status), (None, 400));
}

#[test]
fn a_head_that_never_completes_is_logged_as_408() {
    let noted = Noted::default();
    let log = noted.clone();
    let timeouts = Timeouts { head: Duration::from_millis(300), ..patient() };
    let server = Server::new().timeouts(timeouts).access_log(move || log.clone());
    let server = Running::with(server, |_: Request| async { "hello" });
    let mut client = server.connect();
    assert_eq!(client.get("/").text(), "hello");
    client.send("GET / HTTP/1.1\r\nHost:");
    assert_eq!(client.answer().status, 408);
    // The end of an idle connection is no request.
    drop(server.connect().rest());
    let seen: Vec<_> = noted.entries(2).into_iter().map(|entry| (entry.line, entry.status, entry.whole)).collect();
    assert_eq!(seen, [(Some("GET / HTTP/1.1".into()), 200, true), (None, 408, true)]);
}
