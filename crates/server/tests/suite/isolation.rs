//! Bytes of one exchange never become part of another, however an exchange ends.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use serow::{KnownHeader, Limits, Request, Response, Server, StatusCode};
use serow_http2::{BodyLength, ErrorCode};

use crate::support::{
    Client, Ended, Opening, Pieces, Running,
    frames::{DATA, GOAWAY, HEADERS, RST_STREAM, block},
    patient,
};

/// The targets of all requests that handlers have seen.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    /// Serves in the way that each path names, and remembers the targets.
    fn server(&self) -> Running {
        let (seen, limits) = (self.clone(), Limits { body: 1 << 20, ..Limits::default() });
        Running::with(Server::new().timeouts(patient()).limits(limits), move |mut request: Request| {
            let target = request.target.as_str().to_owned();
            seen.0.lock().unwrap().push(target.clone());
            async move {
                match &*target {
                    "/read" => Response::text(match request.body.collect(1 << 20).await {
                        Ok(body) => String::from_utf8_lossy(&body).into_owned(),
                        Err(error) => error.to_string(),
                    }),
                    "/read-a-piece" => {
                        drop(request.body.chunk().await);
                        Response::text(target)
                    }
                    "/panic" => panic!("as the test wants it"),
                    "/too-short" => Response::default().body(Pieces::new(["abc"]).claiming(30).body()),
                    "/too-long" => Response::default().body(Pieces::new(["abc", SMUGGLED_RESPONSE]).claiming(3).body()),
                    "/no-content" => Response::new(StatusCode::NO_CONTENT).body(SMUGGLED_RESPONSE),
                    "/not-modified" => Response::new(StatusCode::NOT_MODIFIED).body(SMUGGLED_RESPONSE),
                    "/wrong-length" => Response::text(target).with(KnownHeader::ContentLength, "3"),
                    _ => Response::text(target),
                }
            }
        })
    }

    #[track_caller]
    fn has_no_smuggled_request(&self, context: &str) {
        let seen = self.0.lock().unwrap();
        assert!(!seen.iter().any(|target| target.contains("evil")), "{context:?}: {seen:?}");
    }
}

const SMUGGLED: &str = "GET /evil HTTP/1.1\r\nHost: a\r\n\r\n";
const SMUGGLED_RESPONSE: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
const NEXT: &str = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";

/// The state of the connection after the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// The next request is answered.
    Next,
    /// It ends behind the response.
    Ends,
    /// It is cut.
    Cut,
}

