//! Rewrites of a route whose handler alone gets the new path.

use serow_message::{ClientTarget, Response};
use serow_router::{Action, HeaderChanges, RewriteTarget, Route, Routed, Router, RouterError, Site};
use serow_variables::Scope;

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
