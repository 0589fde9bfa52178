//! Where clients are sent, and where never.

use crate::support::{Answer, Named, With, answer, get, redirect, request, router};
use proptest::prelude::*;
use serow_router::{InvalidRedirect, Redirect};

/// The redirect of a POST to a target. (Many of these destinations would be refused for GET: they lead to themselves.)
fn post(path: &str, to: &str, target: &str, host: Option<&str>) -> Answer {
    let router = router::<Named>(vec![redirect(path, to, 302).methods(&["POST"])]);
    answer(&router, request("POST", target, host))
}

#[test]
fn destinations() {
    let cases = [
        ("/old", "/new", "/old", "/new"),
        ("/old/*", "/new/*", "/old/a/b", "/new/a/b"),
        ("/old/*", "/new/*", "/old/", "/new/"),
        ("/old/*", "/new/*", "/old/a?q=1&r", "/new/a?q=1&r"),
        ("/old/*", "/new/*", "/old/a?", "/new/a?"),
        ("/old/*", "/new/*", "http://h/old/a?q", "/new/a?q"),
        ("/*/*.htm", "/*/*.html", "/a/b.htm", "/a/b.html"),
        ("/*/*", "/*", "/a/b", "/a"),
        ("/old/*", "/new", "/old/x", "/new"),
        ("*.htm", "/h/*.html", "/a/b.htm", "/h/b.html"),
        // Its own query, or the request's.
        ("/s/*", "/search?q=*", "/s/cats?page=2", "/search?q=cats"),
        ("/s/*", "/search?q=*&{query}", "/s/cats?page=2", "/search?q=cats&page=2"),
        ("/s/*", "/search?q=*&{query}", "/s/cats", "/search?q=cats"),
        ("/s/*", "/search?q=*", "/s/a&b=c+d%23e/f", "/search?q=a%26b%3Dc%2Bd%23e/f"),
        ("/*", "/login?next={path}", "/a/b?c", "/login?next=/a/b"),
        ("/*", "/login?next={path}", "/a%26x=1", "/login?next=/a%26x%3D1"),
        ("/s", "/t?", "/s?q", "/t"),
        ("/s", "/t?{query}", "/s", "/t"),
        ("/s", "/t?a&{query}", "/s", "/t?a"),
        ("/s", "/t?a&{query}", "/s?b", "/t?a&b"),
        ("/s", "/t?#top", "/s?q", "/t#top"),
        // The fragment stays behind the query.
        ("/s/*", "/t#*", "/s/part?q", "/t?q#part"),
        ("/s/*", "/t?a#*", "/s/x?q", "/t?a#x"),
        // Whole URLs.
        ("/*", "https://www.example.com/*", "/a?b", "https://www.example.com/a?b"),
        ("/*", "https://www.example.com{path}", "/a?b", "https://www.example.com/a?b"),
        ("/*", "https://{host}{path}", "/a?b", "https://example.com/a?b"),
        ("/*", "https://{host}:8443/x/*", "/a", "https://example.com:8443/x/a"),
        ("/*", "https://www.{host}", "/a?b", "https://www.example.com?b"),
        ("/*", "//cdn.example.com/*", "/a", "//cdn.example.com/a"),
        ("/*", "https://[::1]:1/*", "/a", "https://[::1]:1/a"),
        ("/*", "/{host}{path}", "/a", "/example.com/a"),
        ("/*", "app.x-1+y://open/*", "/a", "app.x-1+y://open/a"),
        // Encoding.
        ("/*", "/x/*", "/%C3%A4%20%22", "/x/%C3%A4%20%22"),
        ("/*", "/x/*", "/\u{e4}?\u{e4}", "/x/%C3%A4?%C3%A4"),
        ("/*", "/\u{e4}/%C3%A4/*", "/a", "/%C3%A4/%C3%A4/a"),
        ("/*", "/x/*", "/%250d%250a", "/x/%250d%250a"),
        ("/*", "/x/*", "/%0d%0aset-cookie:%20a=b", "/x/%0D%0Aset-cookie:%20a=b"),
        ("/*", "/x/*", "/a%2fb", "/x/a/b"),
        // No host but the destination's (RFC 3986 §4.2; browsers take a backslash for a slash).
        ("/old*", "/*", "/old/evil.example", "/evil.example"),
        ("/old*", "/*", "/old//evil.example/..", "/"),
        ("/old*", "/*", "/old/%2fevil.example", "/evil.example"),
        ("/old*", "/*", "/old\\evil.example", "/%5Cevil.example"),
        ("/old*", "/*", "/old/%5cevil.example", "/%5Cevil.example"),
        ("/old*", "/*", "/old/%09/evil.example", "/%09/evil.example"),
        ("/a*b*", "/**", "/ab/evil.example", "/evil.example"),
        ("/*", "{path}/x", "//evil.example", "/evil.example/x"),
        ("/a*", "{path}*", "/a//b", "/a/b/b"),
        ("/*", "/*", "/a?//evil.example", "/a?//evil.example"),
        ("/*", "https://www.example.com/*", "/%40evil.example", "https://www.example.com/@evil.example"),
    ];
    for (path, to, target, expected) in cases {
        let asked = post(path, to, target, Some("Example.com:8080"));
        assert_eq!(asked.field("location"), Some(expected), "{path} to {to} for {target}");
    }
}