/// A request whose body, or what may be taken for it, is itself a request.
fn smuggling_requests() -> Vec<(String, After)> {
    let length = SMUGGLED.len();
    let with_length = |line: &str, more: &str| {
        format!("{line} HTTP/1.1\r\nHost: a\r\n{more}Content-Length: {length}\r\n\r\n{SMUGGLED}")
    };
    let chunk = format!("{length:x}\r\n{SMUGGLED}\r\n");
    let in_chunks =
        |line: &str, chunks: &str| format!("{line} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    let much = SMUGGLED.repeat(5000);
    vec![
        (with_length("POST /unread", ""), After::Next),
        (with_length("GET /unread", ""), After::Next),
        (with_length("POST /read-a-piece", ""), After::Next),
        (with_length("POST /no-content", ""), After::Next),
        (with_length("POST /panic", ""), After::Cut),
        (with_length("POST /too-short", ""), After::Cut),
        // A client that waits for 100 Continue, and one that does not wait after all.
        (with_length("POST /unread", "Expect: 100-continue\r\n"), After::Ends),
        (with_length("POST /unread", "Expect: other\r\n"), After::Ends),
        (with_length("CONNECT a:1", "").replace(&format!("Content-Length: {length}\r\n"), ""), After::Ends),
        (with_length("CONNECT a:1", ""), After::Ends),
        (in_chunks("POST /unread", &format!("{chunk}0\r\n\r\n")), After::Next),
        (
            in_chunks("POST /unread", &format!("{chunk}{chunk}0\r\nX: {SMUGGLED}\r\n").replace("X: GET", "X: a")),
            After::Next,
        ),
        (in_chunks("POST /unread", &format!("{chunk}zz\r\n{SMUGGLED}")), After::Ends),
        (in_chunks("POST /read", &format!("{chunk}zz\r\n{SMUGGLED}")), After::Ends),
        (in_chunks("POST /read-a-piece", &format!("{chunk}-1\r\n{SMUGGLED}")), After::Ends),
        // More than is passed over, and more than is allowed.
        (format!("POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{much}", much.len()), After::Ends),
        (in_chunks("POST /unread", &chunk.repeat(5000)), After::Ends),
        (format!("POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n{SMUGGLED}"), After::Ends),
        // HTTP/1.0 without keep-alive.
        (format!("POST /unread HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc{SMUGGLED}"), After::Ends),
        // Requests that end with a mistake.
        (format!("GET /unread HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n{SMUGGLED}"), After::Ends),
        (
            format!("GET /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{SMUGGLED}"),
            After::Ends,
        ),
    ]
}

#[test]
fn the_rest_of_a_body_over_http_1_is_never_a_request() {
    for (request, after) in smuggling_requests() {
        for whole in [true, false] {
            let seen = Seen::default();
            let server = seen.server();
            let mut client = server.connect();
            let context = request.lines().next().unwrap_or_default().to_owned() + &format!(" whole: {whole}");
            let text = format!("{request}{NEXT}");
            // In pieces, each of which a read may see alone.
            let (pieces, pause) = if whole { (1, 0) } else { (40, 1) };
            let pieces = text.as_bytes().chunks(text.len().div_ceil(pieces)).map(<[u8]>::to_vec).collect();
            let writing = client.write_beside(pieces, Duration::from_millis(pause));
            let text = all_of(&mut client, after);
            assert!(!text.contains("/evil"), "{context}: {text}");
            let answered = text.matches("/next").count();
            assert_eq!(answered, usize::from(after == After::Next), "{context} {after:?}: {text}");
            drop(client);
            writing.end();
            seen.has_no_smuggled_request(&context);
        }
    }
}

/// All that the server sends, until the connection ends or the next request is answered.
fn all_of(client: &mut Client, after: After) -> String {
    if after == After::Next {
        while !String::from_utf8_lossy(&client.received).ends_with("/next") {
            client.receive_some().unwrap();
        }
        return String::from_utf8_lossy(&std::mem::take(&mut client.received)).into_owned();
    }
    let _ = client.rest();
    String::from_utf8_lossy(&client.received).into_owned()
}

#[test]
fn content_of_a_response_that_has_none_is_not_the_next_response() {
    let server = Seen::default().server();
    for first in ["HEAD /next", "GET /no-content", "GET /not-modified", "HEAD /too-long"] {
        let mut client = server.connect();
        client.send(format!("{first} HTTP/1.1\r\nHost: a\r\n\r\n{NEXT}"));
        client.try_answer(true).unwrap();
        let answer = client.answer();
        assert_eq!((answer.status, answer.text()), (200, "/next"), "behind {first}");
        client.receives_nothing_for(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_body_that_is_not_as_long_as_announced_ends_the_connection() {
    let server = Seen::default().server();
    for target in ["/too-long", "/too-short"] {
        let mut client = server.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n{NEXT}"));
        let _ = client.rest();
        let text = String::from_utf8_lossy(&client.received).into_owned();
        assert!(!text.contains("evil") && !text.contains("/next"), "{target}: {text}");
    }
    // The server ignores a length that a handler sets.
    let mut client = server.connect();
    assert_eq!(client.get("/wrong-length").text(), "/wrong-length");
    assert_eq!(client.get("/next").text(), "/next");
}

#[cfg(feature = "http2")]
#[test]
fn late_frames_of_a_stream_over_http_2_never_reach_another() {
    let seen = Seen::default();
    let server = seen.server();
    for first in ["read", "unread", "read-a-piece", "panic", "too-short"] {
        let mut client = server.connect_frames(&[]);
        let post = |name: &str| {
            let mut block = block(name);
            block[0] = 0x83;
            block
        };
        client.send(HEADERS, 0x4, 1, &post(first)).send(DATA, 0, 1, b"evil");
        // The client gives it up, and what it has on its way comes behind.
        client.send(RST_STREAM, 0, 1, &ErrorCode::CANCEL.0.to_be_bytes());
        client.send(HEADERS, 0x4, 3, &post("read")).send(DATA, 0, 3, b"good");
        client.send(DATA, 1, 3, b" one");
        let body = client.until(DATA, 3);
        assert_eq!(body.payload, b"good one", "behind /{first}");
        // A mistake (RFC 9113 §5.1), or passed over where the server has reset the stream before; never the body of
        // another.
        client.send(DATA, 0, 1, b"evil").send(HEADERS, 0x4, 5, &post("read")).send(DATA, 1, 5, b"good");
        loop {
            match client.next().unwrap() {
                frame if frame.kind == GOAWAY => break,
                frame if frame.kind == DATA => break assert_eq!(frame.payload, b"good", "behind /{first}"),
                _ => {}
            }
        }
    }
    seen.has_no_smuggled_request("HTTP/2");
}

#[cfg(feature = "http2")]
#[test]
fn a_response_that_was_given_up_is_not_sent_on_the_next_stream() {
    let server = Seen::default().server();
    let mut client = server.connect_http2();
    for round in 0..50 {
        let upload = Opening { length: Some(BodyLength::Unknown), ..Opening::default() };
        let given_up = client.open("POST", "/read", &upload);
        client.send(given_up, "evil");
        if round % 2 == 0 {
            client.go_on_for(std::time::Duration::from_millis(1));
        }
        client.machine.reset(given_up, ErrorCode::CANCEL);
        // The same place, with the same waker.
        let other = client.post("/read", b"good".to_vec(), false);
        match client.outcome(other) {
            (Some(answer), Ended::Whole) => assert_eq!(answer.text(), "good"),
            other => panic!("{other:?}"),
        }
    }
}
