//! Routes with expressions and conditions, and variables in what they answer.

use std::sync::Arc;

use crate::support::{Answer, Named, With, answer, attempt, get, handle, redirect, request, respond, router, site};
use serow_message::{Body, Connection, Network, Peer, Request, RequestHead, Scheme};
use serow_router::{
    Action, Conditions, FileConditions, FixedResponse, HeaderChanges, HostPatterns, Networks, Redirect, RewriteTarget,
    Route, Router, RouterError, Site,
};
use serow_variables::{Expression, Letters, MapEntries, MapTable, Maps, Scope, Text, ValuePatterns};

fn expression(text: &str) -> Expression {
    text.parse().unwrap()
}

/// A route for paths that match an expression.
fn expressed(text: &str, name: &'static str) -> Route<Named> {
    when(handle("/*", name), Conditions { path: Some(expression(text)), ..Conditions::default() })
}

fn when(route: Route<Named>, conditions: Conditions) -> Route<Named> {
    Route { conditions, ..route }
}

fn patterns(texts: &[&str], letters: Letters) -> ValuePatterns {
    ValuePatterns::parse(texts, letters).unwrap()
}

fn field(name: &str, texts: &[&str]) -> Conditions {
    let fields = vec![(name.to_owned(), patterns(texts, Letters::AnyCase))];
    Conditions { fields, ..Conditions::default() }
}

/// A request with fields, from a client.
fn asked(target: &str, fields: &[(&str, &str)], client: &str, scheme: Scheme) -> Request {
    let mut plain = request("GET", target, None);
    for (name, value) in fields {
        plain.headers.append(*name, *value).unwrap();
    }
    let head = RequestHead {
        method: plain.method.clone(),
        target: plain.target.clone(),
        version: plain.version,
        headers: plain.headers.clone(),
    };
    let peer = client.parse().map_or(Peer::Unix, |address| Peer::Tcp(std::net::SocketAddr::new(address, 4711)));
    Request::new(head, Body::empty(), Connection::new(peer, None, scheme))
}

#[test]
fn expressions_match_the_clean_path() {
    let router = router(vec![
        expressed("^/users/(?<id>[0-9]+)$", "user"),
        expressed(r"\.php$", "php").methods(&["GET"]),
        handle("/*", "rest").methods(&["GET"]),
    ]);
    for (target, expected) in [
        ("/users/17", "user"),
        ("/%75sers/../users//17?x", "user"),
        ("/users/17x", "rest"),
        ("/users/%0A17", "rest"),
        ("/a.php", "php"),
        ("/a.ph%70", "php"),
        ("/a.php/b", "rest"),
        ("/a?b.php", "rest"),
    ] {
        assert_eq!(get(&router, target).field("x-handler"), Some(expected), "{target}");
    }
    // 405 where a route takes the path with another method, and only there.
    let strict = crate::support::router(vec![expressed("^/a$", "a").methods(&["POST"]), handle("/b", "b")]);
    assert_eq!((get(&strict, "/a").status, get(&strict, "/a").field("allow")), (405, Some("POST")));
    assert_eq!(get(&strict, "/c").status, 404);
}

