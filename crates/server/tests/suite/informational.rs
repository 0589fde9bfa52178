//! Informational responses of a handler: 103 Early Hints (RFC 8297).

use std::time::Duration;

use serow::{Headers, Request, Response, StatusCode};
use tokio::sync::watch;

use crate::support::{Asked, BOTH, Running};

fn hint(request: &Request, link: &str) {
    let mut hints = Headers::new();
    hints.append("link", link).unwrap();
    request.informational().send(StatusCode::EARLY_HINTS, hints);
}

/// Sends two hints, and the page when the test releases it.
pub(crate) fn hinting_server() -> (Running, watch::Sender<bool>) {
    let (go, wait) = watch::channel(false);
    let server = Running::new(move |request: Request| {
        let mut wait = wait.clone();
        async move {
            hint(&request, LINKS[0]);
            tokio::task::yield_now().await;
            hint(&request, LINKS[1]);
            wait.wait_for(|go| *go).await.unwrap();
            Response::text("page")
        }
    });
    (server, go)
}

/// The links of its hints, in this order.
pub(crate) const LINKS: [&str; 2] = ["</a.css>; rel=preload", "</b.css>; rel=preload"];

#[test]
fn hints_leave_while_the_handler_works() {
    for spoken in BOTH {
        let (server, go) = hinting_server();
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/"));
        for link in LINKS {
            let hint = client.informational();
            assert_eq!((hint.status, hint.field("link")), (103, Some(link)), "{spoken:?}");
            assert_eq!(hint.field("content-length"), None);
        }
        go.send(true).unwrap();
        assert_eq!(client.answer().text(), "page");
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
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for _ in 0..2 {
            client.begin(&Asked::get("/hint"));
            assert_eq!(client.informational().status, 103, "{spoken:?}");
            assert_eq!(client.answer().text(), "page");
            // And never before another one.
            assert_eq!(client.get("/plain").text(), "page");
        }
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
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        // The next one is under way when the hint comes: over HTTP/2, it may have the place of the one before.
        for target in ["/late", "/next", "/after"] {
            assert_eq!(client.get(target).text(), target, "{spoken:?}");
        }
    }
}

#[test]
fn http_1_0_gets_no_hints() {
    let server = Running::new(|request: Request| async move {
        hint(&request, "</a.css>");
        tokio::task::yield_now().await;
        Response::text("page")
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(client.answer().text(), "page");
}
