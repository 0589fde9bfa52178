//! Sites that can never be reached as they are, or contradict themselves.

use crate::support::{Named, With, attempt, handle, redirect, respond, rewrite, site};
use serow_router::{PathPattern, Route, Router, RouterError, Site};

/// The error of a site with these routes, behind another site.
fn error(routes: Vec<Route<Named>>) -> Option<RouterError> {
    let sites = vec![site(&["other.example"], vec![handle("/*", "other")]), Site::new(routes)];
    Router::new(sites).err()
}

#[test]
fn routes_that_are_never_reached() {
    let unreachable = |route, earlier| Some(RouterError::Unreachable { site: 1, route, earlier });
    let cases = [
        (vec![handle("/a", ""), handle("/a", "")], unreachable(1, 0)),
        (vec![handle("/a", ""), handle("/*", ""), handle("/b", "")], unreachable(2, 1)),
        (vec![handle("/*", ""), respond("*.css", 404)], unreachable(1, 0)),
        (vec![handle("/a/*", ""), redirect("/a/*/b", "/", 301)], unreachable(1, 0)),
        (vec![handle("/*", "").methods(&["GET"]), handle("/a", "").methods(&["HEAD"])], unreachable(1, 0)),
        (vec![handle("/*", ""), rewrite("/a", "/b"), handle("/b", "")], unreachable(1, 0)),
        (vec![rewrite("/a", "/b"), handle("/*", ""), handle("/b", "")], unreachable(2, 1)),
        (vec![attempt("/*", ""), handle("/*", ""), handle("/a", "")], unreachable(2, 1)),
        // Not certain, or not so.
        (vec![attempt("/*", ""), handle("/*", "")], None),
        (vec![handle("/a", ""), handle("/*", "")], None),
        (vec![handle("*.css", ""), handle("/*.css", "")], unreachable(1, 0)),
        (vec![handle("*.css", ""), handle("/a/*", "")], None),
        (vec![handle("/a*", ""), handle("/*a", "")], None),
        (vec![handle("/*", "").methods(&["GET"]), handle("/*", "")], None),
        (vec![handle("/*", "").methods(&["GET"]), handle("/*", "").methods(&["POST"])], None),
        // A rewritten request reaches routes that its first path would never have reached.
        (vec![handle("/b", ""), rewrite("/a", "/b"), handle("/b", "")], None),
        (vec![rewrite("/*", "/x/*"), handle("/x/*", "")], None),
    ];
    for (place, (routes, expected)) in cases.into_iter().enumerate() {
        assert_eq!(error(routes), expected, "case {place}");
    }
}

#[test]
fn a_route_with_several_paths_is_refused_where_one_of_them_is_never_reached() {
    let several = |paths: &[&str], route: Route<Named>| {
        let paths = paths.iter().map(|path| path.parse().unwrap()).collect();
        Route { path: PathPattern::any_of(paths).unwrap(), ..route }
    };
    let unreachable =
        |path: &str| Some(RouterError::UnreachablePath { site: 1, route: 1, path: path.to_owned(), earlier: 0 });
    for (first, second, expected) in [
        (handle("/a", ""), several(&["/a", "/b"], handle("/", "")), unreachable("/a")),
        (handle("/a/*", ""), several(&["/b", "/a/b"], handle("/", "")), unreachable("/a/b")),
        (
            several(&["/a", "/b"], handle("/", "")),
            handle("/b", ""),
            Some(RouterError::Unreachable { site: 1, route: 1, earlier: 0 }),
        ),
        (several(&["/a", "/b"], handle("/", "")), handle("/*", ""), None),
        (
            handle("/c", ""),
            several(&["/a", "/b/*"], redirect("/", "/b/c", 302)),
            Some(RouterError::Loop { site: 1, route: 1 }),
        ),
        (
            handle("/c", ""),
            several(&["/a", "/b/*"], redirect("/", "/d/*", 302)),
            Some(RouterError::Stars { site: 1, route: 1, stars: 0 }),
        ),
    ] {
        let shown = format!("{:?} {:?}", first.path, second.path);
        assert_eq!(error(vec![first, second]), expected, "{shown}");
    }
}

#[test]
fn redirects_of_internal_routes_lead_to_the_other_routes() {
    let sites = || vec![Site::<Named>::new(vec![redirect("/*", "/login", 302)])];
    assert_eq!(Router::new(sites()).err(), Some(RouterError::Loop { site: 0, route: 0 }));
    assert_eq!(Router::of_internal(sites()).err(), None);
}