#[test]
fn all_conditions_must_hold() {
    let conditions = Conditions {
        fields: vec![("accept-language".to_owned(), patterns(&["de*", "at"], Letters::AnyCase))],
        cookies: vec![("beta".to_owned(), patterns(&["1"], Letters::Exact))],
        arguments: vec![("v".to_owned(), patterns(&["2 b"], Letters::Exact))],
        clients: Networks::parse(&["10.0.0.0/8", "!10.1.0.0/16"]).unwrap(),
        scheme: Some(Scheme::Https),
        hosts: HostPatterns::parse(&["*.example.com", "!www.example.com"]).unwrap(),
        ..Conditions::default()
    };
    let router = router(vec![when(handle("/*", "special"), conditions), handle("/*", "rest")]);
    let fields = [("Accept-Language", "DE-at,en"), ("Cookie", "a=b; beta=1"), ("Host", "a.Example.com:443")];
    let right = ("/?x=1&v=2+%62", fields, "10.2.0.1", Scheme::Https);
    let changed = |place: usize, name: &'static str, value: &'static str| {
        let mut fields = fields;
        fields[place] = (name, value);
        fields
    };
    let cases = [
        (right, "special"),
        (("/?v=x&v=2%20b", fields, right.2, right.3), "special"),
        (("/?v=2", fields, right.2, right.3), "rest"),
        (("/", fields, right.2, right.3), "rest"),
        (("/?v=2+b", changed(0, "accept-language", "en"), right.2, right.3), "rest"),
        (("/?v=2+b", changed(0, "accept-charset", "de"), right.2, right.3), "rest"),
        (("/?v=2+b", changed(1, "cookie", "beta=1x"), right.2, right.3), "rest"),
        (("/?v=2+b", changed(1, "cookie", "Beta=1"), right.2, right.3), "rest"),
        (("/?v=2+b", changed(2, "host", "example.com"), right.2, right.3), "rest"),
        (("/?v=2+b", changed(2, "host", "www.example.com"), right.2, right.3), "rest"),
        (("/?v=2+b", fields, "10.1.2.3", Scheme::Https), "rest"),
        (("/?v=2+b", fields, "192.0.2.1", Scheme::Https), "rest"),
        (("/?v=2+b", fields, "unix", Scheme::Https), "rest"),
        (("/?v=2+b", fields, "::ffff:10.2.0.1", Scheme::Https), "special"),
        (("/?v=2+b", fields, "10.2.0.1", Scheme::Http), "rest"),
    ];
    for ((target, fields, client, scheme), expected) in cases {
        let answer = answer(&router, asked(target, &fields, client, scheme));
        assert_eq!(answer.field("x-handler"), Some(expected), "{target} {fields:?} {client} {scheme:?}");
    }
    assert!(Network::Unix.contains_peer(Peer::Unix));
}

#[test]
fn conditions_see_what_the_path_of_their_route_matched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.html"), "").unwrap();
    let scope = Scope::default().of_stars(1);
    let files = FileConditions::parse(&["./$1.html"], folder.path(), &scope).unwrap();
    let texts = vec![(Text::parse("$1", &scope).unwrap(), patterns(&["b"], Letters::Exact))];
    let expression = expression("^/users/(?<id>[a-z]+)$");
    let scope = Scope::default().of_expression(&expression);
    let named = FileConditions::parse(&["./$id.html"], folder.path(), &scope).unwrap();
    let router = router(vec![
        when(handle("/cache/*", "file"), Conditions { files, ..Conditions::default() }),
        when(handle("/cache/*", "text"), Conditions { texts, ..Conditions::default() }),
        when(handle("/*", "group"), Conditions { path: Some(expression), files: named, ..Conditions::default() }),
        handle("/*", "rest"),
    ]);
    for (path, expected) in [
        ("/cache/a", "file"),
        ("/cache/b", "text"),
        ("/cache/c", "rest"),
        ("/cache/x/%2e%2e/a", "file"),
        ("/users/a", "group"),
        ("/users/b", "rest"),
    ] {
        assert_eq!(get(&router, path).field("x-handler"), Some(expected), "{path}");
    }
}

