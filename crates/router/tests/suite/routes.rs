//! Which route takes a request, and what is answered where none does.

use std::borrow::Cow;

use crate::support::{Named, With, answer, attempt, get, handle, now, redirect, request, respond, rewrite, router};
use bytes::Bytes;
use serow_message::{BodyKind, Handler, Headers, Method, Request, Response};
use serow_router::{Action, FixedResponse, Route, Routed, Router, RouterError};

#[test]
fn the_first_route_that_fits_takes_a_request() {
    let router = router(vec![
        handle("/healthz", "health"),
        handle("*.css", "style"),
        handle("/a/*/z", "a to z"),
        handle("/a/*", "a"),
        handle("/a", "a itself"),
    ]);
    let cases = [
        ("/healthz", 200, "health /healthz"),
        ("/healthz?verbose", 200, "health /healthz?verbose"),
        ("/healthz/", 404, "404 Not Found\n"),
        ("/HEALTHZ", 404, "404 Not Found\n"),
        ("/x/y.css", 200, "style /x/y.css"),
        ("/a/y.css", 200, "style /a/y.css"),
        ("/a/b/c/z", 200, "a to z /a/b/c/z"),
        ("/a/b/c", 200, "a /a/b/c"),
        ("/a/", 200, "a /a/"),
        ("/a", 200, "a itself /a"),
        ("/", 404, "404 Not Found\n"),
        ("/?/a/", 404, "404 Not Found\n"),
        ("/a%", 400, "400 Bad Request\n"),
        ("/..", 400, "400 Bad Request\n"),
        ("/%00", 400, "400 Bad Request\n"),
    ];
    for (target, status, text) in cases {
        let asked = get(&router, target);
        assert_eq!((asked.status, asked.text.as_str()), (status, text), "{target}");
    }
}

#[test]
fn scripts_choose_routes_by_name() {
    let named = |name: &str, route: Route<Named>| Route { name: Some(name.into()), ..route };
    let router = router(vec![
        handle("/a", "first"),
        named("canary", rewrite("/old/*", "/new/*")),
        named("canary", handle("/new/*", "new")),
        named("canary", attempt("/a", "tried")),
        handle("/*", "all"),
        named("canary", handle("/*", "canary")).methods(&["GET", "POST"]),
        named("other", handle("/x", "x")),
    ]);
    for (name, method, target, expected) in [
        ("canary", "GET", "/a", Some("tried /a")),
        ("canary", "POST", "/a", Some("canary /a")),
        ("canary", "GET", "/b", Some("canary /b")),
        ("canary", "GET", "/old/1?q", Some("new /new/1?q")),
        ("canary", "DELETE", "/b", Some("405 Method Not Allowed\nGET, POST, HEAD")),
        ("other", "GET", "/x", Some("x /x")),
        ("other", "GET", "/y", Some("404 Not Found\n")),
        ("missing", "GET", "/x", None),
        ("missing", "CONNECT", "a:1", Some("501 Not Implemented\n")),
    ] {
        let mut request = request(method, target, None);
        let attempt = |handler: &Named, request: &Request| {
            let can = request.method == Method::GET;
            can.then(|| now(handler.call(get_request(&request.target.to_string()))))
        };
        let routed = router.route_named(name, &mut request, attempt);
        let found = routed.map(|routed| match routed {
            Routed::Answer { response, .. } | Routed::Attempt { response, .. } => text_and_allow(response),
            Routed::Handler { handler, .. } => text_and_allow(now(handler.call(request))),
        });
        assert_eq!(found.as_deref(), expected, "{name} {method} {target}");
    }
    // Without a choice, names change nothing; a route behind all others needs one.
    assert_eq!(get(&router, "/b").text, "all /b");
    let unreachable = vec![named("a", handle("/*", "1")), named("b", handle("/*", "2")), named("a", handle("/x", "3"))];
    let error = Router::new(vec![serow_router::Site::new(unreachable)]).unwrap_err();
    assert!(matches!(error, RouterError::Unreachable { route: 2, earlier: 0, .. }), "{error}");
}

/// The body, and the methods of a 405.
fn text_and_allow(response: Response) -> String {
    let allow = response.headers.get_str("allow").unwrap_or_default().to_owned();
    let body = now(response.body.collect(1000)).unwrap();
    String::from_utf8_lossy(&body).into_owned() + &allow
}

fn get_request(target: &str) -> Request {
    request("GET", target, None)
}

