//! Bodies of responses that lie in memory.

use serow::{Bytes, Request, Response, StatusCode};

use crate::support::{Asked, BOTH, Running, bytes_of};

/// Around pages, what a frame of HTTP/2 takes, and the windows it begins with; and what no buffer takes at once.
pub(crate) const LENGTHS: [usize; 15] =
    [0, 1, 13, 4095, 4096, 4097, 8192, 16_384, 16_385, 65_535, 65_536, 65_537, 100_000, 1 << 20, 20 << 20];

/// Answers with as many bytes as the target says, and these.
pub(crate) fn server() -> (Running, Bytes) {
    let all = Bytes::from(bytes_of(20 << 20));
    let expected = all.clone();
    let server = Running::new(move |request: Request| {
        let length: usize = request.target.path()[1..].parse().unwrap();
        let body = all.slice(..length);
        async move { Response::default().body(body) }
    });
    (server, expected)
}

#[test]
fn every_length_arrives_whole() {
    let (server, expected) = server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for length in LENGTHS {
            let target = format!("/{length}");
            let answer = client.get(&target);
            assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
            assert!(answer.body == expected[..length], "{spoken:?} {length}");
            let answer = client.ask(&Asked { method: "HEAD", ..Asked::get(&target) });
            assert_eq!((answer.field("content-length"), answer.body.len()), (Some(&*length.to_string()), 0));
        }
    }
}

#[test]
fn every_length_arrives_whole_before_the_connection_ends() {
    let (server, expected) = server();
    for request in ["HTTP/1.1\r\nHost: a\r\nConnection: close", "HTTP/1.0"] {
        for length in LENGTHS {
            let mut client = server.connect();
            client.send(format!("GET /{length} {request}\r\n\r\n"));
            let answer = client.answer();
            assert_eq!(answer.field("content-length"), Some(&*length.to_string()));
            assert!(answer.body == expected[..length], "{request} {length}");
            client.ends();
        }
    }
}

#[test]
fn statuses_without_content_have_none() {
    let server = Running::new(|request: Request| async move {
        let status: u16 = request.target.path()[1..].parse().unwrap();
        Response::text("content").status(StatusCode::from_u16(status).unwrap())
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for status in [204, 304] {
            let answer = client.get(&format!("/{status}"));
            assert_eq!((answer.field("content-length"), answer.body.len()), (None, 0));
        }
        for status in [200, 205, 404, 503, 599, 999] {
            let answer = client.get(&format!("/{status}"));
            assert_eq!((answer.status, answer.text()), (status, "content"));
        }
    }
}

#[test]
fn every_answer_says_when_it_was_made() {
    let server = Running::new(|_: Request| async { Response::text("now") });
    for spoken in BOTH {
        let answer = server.connect_with(spoken).get("/");
        assert!(answer.field("date").is_some_and(|date| date.ends_with(" GMT") && date.len() == 29), "{}", answer.head);
    }
}

#[test]
fn an_answer_that_says_so_itself_says_it_once() {
    let when = "Sun, 06 Nov 1994 08:49:37 GMT";
    let server = Running::new(move |_: Request| async move { Response::text("then").with("date", when) });
    for spoken in BOTH {
        let answer = server.connect_with(spoken).get("/");
        assert_eq!(answer.field("date"), Some(when));
        assert_eq!(answer.head.to_ascii_lowercase().matches("date:").count(), 1, "{}", answer.head);
    }
}