#[test]
fn conditions_hide_no_route_unless_they_are_the_same() {
    let german = || field("accept-language", &["de*"]);
    let unreachable = Some(RouterError::Unreachable { site: 0, route: 1, earlier: 0 });
    let cases = [
        (vec![when(handle("/*", "a"), german()), handle("/*", "b")], None),
        (vec![when(handle("/*", "a"), german()), when(handle("/a", "b"), german())], unreachable.clone()),
        (vec![when(handle("/*", "a"), german()), when(handle("/*", "b"), field("accept-language", &["en*"]))], None),
        (vec![handle("/*", "a"), when(handle("/a", "b"), german())], unreachable.clone()),
        (vec![expressed("^/a", "a"), expressed("^/a", "b")], unreachable.clone()),
        (vec![expressed("^/a", "a"), expressed("^/b", "b"), handle("/*", "c")], None),
        (vec![handle("/*", "a"), expressed("^/a", "b")], unreachable),
        (vec![expressed("^/", "a"), redirect("/a", "/a", 302)], None),
        (vec![attempt("/*", "a"), expressed("^/", "b")], None),
        (
            vec![Route { conditions: expressed("^/(a)", "").conditions, ..redirect("/*", "/*", 302) }],
            Some(RouterError::Stars { site: 0, route: 0, stars: 0 }),
        ),
    ];
    for (number, (routes, expected)) in cases.into_iter().enumerate() {
        assert_eq!(Router::new(vec![Site::new(routes)]).err(), expected, "case {number}");
    }
}

fn maps() -> Arc<Maps> {
    let values = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let table = |from: &str, to: &str, pairs, default: &str| MapTable {
        from: from.to_owned(),
        to: to.to_owned(),
        entries: MapEntries::Values(values(pairs)),
        default: default.to_owned(),
    };
    let moved = table("$uri", "moved", &[("/old", "/new?a=b"), ("/other", "https://other.example/")], "/");
    let kind = table("$http_user_agent", "kind", &[("*curl*", "cli")], "$http_user_agent");
    let groups = [("~^/articles/(?<rest>.*)$", "/a/$rest"), ("~^/up(.*)$", "/$1")];
    let mapped = table("$uri$arg_more", "mapped", &groups, "");
    Arc::new(Maps::new(&[moved, kind, mapped]).unwrap())
}

fn scope() -> Scope {
    Scope::new(maps()).of_site("a.example")
}

/// The location that a redirect of `/*` and of an expression with a group `id` leads to.
fn location(to: &str, target: &str, fields: &[(&str, &str)]) -> Result<String, String> {
    let by_path = Redirect::with_variables(to, 302, &scope().of_stars(1));
    let redirect = by_path.map_err(|error| error.to_string())?;
    let router = router(vec![Route::<Named>::new("/*".parse().unwrap(), Action::Redirect(redirect))]);
    let answer = answer(&router, asked(target, fields, "192.0.2.1", Scheme::Https));
    Ok(answer.field("location").map_or_else(|| answer.status.to_string(), str::to_owned))
}

#[test]
fn redirects_with_variables() {
    let host = [("host", "A.Example:81")];
    for (to, target, expected) in [
        ("https://$host$request_uri", "/a%2Fb?c=%20", "https://a.example/a%2Fb?c=%20"),
        (
            "$scheme://www.example.com$request_uri",
            "//evil.example/\u{e4}",
            "https://www.example.com//evil.example/%C3%A4",
        ),
        ("https://$host$request_uri", "http://x.example?q", "https://x.example/?q"),
        ("https://${server_name}:8443$uri", "/a%20b?q", "https://a.example:8443/a%20b?q"),
        ("/x$uri", "/a/../b?q", "/x/b?q"),
        ("/x$uri$is_args$args", "/a?q&r", "/x/a?q&r"),
        ("/x$uri$is_args$args", "/a", "/x/a"),
        ("/x?v=1&$args", "/a?q", "/x?v=1&q"),
        ("/x?v=1&$args", "/a", "/x?v=1"),
        ("/x?$args", "/a", "/x"),
        ("/n/$1?from=$uri", "/a b?q".replace(' ', "%20").leak(), "/n/a%20b?from=/a%20b"),
        ("$request_uri", "//evil.example", "/evil.example"),
        ("$request_uri", "/\\evil.example", "/%5Cevil.example"),
        ("/$arg_to", "/?to=/evil.example", "/evil.example?to=/evil.example"),
        ("/$arg_to", "/?to=%2F%5Cevil%0D%0Ax:y", "/%5Cevil%0D%0Ax:y?to=%2F%5Cevil%0D%0Ax:y"),
        ("/?next=$arg_to", "/?to=%2Fa%26b", "/?next=%2Fa%26b"),
        ("/?agent=$http_user_agent", "/", "/?agent=a%26b%20%24uri"),
        ("$moved", "/old?x", "/new?a=b"),
        ("$moved", "/other", "https://other.example/"),
        ("https://h/5$$", "/", "https://h/5$"),
        // Groups of a map are values that a client has chosen.
        ("$mapped", "/articles/x%20y%3F?q", "/a/x%20y%3F?q"),
        ("$mapped", "/up/evil.example", "/evil.example"),
        ("$mapped", "/up%5Cevil.example", "/%5Cevil.example"),
        ("$mapped", "/articles/?more=%0D%0Ax:%20y", "/a/%250D%250Ax:%2520y?more=%0D%0Ax:%20y"),
        ("https://example.com$mapped", "/up@evil.example", "https://example.com/@evil.example"),
        ("/?to=$mapped", "/articles/a&b=c", "/?to=/a/a%26b%3Dc"),
        ("https://h/*{path}", "/a", "https://h/a/a"),
    ] {
        let fields = [&host[..], &[("user-agent", "a&b $uri")]].concat();
        assert_eq!(location(to, target, &fields).as_deref(), Ok(expected), "{to} {target}");
    }
    assert_eq!(location("https://$host/", "/", &[]).as_deref(), Ok("400"));
}