#[test]
fn methods() {
    let router = router(vec![
        handle("/a", "read").methods(&["GET"]),
        handle("/a", "write").methods(&["POST", "PUT"]),
        handle("/b", "odd").methods(&["PURGE"]),
        rewrite("/c", "/b").methods(&["PURGE", "POST"]),
        handle("/d", "delete").methods(&["DELETE"]),
        rewrite("/d", "/missing"),
        handle("/b", "b").methods(&["GET"]),
        handle("/e", "all"),
    ]);
    let cases = [
        ("GET", "/a", 200, None),
        ("HEAD", "/a", 200, None),
        ("PUT", "/a", 200, None),
        ("DELETE", "/a", 405, Some("GET, HEAD, POST, PUT")),
        ("get", "/a", 405, Some("GET, HEAD, POST, PUT")),
        ("PURGE", "/b", 200, None),
        ("GET", "/b", 200, None),
        ("POST", "/b", 405, Some("GET, HEAD, PURGE")),
        // The rewrite for PURGE leads to no route that takes PURGE; for GET, there is no rewrite.
        ("GET", "/c", 404, None),
        ("DELETE", "/d", 200, None),
        ("GET", "/d", 405, Some("DELETE")),
        ("TRACE", "/e", 200, None),
        ("POST", "/missing", 404, None),
    ];
    for (method, target, status, allow) in cases {
        let asked = answer(&router, request(method, target, None));
        assert_eq!((asked.status, asked.field("allow")), (status, allow), "{method} {target}");
    }
}

#[test]
fn rewrites_go_on_to_the_routes_behind() {
    let router = router(vec![
        handle("/b/*", "before"),
        rewrite("/a/*", "/b/*"),
        handle("/b/x/*", "x"),
        rewrite("/b/*", "/c/*"),
        rewrite("/swap/*/*", "/c/*-*"),
        rewrite("/up*", "/c/d/*"),
        handle("/c/*", "behind"),
        handle("/*", "rest"),
    ]);
    let cases = [
        ("/b/1", 200, "before /b/1"),
        ("/a/1", 200, "behind /c/1"),
        ("/a/x/1", 200, "x /b/x/1"),
        ("/a/1?q=/b/", 200, "behind /c/1?q=/b/"),
        ("/a/1?", 200, "behind /c/1?"),
        ("/swap/1/2/3", 200, "behind /c/1-2/3"),
        ("/a/%C3%A4%20%3F%23%25", 200, "behind /c/%C3%A4%20%3F%23%25"),
        ("http://h/a/1?q", 200, "behind http://h/c/1?q"),
        ("/%61/%2561", 200, "behind /c/%2561"),
        // A rewrite makes a path that is cleaned again, so that none of it comes around the routes behind.
        ("/up../d/1", 200, "behind /c/d/1"),
        ("/up../../1", 200, "rest /up../../1"),
        ("/up/x", 200, "behind /c/d/x"),
        ("/other?/a/", 200, "rest /other?/a/"),
    ];
    for (target, status, text) in cases {
        let asked = get(&router, target);
        assert_eq!((asked.status, asked.text.as_str()), (status, text), "{target}");
    }
}

#[test]
fn fixed_responses() {
    let text = FixedResponse::new(200).unwrap().with_body("ok\n", "text/plain").unwrap();
    let router = router::<crate::support::Named>(vec![
        Route::new("/ok".parse().unwrap(), Action::Respond(text)),
        respond("/empty", 204),
        respond("/gone", 410),
    ]);
    let cases = [
        ("GET", "/ok", 200, "ok\n", Some("text/plain")),
        ("POST", "/ok", 200, "ok\n", Some("text/plain")),
        // The server leaves out the body, and says its length.
        ("HEAD", "/ok", 200, "ok\n", Some("text/plain")),
        ("GET", "/empty", 204, "", None),
        ("GET", "/gone", 410, "410 Gone\n", Some("text/plain; charset=utf-8")),
    ];
    for (method, target, status, text, media_type) in cases {
        let asked = answer(&router, request(method, target, None));
        assert_eq!((asked.status, asked.text.as_str()), (status, text), "{method} {target}");
        assert_eq!(asked.field("content-type"), media_type, "{method} {target}");
    }
}