#[test]
fn redirects_that_lead_to_themselves() {
    let looping = |route| Some(RouterError::Loop { site: 1, route });
    let cases = [
        (vec![redirect("/a", "/a", 301)], looping(0)),
        (vec![redirect("/*", "/maintenance?x#y", 302)], looping(0)),
        (vec![redirect("/*", "/x/../%61#y", 302)], looping(0)),
        (vec![rewrite("/b", "/a"), redirect("/a", "/b", 302)], looping(1)),
        (vec![handle("/x", ""), redirect("/a", "/b", 302), redirect("/b", "/a", 302)], looping(1)),
        (vec![redirect("/*", "/new/*", 302)], looping(0)),
        (vec![redirect("/*", "/*/", 302)], looping(0)),
        (vec![redirect("*.css", "{path}", 302)], looping(0)),
        (vec![redirect("/**", "{path}{path}*{path}*", 302)], looping(0)),
        (vec![redirect("/a/*", "/b/*", 302), redirect("/b/*", "/a/x/*", 302)], looping(0)),
        (vec![respond("/maintenance", 503), redirect("/*", "/maintenance", 302)], None),
        (vec![attempt("/*", ""), redirect("/a", "/a", 302)], looping(1)),
        (vec![handle("/new/*", ""), redirect("/*", "/new/*", 302)], None),
        (vec![handle("/x/x/x/*", ""), redirect("/*", "/x/*", 302)], None),
        (vec![handle("*/", ""), redirect("/*", "/*/", 302)], None),
        (vec![redirect("/*/*", "/*", 302)], None),
        (vec![redirect("/*", "/{host}/*", 302)], None),
        (vec![redirect("/*", "//www.example.com/*", 302)], None),
        (vec![redirect("/a", "/A", 302)], None),
        (vec![redirect("/a", "/b", 302), redirect("/b", "/c", 302)], None),
        (vec![redirect("/form", "/form", 303).methods(&["POST"]), handle("/form", "")], None),
        (vec![redirect("/*", "https://www.example.com/", 302)], None),
        (vec![redirect("/*", "/..", 302)], None),
    ];
    for (place, (routes, expected)) in cases.into_iter().enumerate() {
        assert_eq!(error(routes), expected, "case {place}");
    }
}

#[test]
fn each_in_a_line_that_says_what_to_do() {
    let cases = [
        (
            vec![handle("/*", ""), handle("/a", "")],
            "site 2, route 2 is never reached: route 1 takes all its requests; put it before that one, or remove it",
        ),
        (
            vec![redirect("/a", "/b/*", 301)],
            "site 2, route 1: the path has no star that could fill those of the destination: write one, or leave them out",
        ),
        (
            vec![handle("/x", ""), rewrite("/a/*", "/b/*/*"), handle("/b/*", "")],
            "site 2, route 2: the destination has more stars than the path, which has 1: leave out the others",
        ),
        (
            vec![redirect("/*", "/a", 301)],
            "site 2, route 1: the redirect leads to itself: put a route for its destination before it, or name another",
        ),
        (
            vec![handle("/x", ""), rewrite("/a", "/b")],
            "site 2, route 2: a rewrite goes on to the routes behind it, and there is none: put one behind it",
        ),
        (
            vec![rewrite("/a", "/b").headers(&[("A", "b")]), handle("/x", "")],
            "site 2, route 1: a rewrite makes no response: set the headers in the route that makes it",
        ),
        (
            vec![handle("/x", ""), attempt("/*", "")],
            "site 2, route 2: missing files are left to the next route, and there is none: put one behind it, or leave \
             out `missing`",
        ),
        (
            vec![attempt("/*", "").methods(&["POST"]), handle("/*", "")],
            "site 2, route 1: files are only served with GET and HEAD: leave out `methods`",
        ),
    ];
    for (routes, expected) in cases {
        let error = error(routes).unwrap();
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.site(), 1);
        assert_eq!(error.route().map(|route| format!("route {}", route + 1)), Some(expected[8..15].to_owned()));
    }
}

#[test]
fn hosts_of_two_sites() {
    let sites = vec![site::<Named>(&["a.example"], vec![]), site(&["b.example", "A.example."], vec![])];
    let error = Router::new(sites).unwrap_err();
    assert_eq!((error.site(), error.route()), (1, None));
    assert_eq!(error, RouterError::HostTwice { site: 1, host: "a.example".parse().unwrap(), earlier: 0 });
}

#[test]
fn a_site_without_routes_misses_everything() {
    let router = Router::<Named>::new(vec![Site::new(Vec::new())]).unwrap();
    assert_eq!(crate::support::get(&router, "/").status, 404);
}
