//! One table, both directions: what one role writes is given to the other, whole and split at every place, and it reads
//! the message back.

use crate::conversation::{
    Body, Message, PLAIN_REQUEST, body_lines, field_lines, without_framing, write_request, write_response,
};
use crate::splitter::{Requests, Responses, every_way};
use serow_http1::Limits;
use serow_message::{Method, StatusCode};

/// A message, the framing fields written for it, and the framing its reader finds.
struct Case {
    body: Body,
    trailers: &'static [(&'static str, &'static str)],
    written: &'static str,
    framing: &'static str,
}

fn cases() -> Vec<Case> {
    let pieces = |pieces: &[&str]| pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect::<Vec<_>>();
    let chunked = "transfer-encoding: chunked\r\n";
    vec![
        Case { body: Body::None, trailers: &[], written: "content-length: 0\r\n", framing: "" },
        Case {
            body: Body::Known(pieces(&["hello"])),
            trailers: &[],
            written: "content-length: 5\r\n",
            framing: " length 5",
        },
        Case {
            body: Body::Known(pieces(&["", "he", "llo, ", "", "world"])),
            // RFC 9110 §6.5: only chunks have a place for them.
            trailers: &[("x-lost", "1")],
            written: "content-length: 12\r\n",
            framing: " length 12",
        },
        Case { body: Body::Unknown(pieces(&[])), trailers: &[], written: chunked, framing: " chunked" },
        Case {
            // RFC 9112 §7.1: an empty piece must not become the last chunk.
            body: Body::Unknown(pieces(&["hello", "", "0\r\n\r\n", "wonderful world, chunk of more than 16 bytes"])),
            trailers: &[],
            written: chunked,
            framing: " chunked",
        },
        Case {
            body: Body::Unknown(pieces(&["a"])),
            trailers: &[("X-Sum", "1"), ("x-empty", ""), ("X-Sum", "2")],
            written: chunked,
            framing: " chunked",
        },
    ]
}

impl Case {
    fn message(&self, fields: &[(&str, &str)]) -> Message {
        let owned = |fields: &[(&str, &str)]| {
            fields.iter().map(|(name, value)| (String::from(*name), value.as_bytes().to_vec())).collect()
        };
        Message { fields: owned(fields), body: self.body.clone(), trailers: owned(self.trailers) }
    }
}

#[test]
fn requests() {
    for case in cases() {
        for (method, target) in [(Method::POST, "/a?b=c"), (Method::PUT, "http://a/b"), (Method::PATCH, "/")] {
            let message = case.message(&[("Host", "a"), ("X-One", "1"), ("x-ONE", "  spaced\t"), ("X-Empty", "")]);
            let bytes = write_request(&method, target, &message);
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.starts_with(&format!("{method} {target} HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n")), "{text}");
            assert!(text.contains(&format!("\r\n{}", case.written)), "{text}");
            let mut expected = vec![format!("{method} {target} HTTP/1.1{}", case.framing)];
            expected.extend(field_lines(&message.fields));
            if !case.framing.is_empty() {
                expected.extend(body_lines(&message));
            }
            expected.push("reuse".into());
            let seen = every_way(|| Requests::new(Limits::default()), &bytes);
            assert_eq!(without_framing(&seen.lines), expected);
        }
    }
}