#[test]
fn invalid_redirects_are_refused() {
    use InvalidRedirect::{Character, Destination, Host, Placeholder, Query, Status};
    let cases = [
        ("/x", 200, Status),
        ("/x", 300, Status),
        ("/x", 304, Status),
        ("/x", 0, Status),
        ("", 301, Destination),
        ("x", 301, Destination),
        ("*", 301, Destination),
        ("?x", 301, Destination),
        ("#x", 301, Destination),
        ("{host}/x", 301, Destination),
        ("{query}", 301, Destination),
        ("https:/x", 301, Destination),
        ("mailto:x", 301, Destination),
        ("1http://x", 301, Destination),
        ("/a b", 301, Character),
        ("/a\\b", 301, Character),
        ("/\\evil.example", 301, Character),
        ("/a\r\nx: y", 301, Character),
        ("/a\0", 301, Character),
        ("/\"", 301, Character),
        ("/{paht}", 301, Placeholder),
        ("/{path", 301, Placeholder),
        ("/path}", 301, Placeholder),
        ("/{}", 301, Placeholder),
        ("/{Host}", 301, Placeholder),
        ("https://*/x", 301, Host),
        ("https://www.*", 301, Host),
        ("https://example.com*", 301, Host),
        ("https://example.com:*", 301, Host),
        ("https://u@example.com/", 301, Host),
        ("https://{host}@example.com/", 301, Host),
        ("https:///x", 301, Host),
        ("///x", 301, Host),
        ("https://", 301, Host),
        ("https://{query}", 301, Host),
        ("https://b\u{fc}cher.example/", 301, Host),
        ("https://example.com:x/", 301, Host),
        ("/{query}", 301, Query),
        ("/x/{query}?a", 301, Query),
        ("/x#{query}", 301, Query),
    ];
    for (to, status, expected) in cases {
        assert_eq!(Redirect::new(to, status).err(), Some(expected), "{to} {status}");
    }
}

#[test]
fn statuses_and_bodies() {
    for (status, text) in [
        (301, "301 Moved Permanently\n"),
        (302, "302 Found\n"),
        (303, "303 See Other\n"),
        (307, "307 Temporary Redirect\n"),
        (308, "308 Permanent Redirect\n"),
    ] {
        let asked = get(&router::<Named>(vec![redirect("/a", "/b", status)]), "/a");
        assert_eq!((asked.status, asked.text.as_str()), (status, text));
    }
}

#[test]
fn a_request_without_a_valid_host_is_not_redirected_to_it() {
    let router = router::<Named>(vec![redirect("/*", "https://{host}{path}", 301)]);
    for host in [None, Some(""), Some(":80"), Some("a/b"), Some("a@b"), Some("a%2fb"), Some("[::g]"), Some("a..")] {
        assert_eq!(answer(&router, request("GET", "/", host)).status, 400, "{host:?}");
    }
    let asked = answer(&router, request("GET", "/", Some("[2001:db8::0:1]:80")));
    assert_eq!(asked.field("location"), Some("https://[2001:db8::1]/"));
}

/// Patterns and destinations that leave the client the most to say.
const LOOSE: [(&str, &str); 12] = [
    ("/*", "/*"),
    ("*", "/*"),
    ("/a*", "/*"),
    ("/*a*", "/**"),
    ("/*a*b*", "/*/*#*"),
    ("/*", "{path}"),
    ("/*", "{path}*"),
    ("/*", "/{host}*"),
    ("/*", "/*?{query}&{path}"),
    ("/*", "https://www.example.com/*"),
    ("/**", "https://www.example.com{path}*?{query}#*"),
    ("/*", "//www.example.com/*{path}{host}"),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_request_decides_which_host_comes_next(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("/".to_owned()), Just("//".to_owned()), Just("\\".to_owned()), Just("..".to_owned()),
                Just(".".to_owned()), Just("%2f".to_owned()), Just("%5C".to_owned()), Just("%0d%0a".to_owned()),
                Just("%09".to_owned()), Just("%00".to_owned()), Just("a".to_owned()), Just("b".to_owned()),
                Just("evil.example".to_owned()), Just("@".to_owned()), Just(":".to_owned()), Just("%".to_owned()),
                Just("?".to_owned()), Just("{host}".to_owned()), Just("*".to_owned()), "[!-~]{0,3}", "%[0-9a-f]{2}",
                "[\u{80}-\u{2fff}]",
            ],
            0..10,
        ),
        host in prop_oneof![Just(None), "[a-z.:@/\\\\%*]{0,6}".prop_map(Some), Just(Some("a.example".to_owned()))],
    ) {
        let target = format!("/{}", pieces.concat().replace('#', ""));
        for (path, to) in LOOSE {
            let asked = post(path, to, &target, host.as_deref());
            let Some(location) = asked.field("location") else {
                prop_assert!(matches!(asked.status, 400 | 404), "{} for {to}", asked.status);
                continue;
            };
            prop_assert!(location.bytes().all(|byte| byte.is_ascii_graphic()), "{location:?} for {to}");
            let path = ["https://www.example.com", "//www.example.com"].iter().find_map(|own| location.strip_prefix(own));
            let path = match to.starts_with('/') && !to.starts_with("//") || to.starts_with("{path}") {
                true => location,
                false => path.unwrap_or("another host"),
            };
            let mut characters = path.chars();
            prop_assert_eq!(characters.next(), Some('/'), "{} for {}", location, to);
            if path == location {
                prop_assert!(!matches!(characters.next(), Some('/' | '\\')), "{location} for {to}");
            }
        }
    }
}
