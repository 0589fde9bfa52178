//! When a connection serves another request, in HTTP/1.1 and 1.0, and what HEAD leaves out.

use serow::{Body, Request, Response, StatusCode};

use crate::support::{Pieces, Running};

fn path_server() -> Running {
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/stream" => Response::default().body(Pieces::new(["one", "two"]).body()),
            "/empty" => Response::default(),
            "/nothing" => Response::new(StatusCode::NO_CONTENT),
            "/known" => Response::default().body(Pieces::new(["one", "two"]).claiming(6).body()),
            path => Response::text(path.to_owned()),
        }
    })
}

#[test]
fn a_connection_serves_one_request_after_the_other() {
    let server = path_server();
    let mut client = server.connect();
    for number in 0..20 {
        let answer = client.get(&format!("/{number}"));
        assert_eq!((answer.status, answer.text()), (200, &*format!("/{number}")));
        assert_eq!(answer.field("connection"), None);
        assert!(answer.field("date").is_some());
    }
    for target in ["/stream", "/empty", "/nothing", "/known", "/last"] {
        client.get(target);
    }
    assert_eq!(client.get("/stream").text(), "onetwo");
    assert_eq!(client.get("/known").field("content-length"), Some("6"));
    assert_eq!(client.get("/nothing").field("content-length"), None);
    assert_eq!(client.get("/empty").field("content-length"), Some("0"));
}

#[test]
fn connection_close_of_either_side_is_honoured() {
    let server = path_server();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let answer = client.answer();
    assert!(answer.closes());
    client.ends();
}

#[test]
fn http_1_0_closes_unless_it_asks_for_more() {
    let server = path_server();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.0\r\n\r\n");
    assert!(client.answer().closes());
    client.ends();

    let mut client = server.connect();
    for target in ["/a", "/empty", "/known"] {
        client.send(format!("GET {target} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
        assert_eq!(client.answer().field("connection"), Some("keep-alive"));
    }
    // Without a length only the end of the connection says where the body ends.
    client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.text(), answer.closes()), ("onetwo", true));
    assert_eq!(answer.field("transfer-encoding"), None);
    client.ends();
}

#[test]
fn head_has_the_fields_of_get_and_no_body() {
    let server = path_server();
    let mut client = server.connect();
    for (target, length, coding) in [
        ("/abc", Some("4"), None),
        ("/known", Some("6"), None),
        ("/stream", None, Some("chunked")),
        ("/empty", Some("0"), None),
    ] {
        client.send(format!("HEAD {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let answer = client.answer_to_head();
        assert_eq!((answer.field("content-length"), answer.field("transfer-encoding")), (length, coding), "{target}");
    }
    assert_eq!(client.get("/then").text(), "/then");
}

#[test]
fn head_does_not_ask_a_stream_for_anything() {
    let server = Running::new(|_: Request| async {
        let endless = Pieces::new(std::iter::repeat_n("endless", 10)).then_fails();
        Response::default().body(endless.body())
    });
    let mut client = server.connect();
    client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer_to_head().status, 200);
    assert_eq!(client.answer_to_head().status, 200);
}

#[test]
fn every_form_of_target_reaches_the_handler() {
    let server = Running::new(|request: Request| async move {
        let host = request.host().unwrap_or("none").to_owned();
        Response::text(format!("{} {} {host}", request.target.as_str(), request.target.path()))
    });
    let mut client = server.connect();
    client.send("GET http://b:80/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().text(), "http://b:80/x?y /x b:80");
    client.send("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().text(), "* * a");
    client.send("GET //double?a=b HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.answer().text(), "//double?a=b //double a");
}

#[test]
fn a_client_that_stops_sending_still_gets_its_answers() {
    let server = path_server();
    let mut client = server.connect();
    client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n");
    client.finish_sending();
    assert_eq!(client.answer().text(), "/a");
    assert_eq!(client.answer().text(), "/b");
    client.ends();
}

#[test]
fn framing_fields_of_a_handler_are_ignored() {
    let server = Running::new(|_: Request| async {
        Response::text("four")
            .with("content-length", "9")
            .with("transfer-encoding", "chunked")
            .with("connection", "close")
            .body(Body::from("four"))
    });
    let mut client = server.connect();
    for _ in 0..2 {
        let answer = client.get("/");
        assert_eq!((answer.text(), answer.field("content-length")), ("four", Some("4")));
        assert_eq!(answer.field("connection"), None);
    }
}
