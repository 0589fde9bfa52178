//! Requests and their responses.

use crate::site::{Site, ask, get, get_with, request};
use serow_files::{Files, FilesError, FilesSettings, Freshness, FreshnessRule, Hidden, Listing, Pattern, Rewrite};
use serow_message::Method;

fn a_site() -> Site {
    Site::new(&[
        ("index.html", "start"),
        ("style.css", "css"),
        ("README", "read me"),
        ("a b/ä.txt", "umlaut"),
        ("docs/index.html", "documents"),
        ("docs/deep/page.html", "page"),
        ("empty/x/y", ""),
        (".env", "secret"),
        (".well-known/acme", "token"),
        ("404.html", "nothing here"),
        ("app.html", "application"),
    ])
}

#[test]
fn paths() {
    let site = a_site();
    let files = site.serve();
    let cases = [
        ("/", 200, "start"),
        ("//", 200, "start"),
        ("/index.html", 200, "start"),
        ("/style.css?v=1", 200, "css"),
        ("/README", 200, "read me"),
        ("/README/", 404, "404 Not Found\n"),
        ("/a%20b/%C3%A4.txt", 200, "umlaut"),
        ("/a%20b/ä.txt", 200, "umlaut"),
        ("/docs/", 200, "documents"),
        ("/docs//deep/page.html", 200, "page"),
        ("/docs", 301, "301 Moved Permanently\n"),
        ("/empty/", 404, "404 Not Found\n"),
        ("/nothing", 404, "404 Not Found\n"),
        ("/README/more", 404, "404 Not Found\n"),
        ("/.env", 404, "404 Not Found\n"),
        ("/.well-known/acme", 200, "token"),
        ("/docs/../README", 400, "400 Bad Request\n"),
        ("/%2e%2e/README", 400, "400 Bad Request\n"),
        ("/a%00", 400, "400 Bad Request\n"),
        ("/docs%2Findex.html", 404, "404 Not Found\n"),
        ("/docs\\index.html", 404, "404 Not Found\n"),
    ];
    for (target, status, body) in cases {
        for visit in ["first", "cached"] {
            let answer = get(&files, target);
            assert_eq!((answer.status.as_u16(), answer.text()), (status, body), "{target} {visit}");
        }
    }
}

#[test]
fn folders_without_slash_are_redirected() {
    let site = a_site();
    let settings = FilesSettings { rewrite: vec![Rewrite::new("/d", "/docs")], ..FilesSettings::default() };
    let files = site.serve_with(settings);
    let cases = [
        ("/docs", "/docs/"),
        ("/docs?x=%20&y", "/docs/?x=%20&y"),
        // Not `//docs/`: that would be a host.
        ("//docs", "/docs/"),
        ("/a%20b", "/a%20b/"),
        ("/d", "/d/"),
    ];
    for (target, location) in cases {
        let answer = get(&files, target);
        assert_eq!((answer.status.as_u16(), answer.field("location")), (301, location), "{target}");
    }
}

#[test]
fn methods() {
    let site = a_site();
    let files = site.serve();
    let cases = [
        ("GET", 200, ""),
        ("HEAD", 200, ""),
        ("OPTIONS", 204, "GET, HEAD, OPTIONS"),
        ("POST", 405, "GET, HEAD, OPTIONS"),
        ("DELETE", 405, "GET, HEAD, OPTIONS"),
        ("BREW", 405, "GET, HEAD, OPTIONS"),
    ];
    for (method, status, allow) in cases {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let answer = ask(&files, &request(method.clone(), "/", &[]));
        assert_eq!((answer.status.as_u16(), answer.field("allow")), (status, allow), "{method}");
    }
}

#[test]
fn fields_of_a_file() {
    let site = a_site();
    let files = site.serve();
    let answer = get(&files, "/style.css");
    assert_eq!(answer.field("content-type"), "text/css; charset=utf-8");
    assert_eq!(answer.field("accept-ranges"), "bytes");
    assert!(answer.field("etag").starts_with('"') && answer.field("last-modified").ends_with(" GMT"));
    assert_eq!(answer.field("cache-control"), "");
    assert_eq!(get(&files, "/README").field("content-type"), "application/octet-stream");
}

#[test]
fn conditions() {
    let site = a_site();
    let files = site.serve();
    let first = get(&files, "/style.css");
    let (tag, date) = (first.field("etag"), first.field("last-modified"));
    let old = "Sun, 06 Nov 1994 08:49:37 GMT";
    let cases: [(&[(&str, &str)], u16); 7] = [
        (&[("if-none-match", tag)], 304),
        (&[("if-none-match", "\"x\"")], 200),
        (&[("if-modified-since", date)], 304),
        (&[("if-modified-since", old)], 200),
        (&[("if-match", "\"x\"")], 412),
        (&[("if-match", tag)], 200),
        (&[("if-unmodified-since", old)], 412),
    ];
    for (fields, status) in cases {
        for method in [Method::GET, Method::HEAD] {
            let answer = ask(&files, &request(method, "/style.css", fields));
            assert_eq!(answer.status.as_u16(), status, "{fields:?}");
            if status == 304 {
                assert_eq!((answer.field("etag"), answer.field("last-modified")), (tag, date));
                assert!(answer.body.is_empty() && answer.field("content-type").is_empty());
            }
        }
    }
    assert_eq!(get_with(&files, "/nothing", &[("if-none-match", "*")]).status, 404);
}

