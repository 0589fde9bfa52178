//! What a request costs in memory: nothing, where it is neither rewritten nor redirected.

use std::future::{Future, ready};

use crate::support::{With, redirect, request, respond, rewrite, router, site};
use serow_message::{Handler, Request, Response};
use serow_router::{Action, HeaderChanges, Route, Router, Site};

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
fn a_path_that_is_long_and_unclean_takes_memory_once() {
    let router = router(vec![handle("/*")]);
    let long = format!("/{}/%61", "a".repeat(600));
    assert_eq!(allocations(&router, &long.replace("%61", "a"), "h"), 0);
    assert!(allocations(&router, &long, "h") > 0);
}