#[test]
fn no_client_chooses_where_a_redirect_leads() {
    let host = "what a client sends must not become part of the host: write a / before the variable, or $host, $uri or \
                $request_uri in its place";
    let name = "the host of the destination is a name, an address or {host}, and a port: write it as in \
                https://www.example.com:8443/*; what a client sends must not become part of it";
    for (to, expected) in [
        ("$arg_to", host),
        ("$http_referer", host),
        ("$kind", host),
        ("https://example.com$arg_to", host),
        ("https://example.com$1", host),
        ("https://$arg_host/", name),
        ("https://$1.example.com/", name),
        ("$arg_scheme://example.com/", host),
        ("/$nothing", "there is no $nothing; docs/matching.md has the names, and $$ is a dollar"),
        ("/$2", "$2 is not there: the path of the route has one * or group, $1; write $$ for a dollar"),
    ] {
        assert_eq!(location(to, "/", &[]), Err(expected.to_owned()), "{to}");
    }
}

#[test]
fn rewrites_with_variables() {
    let rewritten = |to: &str, target: &str| -> Result<String, String> {
        let id = expression("^/u/(?<id>.*)$");
        let to = RewriteTarget::with_variables(to, &scope().of_expression(&id)).map_err(|error| error.to_string())?;
        let conditions = Conditions { path: Some(id), ..Conditions::default() };
        let rewrite = Route { conditions, ..Route::new("/*".parse().unwrap(), Action::Rewrite(to)) };
        let fields = vec![("v".to_owned(), patterns(&["*"], Letters::Exact))];
        let with_v = Conditions { arguments: fields, ..Conditions::default() };
        let router = router(vec![rewrite, when(handle("/*", "v"), with_v), handle("/*", "rest")]);
        let Answer { status, text, .. } = get(&router, target);
        Ok(if status == 200 { text } else { status.to_string() })
    };
    for (to, target, expected) in [
        ("/user?v=$id", "/u/7?q", "v /user?v=7"),
        ("/user?v=$id&$args", "/u/a%26b?q", "v /user?v=a%26b&q"),
        ("/user?v=$id&$args", "/u/7", "v /user?v=7"),
        ("/user/$1", "/u/a%3Fb?q", "rest /user/a%3Fb?q"),
        ("/user?", "/u/7?v=1", "rest /user"),
        ("/user/$arg_v/", "/u/7?v=%2e%2e%2fx%3f", "v /x%3F/?v=%2e%2e%2fx%3f"),
        ("/$arg_v", "/u/7?v=../../etc", "400"),
        ("/$arg_v", "/u/7?v=%00", "400"),
        ("$uri.html", "/u/7", "rest /u/7.html"),
        ("$moved", "/u/7", "rest /"),
        ("/a$$b", "/u/7", "rest /a$b"),
        ("$mapped", "/u/7", "400"),
    ] {
        assert_eq!(rewritten(to, target).as_deref(), Ok(expected), "{to} {target}");
    }
    for (to, expected) in [
        ("$arg_x", "a path begins with a slash: write one before it"),
        ("/$request_uri", "$request_uri is path and query together: write $uri, and ?$args"),
        ("/$idd", "there is no $idd; did you mean $id?"),
        ("/a//$id", "//, /./ and /../ are resolved before paths are compared: write the path without them"),
    ] {
        assert_eq!(rewritten(to, "/"), Err(expected.to_owned()), "{to}");
    }
}