#[test]
fn rewrites_fallback_and_missing_page() {
    let site = a_site();
    let files = site.serve_with(FilesSettings {
        rewrite: vec![Rewrite::new("/v*/style.css", "/style.css"), Rewrite::new("/up/*", "/../*")],
        fallback: Some("app.html".to_owned()),
        not_found: Some("/404.html".to_owned()),
        ..FilesSettings::default()
    });
    const HTML: &[(&str, &str)] = &[("accept", "text/html,*/*;q=0.8")];
    type Case = (&'static str, &'static [(&'static str, &'static str)], u16, &'static str);
    let cases: [Case; 8] = [
        ("/v12/style.css", &[], 200, "css"),
        ("/up/README", &[("accept", "image/png")], 404, "nothing here"),
        ("/some/route", HTML, 200, "application"),
        ("/some/route.with.dots", HTML, 200, "application"),
        ("/some/route", &[], 200, "application"),
        ("/missing.js", &[("accept", "*/*")], 404, "nothing here"),
        ("/missing", &[("accept", "image/png")], 404, "nothing here"),
        ("/empty/", HTML, 200, "application"),
    ];
    for (target, fields, status, body) in cases {
        let answer = get_with(&files, target, fields);
        assert_eq!((answer.status.as_u16(), answer.text()), (status, body), "{target} {fields:?}");
        assert_eq!(
            answer.field("content-type").split(';').next(),
            Some(if body == "css" { "text/css" } else { "text/html" })
        );
        assert_eq!(answer.field("vary") == "Accept", body != "css", "{target}");
    }
    let tag = get_with(&files, "/some/route", HTML).field("etag").to_owned();
    assert_eq!(get_with(&files, "/some/route", &[HTML[0], ("if-none-match", &tag)]).status, 304);
    let missing = get_with(&files, "/missing.js", &[("if-none-match", "*"), ("range", "bytes=0-1")]);
    assert_eq!((missing.status.as_u16(), missing.text(), missing.field("etag")), (404, "nothing here", ""));
}

#[test]
fn freshness_follows_the_path() {
    let site = a_site();
    let rule = |pattern, freshness| FreshnessRule { pattern: Pattern::new(pattern), freshness };
    let day = std::time::Duration::from_secs(24 * 60 * 60);
    let files = site.serve_with(FilesSettings {
        freshness: vec![rule("*.css", Freshness::For(day)), rule("/docs/*", Freshness::Revalidate)],
        ..FilesSettings::default()
    });
    let css = get(&files, "/style.css");
    assert_eq!(css.field("cache-control"), "max-age=86400");
    let expires = httpdate::parse_http_date(css.field("expires")).unwrap();
    let now = (crate::site::clock().time_of_day)();
    let left = expires.duration_since(now).unwrap();
    assert!(left <= day && left + std::time::Duration::from_secs(60) > day);
    assert_eq!(get_with(&files, "/style.css", &[("if-none-match", "*")]).field("cache-control"), "max-age=86400");
    assert_eq!(get(&files, "/docs/").field("cache-control"), "no-cache");
    assert_eq!(get(&files, "/README").field("cache-control"), "");
}

#[test]
fn hidden_names_are_shown_on_request() {
    let site = a_site();
    let files = site.serve_with(FilesSettings { hidden: Hidden::Serve, ..FilesSettings::default() });
    assert_eq!(get(&files, "/.env").text(), "secret");
}

#[test]
fn settings_that_cannot_be() {
    let site = a_site();
    let with = |settings| Files::with_settings(site.root(), settings).map(|_| ());
    let default = FilesSettings::default;
    let rule = FreshnessRule { pattern: Pattern::new("*"), freshness: Freshness::Directives("a\r\nb: c".to_owned()) };
    assert!(matches!(
        with(FilesSettings { fallback: Some("../x".to_owned()), ..default() }),
        Err(FilesError::Path { setting: "fallback", .. })
    ));
    assert!(matches!(
        with(FilesSettings { not_found: Some("x/".to_owned()), ..default() }),
        Err(FilesError::Path { setting: "not_found", .. })
    ));
    assert!(matches!(
        with(FilesSettings { index: vec!["a/b".to_owned()], ..default() }),
        Err(FilesError::Path { setting: "index", .. })
    ));
    assert!(matches!(with(FilesSettings { freshness: vec![rule], ..default() }), Err(FilesError::Text { .. })));
}

/// But for what a body alone can say: its length, where nobody knows it before.
#[test]
fn head_has_the_fields_of_get() {
    let site = a_site();
    site.write("large.txt", "text ".repeat(50_000));
    site.write("small.txt", "text ".repeat(1000));
    let settings = FilesSettings { listing: Listing::Negotiated, ..FilesSettings::default() };
    let files = site.serve_with(settings);
    for target in ["/", "/docs", "/empty/", "/nothing", "/large.txt", "/small.txt", "/.env", "/%2e%2e", "/%"] {
        for fields in [&[][..], &[("accept-encoding", "gzip")], &[("if-none-match", "*")], &[("if-match", "\"x\"")]] {
            let [get, head] = [Method::GET, Method::HEAD].map(|method| files.respond(&request(method, target, fields)));
            assert_eq!(get.status, head.status, "{target} {fields:?}");
            assert!(get.headers.iter().eq(head.headers.iter()), "{target} {fields:?}");
            assert_eq!(get.body.length(), head.body.length(), "{target} {fields:?}");
        }
    }
}

#[test]
fn no_redirect_leads_to_another_host() {
    let site = Site::new(&[("evil.com/x", ""), ("a/evil.com/x", "")]);
    let files =
        site.serve_with(FilesSettings { rewrite: vec![Rewrite::new("/r/*", "/*")], ..FilesSettings::default() });
    let cases = [
        ("//evil.com", 301, "/evil.com/"),
        ("///evil.com?x", 301, "/evil.com/?x"),
        ("//evil.com/..", 400, ""),
        ("//evil.com/%2e%2e", 400, ""),
        ("/%2fevil.com", 404, ""),
        ("/\\evil.com", 404, ""),
        ("/%5cevil.com", 404, ""),
        ("/a//evil.com", 301, "/a/evil.com/"),
        ("/r//evil.com", 301, "/r/evil.com/"),
        ("//r/evil.com", 301, "/r/evil.com/"),
    ];
    for (target, status, location) in cases {
        let answer = get(&files, target);
        assert_eq!((answer.status.as_u16(), answer.field("location")), (status, location), "{target}");
    }
}

#[test]
fn requests_for_paths_outside_the_folder_are_left_to_other_handlers() {
    let site = a_site();
    let with = |settings| Files::with_settings(site.root(), settings).unwrap();
    let plain = with(FilesSettings::default());
    let listed = with(FilesSettings { listing: Listing::Html, ..FilesSettings::default() });
    for (method, target, expected, of_listed) in [
        ("GET", "/", Some(200), Some(200)),
        ("HEAD", "/style.css", Some(200), Some(200)),
        ("GET", "/docs/", Some(200), Some(200)),
        ("GET", "/docs", Some(301), Some(301)),
        // An application may have a page of this name.
        ("GET", "/empty", None, Some(301)),
        ("GET", "/empty/", None, Some(200)),
        ("GET", "/a%20b", None, Some(301)),
        ("GET", "/missing", None, None),
        ("GET", "/README/more", None, None),
        ("GET", "/.env", None, None),
        ("GET", "/docs%2Findex.html", None, None),
        ("POST", "/style.css", None, None),
        ("OPTIONS", "/style.css", None, None),
    ] {
        let request = request(Method::from_bytes(method.as_bytes()).unwrap(), target, &[]);
        for (files, expected) in [(&plain, expected), (&listed, of_listed)] {
            let status = files.respond_if_found(&request).map(|response| response.status.as_u16());
            assert_eq!(status, expected, "{method} {target}");
        }
    }
}

#[test]
fn endings_are_tried_where_a_path_names_no_file() {
    let site = a_site();
    for (name, content) in [
        ("about.html", "about"),
        ("about/inner.html", "inner"),
        ("both", "plain"),
        ("both.html", "page"),
        ("feed.xml", "feed"),
        ("keys.pem", "secret"),
        (".hidden.html", "hidden"),
    ] {
        site.write(name, content);
    }
    let extensions = [".html", ".xml", ".pem"].map(str::to_owned).to_vec();
    let files = site.serve_with(FilesSettings { extensions, ..FilesSettings::default() });
    let cases = [
        ("/", 200, "start", "text/html"),
        ("/about", 200, "about", "text/html"),
        ("/about/", 404, "404 Not Found\n", "text/plain"),
        ("/about/inner", 200, "inner", "text/html"),
        ("/about/inner/", 404, "404 Not Found\n", "text/plain"),
        ("/both", 200, "plain", "application/octet-stream"),
        ("/feed", 200, "feed", "text/xml"),
        ("/keys", 404, "404 Not Found\n", "text/plain"),
        ("/.hidden", 404, "404 Not Found\n", "text/plain"),
        ("/docs", 301, "301 Moved Permanently\n", "text/plain"),
        ("/docs/deep/page", 200, "page", "text/html"),
        ("/none", 404, "404 Not Found\n", "text/plain"),
    ];
    for (target, status, body, media_type) in cases {
        for visit in ["first", "cached"] {
            let answer = get(&files, target);
            assert_eq!((answer.status.as_u16(), answer.text()), (status, body), "{target} {visit}");
            assert_eq!(answer.field("content-type").split(';').next(), Some(media_type), "{target}");
        }
    }
    for wrong in ["html", ".", "./a", ""] {
        let settings = FilesSettings { extensions: vec![wrong.to_owned()], ..FilesSettings::default() };
        assert!(matches!(Files::with_settings(site.root(), settings), Err(FilesError::Path { .. })), "{wrong}");
    }
}
