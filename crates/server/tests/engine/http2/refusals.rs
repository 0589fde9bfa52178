//! Requests that are refused: with the status they have over HTTP/1, and at the cost of their stream alone.

use serow::{Limits, Request, Response, Server};
use serow_http2::BodyLength;

use crate::support::{Asked, BOTH, Opening, Running, Spoken, bytes_of};

fn server() -> Running {
    let limits = Limits { body: 1000, head: 4000, fields: 20, target: 500, ..Limits::default() };
    Running::with(Server::new().limits(limits), |request: Request| async move {
        match request.body.collect(1 << 20).await {
            Ok(body) => Response::text(format!("{}", body.len())),
            Err(error) => Response::text(error.to_string()),
        }
    })
}

#[test]
fn every_mistake_has_its_status() {
    let server = server();
    let (long, wide) = (format!("/{}", "a".repeat(600)), "a".repeat(5000));
    let body = vec![b'a'; 1001];
    let names: Vec<_> = (0..30).map(|number| format!("x-{number}")).collect();
    let many: Vec<_> = names.iter().map(|name| (&**name, "b")).collect();
    let cases = [
        (Asked::post("/", &body), 413),
        (Asked { says_length: false, ..Asked::post("/", &body) }, 413),
        (Asked { fields: &[("expect", "tea")], ..Asked::post("/", b"a") }, 417),
        (Asked::get(&long), 414),
        (Asked { fields: &[("x", &wide)], ..Asked::get("/") }, 431),
        (Asked { fields: &many, ..Asked::get("/") }, 431),
    ];
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for (asked, status) in &cases {
            let answer = client.ask(asked);
            assert_eq!(answer.status, *status, "{spoken:?} {asked:?}");
            if spoken == Spoken::Http1 {
                client = server.connect_with(spoken);
            }
        }
        assert_eq!(client.ask(&Asked::post("/", b"abc")).text(), "3");
    }
}

#[test]
fn a_body_as_long_as_the_limit_is_taken() {
    let server = server();
    let body = vec![b'a'; 1000];
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for says_length in [true, false] {
            assert_eq!(client.ask(&Asked { says_length, ..Asked::post("/", &body) }).text(), "1000");
        }
    }
}

#[test]
fn a_client_in_the_middle_of_a_large_body_gets_its_answer() {
    let server = server();
    let mut client = server.connect_http2();
    for length in [BodyLength::Known(30_000_000), BodyLength::Unknown] {
        let stream = client.open("POST", "/", &Opening { length: Some(length), ..Opening::default() });
        for _ in 0..300 {
            client.send(stream, bytes_of(100_000));
        }
        assert_eq!(client.answer(stream).status, 413, "{length:?}");
        // And the connection is as good as before.
        let stream = client.post("/", vec![b'a'; 1000], true);
        assert_eq!(client.answer(stream).text(), "1000");
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let server = server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let long = format!("/{}", "a".repeat(600));
        let answer = client.ask(&Asked { method: "HEAD", ..Asked::get(&long) });
        assert_eq!((answer.status, answer.body.len()), (414, 0));
    }
}
