//! Rewrites of a route whose handler alone gets the new path.

use serow_message::{ClientTarget, Response};
use serow_router::{
    Action, Conditions, HeaderChanges, Networks, PathPattern, RewriteLoop, RewriteTarget, Route, Routed, Router,
    RouterError, Site,
};
use serow_variables::{Letters, Scope, ValuePatterns};

use crate::support::{Named, With, answer, attempt, get, handle, request, rewrite, router};

/// A route whose handler gets another path.
fn own(route: Route<Named>, to: &str) -> Route<Named> {
    let scope = Scope::default().of_stars(route.path.stars());
    Route { rewrite: Some(RewriteTarget::with_variables(to, &scope).unwrap()), ..route }
}

#[test]
fn the_handler_of_a_route_gets_its_own_path() {
    let scope = Scope::default().of_stars(1);
    let headers = HeaderChanges::with_variables([("X-Seen", "$1 $uri $request_uri $args")], &scope).unwrap();
    let router = router(vec![
        Route { headers, ..own(handle("/seen/*", "seen"), "/s/$1?v=$1") },
        own(handle("/api/*", "api"), "/$1"),
        own(handle("/star/*", "star"), "/s/*"),
        own(handle("/query/*", "query"), "/q?path=$1&$args"),
        own(handle("/up*", "up"), "/$1"),
        rewrite("/first/*", "/then/*"),
        own(handle("/then/*", "then"), "$uri.html"),
        handle("/*", "rest"),
    ]);
    for (target, text) in [
        ("/api/users?x=1", "api /users?x=1"),
        ("/api/", "api /"),
        ("/api/%C3%A4%20%3F", "api /%C3%A4%20%3F"),
        ("/api//x/../y", "api /y"),
        ("/star/a/b", "star /s/a/b"),
        ("/query/a%26b?c", "query /q?path=a%26b&c"),
        ("/query/a", "query /q?path=a"),
        ("/first/1?q", "then /then/1.html?q"),
        ("http://h/api/x", "api http://h/x"),
        ("/users", "rest /users"),
    ] {
        assert_eq!(get(&router, target).text, text, "{target}");
    }
    // No path that climbs reaches a handler.
    assert_eq!(get(&router, "/up../x").status, 400);
    let seen = get(&router, "/seen/a%20b?q");
    assert_eq!(
        (seen.field("x-seen"), &*seen.text),
        (Some("a b /s/a b /seen/a%20b?q v=a%20b"), "seen /s/a%20b?v=a%20b")
    );
}

#[test]
fn routes_behind_an_attempt_get_the_path_that_it_got() {
    let router = router(vec![
        own(attempt("/docs/*", "files"), "/$1.html?own"),
        rewrite("/docs/moved/*", "/docs/*"),
        own(attempt("/docs/*", "second"), "/2/$1"),
        handle("/*", "rest"),
    ]);
    let routed = |target: &str, found: &str| {
        let (mut request, mut tried) = (request("GET", target, None), Vec::new());
        let routed = router.route(&mut request, |handler, request| {
            tried.push(format!("{} {}", handler.0, request.target));
            (handler.0 == found).then(Response::default)
        });
        let name = match routed {
            Routed::Handler { handler, .. } | Routed::Attempt { handler, .. } => handler.0,
            Routed::Answer { .. } => "answer",
        };
        (name, request.target.to_string(), ClientTarget::of(&request).to_string(), tried.join(", "))
    };
    let client = "/docs/moved/a?q".to_owned();
    let tried = "files /moved/a.html?own";
    assert_eq!(
        routed(&client, ""),
        ("rest", "/docs/a?q".to_owned(), client.clone(), format!("{tried}, second /2/a?q"))
    );
    assert_eq!(routed(&client, "files"), ("files", "/moved/a.html?own".to_owned(), client.clone(), tried.to_owned()));
    assert_eq!(
        routed(&client, "second"),
        ("second", "/2/a?q".to_owned(), client.clone(), format!("{tried}, second /2/a?q"))
    );
}

#[test]
fn a_method_is_refused_by_the_path_of_the_client() {
    let router = router(vec![own(handle("/api/*", "api"), "/$1").methods(&["POST"]), handle("/users", "users")]);
    let refused = answer(&router, request("GET", "/api/users", None));
    assert_eq!((refused.status, refused.field("allow")), (405, Some("POST")));
}

#[test]
fn a_path_cannot_have_more_stars_than_its_route() {
    let route = |to: &str| Route { rewrite: Some(to.parse().unwrap()), ..handle("/a/*", "a") };
    let router = |to: &str| Router::new(vec![Site::new(vec![route(to)])]).map(drop);
    assert_eq!(router("/b/*"), Ok(()));
    assert_eq!(router("/b/*/*"), Err(RouterError::Stars { site: 0, route: 0, stars: 1 }));
}

#[test]
fn a_route_with_an_own_path_hides_others_as_any_route() {
    let route = Route::<Named>::new("/a/*".parse().unwrap(), Action::Handle(Named("a")));
    let twice = Router::new(vec![Site::new(vec![own(route.clone(), "/x"), route])]);
    assert_eq!(twice.map(drop), Err(RouterError::Unreachable { site: 0, route: 1, earlier: 0 }));
}

fn restart(path: &str, to: &str) -> Route<Named> {
    let pattern: PathPattern = path.parse().unwrap();
    let target = RewriteTarget::with_variables(to, &Scope::default().of_stars(pattern.stars())).unwrap();
    Route::new(pattern, Action::Restart(target))
}

fn internal(route: Route<Named>) -> Route<Named> {
    Route { internal: true, ..route }
}