#[test]
fn requests_about_no_path() {
    let router = router(vec![respond("/fixed", 200), handle("/*", "all")]);
    let asked = answer(&router, request("OPTIONS", "*", None));
    assert_eq!((asked.status, asked.text.as_str()), (200, "all *"));
    assert_eq!(answer(&router, request("CONNECT", "example.com:443", None)).status, 501);
    // RFC 8441: CONNECT with a path. A fixed 200 would make a tunnel of it.
    for (path, status) in [("/fixed", 501), ("/other", 200)] {
        let mut asked = request("GET", path, None);
        asked.method = serow_message::Method::CONNECT;
        assert_eq!(answer(&router, asked).status, status, "{path}");
    }
}

#[test]
fn requests_that_a_handler_cannot_answer_go_on_to_the_next_routes() {
    let router = router(vec![
        rewrite("/old/*", "/new/*"),
        attempt("/*", "files").headers(&[("x-from", "files")]),
        attempt("/new/*", "more files"),
        handle("/new/*", "new"),
        handle("/api", "api").methods(&["GET"]),
        handle("/form", "form").methods(&["POST"]),
        redirect("/away", "/there", 302),
    ]);
    // The files that there are, and which handlers were tried before the response.
    let files = [("files", "/a.css"), ("files", "/new/b.css"), ("more files", "/new/c.css")];
    let cases = [
        ("GET", "/a.css", "files /a.css", &["files"][..]),
        ("GET", "/old/b.css", "files /new/b.css", &["files"]),
        ("GET", "/old/c.css", "more files /new/c.css", &["files", "more files"]),
        ("GET", "/old/d.css?q", "new /new/d.css?q", &["files", "more files"]),
        ("GET", "/api", "api /api", &["files"]),
        ("GET", "/missing", "404 Not Found\n", &["files"]),
        ("POST", "/api", "405 Method Not Allowed\n", &["files"]),
        ("GET", "/away", "302 Found\n", &["files"]),
    ];
    for (method, target, expected, tried) in cases {
        let mut attempts = Vec::new();
        let mut request = request(method, target, None);
        let routed = router.route(&mut request, |handler, request| {
            attempts.push(handler.0);
            let path = request.target.path();
            files.contains(&(handler.0, path)).then(|| Response::text(format!("{} {path}", handler.0)))
        });
        let (response, is_attempt) = match routed {
            Routed::Answer { response, .. } | Routed::Attempt { response, .. } => (response, true),
            Routed::Handler { handler, .. } => (now(handler.call(request)), false),
        };
        let allow = response.headers.get_str("allow").map(str::to_owned);
        let from = response.headers.get_str("x-from").map(str::to_owned);
        let body = now(response.body.collect(1 << 20)).unwrap();
        assert_eq!((std::str::from_utf8(&body).unwrap(), &attempts[..]), (expected, tried), "{method} {target}");
        assert_eq!(from.is_some(), is_attempt && expected.starts_with("files"), "{method} {target}");
        assert_eq!(allow.as_deref(), (method == "POST").then_some("GET, HEAD"), "{method} {target}");
    }
}

#[test]
fn a_request_gets_the_header_changes_of_its_route_without_a_reference_that_workers_share() {
    let router = router(vec![handle("/*", "all").headers(&[("X-From", "route")])]);
    let routed = router.route(&mut request("GET", "/a", None), |_, _| None);
    let Routed::Handler { headers, .. } = routed else { panic!("{routed:?}") };
    assert!(matches!(headers, Cow::Borrowed(_)), "{headers:?}");
    assert!(!headers.is_empty());
}

#[test]
fn the_routers_of_workers_share_no_memory_of_their_answers() {
    let original = router(vec![respond("/fixed", 410)]);
    let worker = original.clone();
    let place = |router: &Router<Named>| {
        let mut request = request("GET", "/fixed", None);
        let routed = router.route(&mut request, |_, _| None);
        let Routed::Answer { response, .. } = routed else { panic!("{routed:?}") };
        let BodyKind::Bytes(body) = response.body.into_kind() else { panic!("no bytes") };
        (response.headers, body)
    };
    // All of them live until the end, so that no place is used twice.
    let (first, second, other) = (place(&original), place(&original), place(&worker));
    let of = |(headers, body): &(Headers, Bytes)| {
        (headers.get("content-type").unwrap().as_ptr() as usize, body.as_ptr() as usize)
    };
    assert_eq!(of(&first), of(&second));
    assert_ne!(of(&first).0, of(&other).0);
    assert_ne!(of(&first).1, of(&other).1);
    assert_eq!(first.1, other.1);
}
