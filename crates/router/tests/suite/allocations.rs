//! Allocations of a request: none, where it is neither rewritten nor redirected.

use std::{
    future::{Future, ready},
    path::Path,
};

use crate::support::{With, redirect, request, respond, rewrite, router, site};
use serow_message::{Handler, Request, Response, Scheme};
use serow_router::{Action, Conditions, FileConditions, HeaderChanges, HostPatterns, Networks, Route, Router, Site};
use serow_variables::{Letters, Scope, Text, ValuePatterns};

/// A handler that allocates nothing.
#[derive(Clone)]
struct Nothing;

impl Handler for Nothing {
    fn call(&self, _: Request) -> impl Future<Output = Response> + 'static {
        ready(Response::default())
    }
}

fn handle(path: &str) -> Route<Nothing> {
    Route::new(path.parse().unwrap(), Action::Handle(Nothing))
}

/// How often memory is taken to answer this request.
fn allocations(router: &Router<Nothing>, target: &str, host: &str) -> u64 {
    let mut requests = Some(request("GET", target, Some(host)));
    let counted = allocation_counter::measure(|| {
        let response = requests.take().map(|request| crate::support::now(router.call(request)));
        assert!(response.is_some());
    });
    counted.count_total
}

#[test]
fn where_memory_is_taken() {
    let headers = HeaderChanges::new([("X-Frame-Options", "DENY")]).unwrap();
    let all = || {
        vec![
            respond("/fixed", 410),
            redirect("/old/*", "/new/*", 301),
            rewrite("/icon/*", "/static/*.png"),
            handle("/post").methods(&["POST"]),
            handle("/a/*/b/*.c"),
            handle("*.html"),
            handle("/static/*"),
        ]
    };
    let router = Router::new(vec![
        site(&["example.com", "*.example.com", "[::1]"], all()),
        Site {
            headers,
            ..site(&["headers.example"], vec![respond("/fixed", 200), handle("/post").methods(&["POST"])])
        },
    ]);
    let router = router.unwrap();
    let none = [
        ("/a/x/b/y.c", "example.com"),
        ("/a/x/b/y.c?q", "EXAMPLE.com.:80"),
        ("/x.html", "a.b.c.d.e.f.example.com"),
        ("/static/x", "[0::1]:80"),
        ("/%73tatic/../static//%C3%A4", "example.com"),
        ("/fixed", "example.com"),
        ("/fixed", "headers.example"),
        ("/missing", "headers.example"),
        ("/%", "example.com"),
        ("/", "other.example"),
        ("/", "headers.example.evil"),
    ];
    for (target, host) in none {
        assert_eq!(allocations(&router, target, host), 0, "{target} {host}");
    }
    for target in ["/old/x", "/icon/x", "/post"] {
        assert!(allocations(&router, target, "example.com") > 0, "{target}");
    }
}

#[test]
fn expressions_and_conditions_take_no_memory() {
    let patterns = |texts: &[&str]| ValuePatterns::parse(texts, Letters::AnyCase).unwrap();
    let conditions = Conditions {
        path: Some("^/users/(?<id>[0-9]+)$".parse().unwrap()),
        fields: vec![("host".to_owned(), patterns(&["EXAMPLE.*", "!~^a"]))],
        cookies: vec![("beta".to_owned(), patterns(&["!*"]))],
        arguments: vec![("v".to_owned(), patterns(&["2 *"]))],
        texts: vec![(Text::parse("$scheme $host", &Scope::default()).unwrap(), patterns(&["http *"]))],
        clients: Networks::parse(&["!10.0.0.0/8"]).unwrap(),
        scheme: Some(Scheme::Http),
        hosts: HostPatterns::parse(&["example.com"]).unwrap(),
        files: FileConditions::parse(&["/none$uri", "/"], Path::new(""), &Scope::default()).unwrap(),
    };
    let router = router(vec![Route { conditions, ..handle("/*") }, respond("/*", 404)]);
    // The first request makes the automata of this thread.
    for first in [true, false] {
        for target in ["/users/17?v=2%20x", "/users/17?v=3", "/users/x"] {
            let taken = allocations(&router, target, "example.com");
            assert!(first || taken == 0, "{target}: {taken}");
        }
    }
}

#[test]
fn a_path_that_is_long_and_unclean_takes_memory_once() {
    let router = router(vec![handle("/*")]);
    let long = format!("/{}/%61", "a".repeat(600));
    assert_eq!(allocations(&router, &long.replace("%61", "a"), "h"), 0);
    assert!(allocations(&router, &long, "h") > 0);
}