#[test]
fn a_restart_tries_all_routes_again_and_internal_ones_too() {
    let query = |value: &str| {
        let patterns = ValuePatterns::parse(&[value], Letters::Exact).unwrap();
        Conditions { arguments: vec![("v".to_owned(), patterns)], ..Conditions::default() }
    };
    let router = router(vec![
        handle("*.php", "php"),
        internal(rewrite("/hidden/*", "/inside/*")),
        internal(handle("/inside/*", "inside")),
        Route { conditions: query("2"), ..handle("/q", "two") },
        handle("/named", "named").methods(&["POST"]),
        restart("/in/*", "/inside/$1"),
        restart("/hide/*", "/hidden/$1"),
        restart("/query/*", "/q?v=$1"),
        restart("/post", "/named"),
        restart("/twice/*", "/in/$1"),
        handle("/inside/*", "outside"),
        restart("/*", "/index.php?$args"),
    ]);
    for (target, text) in [
        ("/a.php?x", "php /a.php?x"),
        ("/shop/1?x=y", "php /index.php?x=y"),
        ("/shop/1", "php /index.php"),
        ("/in/a%20b", "inside /inside/a%20b"),
        ("/hide/a", "inside /inside/a"),
        ("/twice/a?q", "inside /inside/a?q"),
        ("/query/2", "two /q?v=2"),
        ("/query/3", "php /index.php?v=3"),
        // Clients do not come to internal routes.
        ("/inside/a", "outside /inside/a"),
        ("/hidden/a", "php /index.php"),
        ("/in/../inside/a", "outside /in/../inside/a"),
    ] {
        assert_eq!(get(&router, target).text, text, "{target}");
    }
    assert_eq!(answer(&router, request("POST", "/post", None)).text, "named /named");
    let mut inside = request("GET", "/inside/a", None);
    let Some(Routed::Handler { handler, .. }) = router.route_inside(None, &mut inside, |_, _| None) else {
        panic!("no handler")
    };
    assert_eq!(handler.0, "inside");
}

#[test]
fn a_client_sees_no_difference_between_an_internal_route_and_none() {
    let router = router(vec![internal(handle("/inside/*", "inside")), restart("/in/*", "/inside/$1")]);
    for method in ["GET", "POST", "OPTIONS"] {
        for path in ["/inside/a", "/other"] {
            let refused = answer(&router, request(method, path, None));
            assert_eq!((refused.status, refused.field("allow")), (404, None), "{method} {path}");
        }
    }
}

#[test]
fn rewrites_that_lead_in_a_circle_end() {
    let conditions = || Conditions { clients: Networks::parse(&["!10.0.0.0/8"]).unwrap(), ..Conditions::default() };
    let when = |route: Route<Named>| Route { conditions: conditions(), ..route };
    let routes = |methods: &[&str]| {
        vec![
            when(restart("/a", "/b")).methods(methods),
            when(attempt("/*", "files")),
            when(restart("/b", "/a")).methods(methods),
            when(restart("/grow/*", "/grow/x$uri")),
            restart("/variable/*", "$uri$arg_x"),
            handle("/end", "end"),
        ]
    };
    let looping = router(routes(&[]));
    for path in ["/a", "/b", "/grow/1", "/variable/1"] {
        let (mut request, mut attempts) = (request("GET", path, None), 0);
        let routed = looping.route(&mut request, |_, _| {
            attempts += 1;
            None
        });
        let Routed::Answer { mut response, handler: None } = routed else { panic!("{path}: {routed:?}") };
        assert_eq!(response.status, 500, "{path}");
        let RewriteLoop { route } = response.extensions.remove().unwrap();
        let expected = if path.len() == 2 { path.to_owned() } else { path.replace('1', "*") };
        assert_eq!(route, expected, "{path}");
        // Each attempt leaves the request to the next routes, and none starts the count again.
        assert!((5..=11).contains(&attempts), "{path}: {attempts}");
    }
    assert_eq!(get(&looping, "/end").text, "end /end");
    // The methods that would be allowed are looked for by the same way.
    let posting = router(routes(&["POST"]));
    let refused = answer(&posting, request("DELETE", "/a", None));
    assert_eq!((refused.status, refused.field("allow")), (404, None));
}

#[test]
fn a_restart_that_leads_to_itself_for_sure_is_refused() {
    let refused = |routes: Vec<Route<Named>>| match Router::new(vec![Site::new(routes)]) {
        Err(RouterError::RestartLoop { route, .. }) => Some(route),
        other => other.map(|_| None).unwrap(),
    };
    let on_v = || {
        let patterns = ValuePatterns::parse(&["1"], Letters::Exact).unwrap();
        Conditions { arguments: vec![("v".to_owned(), patterns)], ..Conditions::default() }
    };
    for (routes, expected) in [
        (vec![restart("/*", "/index.php?$args")], Some(0)),
        (vec![handle("/x", "x"), restart("/a/*", "/b/$1"), restart("/b/*", "/a/$1")], Some(1)),
        (vec![restart("/a/*", "/a/x$uri")], Some(0)),
        (vec![handle("*.php", "php"), restart("/*", "/index.php?$args")], None),
        (vec![restart("/a/*", "/b/$1"), handle("/b/*", "b")], None),
        (vec![internal(handle("/b/*", "b")), restart("/*", "/b$uri")], None),
        // A folder may have the file, a condition may fail, and a client may send another path.
        (vec![attempt("/*", "files"), restart("/*", "/index.html")], None),
        (vec![Route { conditions: on_v(), ..restart("/*", "/a") }], None),
        (vec![restart("/*", "/$arg_page")], None),
        (vec![restart("/a", "/b").methods(&["POST"])], None),
    ] {
        let shown = format!("{routes:?}");
        assert_eq!(refused(routes), expected, "{shown}");
    }
}
