//! Interim responses of a handler: 103 Early Hints (RFC 8297), over HTTP/2.

use std::time::Duration;

use serow::{Headers, Request, Response, StatusCode};

use crate::support::Running;

fn hint(request: &Request, link: &str) {
    let mut hints = Headers::new();
    hints.append("link", link).unwrap();
    request.interim().send(StatusCode::EARLY_HINTS, hints);
}

#[test]
fn hints_leave_while_the_handler_works() {
    let (go, wait) = tokio::sync::watch::channel(false);
    let server = Running::new(move |request: Request| {
        let mut wait = wait.clone();
        async move {
            hint(&request, "</a.css>; rel=preload");
            tokio::task::yield_now().await;
            hint(&request, "</b.css>; rel=preload");
            wait.wait_for(|go| *go).await.unwrap();
            Response::text("page")
        }
    });
    let mut client = server.connect_http2();
    let streams = [client.ask("/"), client.ask("/")];
    for stream in streams {
        let hints = [client.interim(stream), client.interim(stream)];
        assert_eq!(hints.each_ref().map(|hints| hints.status), [103, 103]);
        assert_eq!(hints[1].field("link"), Some("</b.css>; rel=preload"));
        assert_eq!(hints[0].field("content-length"), None);
    }
    go.send(true).unwrap();
    for stream in streams {
        assert_eq!(client.answer(stream).text(), "page");
    }
}

#[test]
fn hints_of_a_handler_that_does_not_wait_come_before_its_response() {
    let server = Running::new(|request: Request| async move {
        if request.target.path() == "/hint" {
            hint(&request, "</a.css>");
        } else {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Response::text("page")
    });
    let mut client = server.connect_http2();
    for _ in 0..2 {
        let stream = client.ask("/hint");
        assert_eq!(client.interim(stream).status, 103);
        assert_eq!(client.answer(stream).text(), "page");
        let stream = client.ask("/plain");
        assert_eq!(client.head(stream), 200);
        assert!(!client.has_interim(stream));
        assert_eq!(client.answer(stream).text(), "page");
    }
}

#[test]
fn hints_that_come_too_late_are_nobodys() {
    let server = Running::new(|request: Request| async move {
        let path = request.target.path().to_owned();
        if path == "/late" {
            tokio::task::spawn_local(async move {
                tokio::time::sleep(Duration::from_millis(30)).await;
                hint(&request, "</late.css>");
            });
        } else {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Response::text(path)
    });
    let mut client = server.connect_http2();
    assert_eq!(client.get("/late").text(), "/late");
    // It may have the place of the one before.
    let stream = client.ask("/next");
    assert_eq!(client.head(stream), 200);
    assert!(!client.has_interim(stream));
    assert_eq!(client.answer(stream).text(), "/next");
}