#[test]
fn requests_without_content_have_no_length() {
    // RFC 9110 §8.6: where the method foresees no content.
    let message = Case { body: Body::None, trailers: &[], written: "", framing: "" }.message(&[("Host", "a")]);
    for (method, target) in [(Method::GET, "/"), (Method::HEAD, "/"), (Method::DELETE, "/"), (Method::OPTIONS, "*")] {
        let bytes = write_request(&method, target, &message);
        assert_eq!(bytes, format!("{method} {target} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
    }
    assert_eq!(write_request(&Method::CONNECT, "a:443", &message), b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n");
}

#[test]
fn responses() {
    for case in cases() {
        for status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::from_u16(599).unwrap()] {
            let message = case.message(&[("Content-Type", "text/plain"), ("X", " y ")]);
            for informational in [&[][..], &[StatusCode::CONTINUE, StatusCode::EARLY_HINTS]] {
                let bytes = write_response(PLAIN_REQUEST, informational, status, &message);
                let text = String::from_utf8_lossy(&bytes);
                assert!(text.contains(case.written), "{text}");
                let mut expected = Vec::new();
                for status in informational {
                    expected.push(format!("{} HTTP/1.1 interim", status.as_u16()));
                    expected.extend(field_lines(&message.fields));
                }
                expected.push(format!("{} HTTP/1.1{}", status.as_u16(), case.framing));
                expected.extend(field_lines(&message.fields));
                expected.extend(body_lines(&message));
                expected.push("reuse".into());
                let seen = every_way(|| Responses::new(Limits::default(), &Method::GET), &bytes);
                assert_eq!(without_framing(&seen.lines), expected);
            }
        }
    }
}

/// Method and version of the request, the status, the whole response, and what the client sees of it.
const RESPONSES: &[(&str, u16, bool, &str, &[&str])] = &[
    // RFC 9110 §9.3.2: HEAD is told what GET would be, without the body.
    ("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", 200, true, "content-length: 5\r\n\r\n", &["200 HTTP/1.1", "end", "reuse"]),
    (
        "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
        200,
        false,
        "transfer-encoding: chunked\r\n\r\n",
        &["200 HTTP/1.1", "end", "reuse"],
    ),
    // RFC 9110 §15.3.5, §15.4.5: neither has content, nor a length (§8.6).
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 204, true, "204 No Content\r\n\r\n", &["204 HTTP/1.1", "end", "reuse"]),
    ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 304, false, "304 Not Modified\r\n\r\n", &["304 HTTP/1.1", "end", "reuse"]),
    // RFC 9112 §9.6: the client is told.
    (
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        200,
        true,
        "connection: close\r\n\r\nhello",
        &["200 HTTP/1.1 length 5", "data hello", "end", "close"],
    ),
    // RFC 9112 §6.1: no transfer coding for HTTP/1.0; the end of the connection is the end of the body.
    (
        "GET / HTTP/1.0\r\n\r\n",
        200,
        false,
        "200 OK\r\nconnection: close\r\n\r\nhello",
        &["200 HTTP/1.1 until close", "data hello", "end", "close"],
    ),
    (
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        200,
        false,
        "connection: close\r\n\r\nhello",
        &["200 HTTP/1.1 until close", "data hello", "end", "close"],
    ),
    (
        "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        200,
        true,
        "connection: keep-alive\r\n\r\nhello",
        &["200 HTTP/1.1 length 5", "data hello", "end", "reuse"],
    ),
    // RFC 9110 §9.3.6: a tunnel has no framing; a refused one has, and its connection closes.
    ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 200, false, "200 OK\r\n\r\n", &["200 HTTP/1.1", "end", "tunnel"]),
    (
        "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
        403,
        true,
        "connection: close\r\n\r\nhello",
        &["403 HTTP/1.1 length 5", "data hello", "end", "close"],
    ),
    // RFC 9110 §7.8.
    (
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
        101,
        false,
        "101 Switching Protocols\r\nconnection: upgrade\r\n\r\n",
        &["101 HTTP/1.1", "end", "tunnel"],
    ),
];

#[test]
fn responses_follow_the_request() {
    for (request, status, known, written, expected) in RESPONSES {
        let pieces = vec![b"hello".to_vec()];
        let body = if *known { Body::Known(pieces) } else { Body::Unknown(pieces) };
        let mut message = Message { body, ..Message::default() };
        if *status == 101 {
            message.fields.push(("upgrade".into(), b"echo".to_vec()));
        }
        let bytes = write_response(request.as_bytes(), &[], StatusCode::from_u16(*status).unwrap(), &message);
        let text = String::from_utf8_lossy(&bytes).replace("Date: now\r\n", "").replace("upgrade: echo\r\n", "");
        assert!(text.contains(written), "{request} {text}");
        let method: Method = request.split(' ').next().unwrap().parse().unwrap();
        let seen = every_way(|| Responses::new(Limits::default(), &method), &bytes);
        let lines: Vec<String> = seen.lines.iter().filter(|line| !line.starts_with("- ")).cloned().collect();
        assert_eq!(lines, *expected, "{request}");
    }
}