#[test]
fn headers_and_bodies_with_variables() {
    let id = expression("^/u/(?<id>.*)$");
    let scope_of_route = scope().of_expression(&id);
    let of_site = HeaderChanges::with_variables([("X-Host", "$host"), ("X-Kind", "$kind")], &scope()).unwrap();
    let of_route =
        HeaderChanges::with_variables([("X-Kind", "[$id]"), ("X-None", "$arg_none")], &scope_of_route).unwrap();
    let conditions = Conditions { path: Some(id), ..Conditions::default() };
    let user = Route { headers: of_route, ..when(handle("/*", "user"), conditions.clone()) };
    let text = Text::parse("<p>$id $$ $server_name</p>", &scope_of_route).unwrap();
    let page = FixedResponse::new(200).unwrap().with_text(text, "text/html").unwrap();
    let page = Route { conditions, ..Route::new("/*".parse().unwrap(), Action::Respond(page)) };
    let sites = vec![
        Site { headers: of_site.clone(), ..site(&["a.example"], vec![user, respond("/fixed", 200)]) },
        Site { headers: of_site, ..site(&["b.example"], vec![page, handle("/post", "").methods(&["POST"])]) },
    ];
    let router = Router::new(sites).unwrap();
    let ask = |target: &str, host: &str| {
        answer(&router, asked(target, &[("host", host), ("user-agent", "Libcurl\t8")], "unix", Scheme::Http))
    };
    let handled = ask("/u/a%0D%0AX-Evil:%201", "A.example:80");
    assert_eq!((handled.field("x-host"), handled.field("x-kind")), (Some("a.example"), Some("[aX-Evil: 1]")));
    assert_eq!((handled.field("x-evil"), handled.field("x-none")), (None, None));
    let fixed = ask("/fixed", "a.example");
    assert_eq!((fixed.status, fixed.field("x-kind")), (200, Some("cli")));
    for (target, status) in [("/none", 404), ("/%", 400)] {
        let refused = ask(target, "a.example");
        assert_eq!((refused.status, refused.field("x-host")), (status, Some("a.example")), "{target}");
    }
    let refused = ask("/post", "b.example");
    assert_eq!((refused.status, refused.field("x-host")), (405, Some("b.example")));
    let page = ask("/u/<b>%26$host", "b.example");
    assert_eq!((page.status, &*page.text), (200, "<p>&lt;b&gt;&amp;$host $ a.example</p>"));
    assert_eq!(page.field("x-kind"), Some("cli"));
}

#[test]
fn a_tunnel_is_refused_by_a_response_with_variables() {
    let text = Text::parse("$host", &Scope::default()).unwrap();
    let page = FixedResponse::new(200).unwrap().with_text(text, "text/plain").unwrap();
    let router = router(vec![Route::<Named>::new("/*".parse().unwrap(), Action::Respond(page))]);
    let mut request = request("GET", "/", Some("a"));
    request.method = serow_message::Method::CONNECT;
    assert_eq!(answer(&router, request).status, 501);
}
