//! Which site answers under which host.

use crate::support::{Named, answer, handle, request, site};
use serow_router::{Router, Site};

#[test]
fn hosts_and_their_sites() {
    let sites = vec![
        site(&["example.com", "www.example.com"], vec![handle("/*", "name")]),
        site(&["*.example.com"], vec![handle("/*", "below")]),
        site(&["*.api.example.com"], vec![handle("/*", "longer")]),
        site(&["192.0.2.1", "[2001:db8::1]"], vec![handle("/*", "address")]),
    ];
    let cases = [
        (Some("example.com"), Some("name")),
        (Some("Example.COM:8080"), Some("name")),
        (Some("www.example.com."), Some("name")),
        (Some("a.example.com"), Some("below")),
        (Some("a.b.example.com"), Some("below")),
        (Some("a.www.example.com"), Some("below")),
        (Some("api.example.com"), Some("below")),
        (Some("a.api.example.com"), Some("longer")),
        (Some("192.0.2.1:80"), Some("address")),
        (Some("[2001:DB8:0::1]:80"), Some("address")),
        (Some("example.org"), None),
        (Some("notexample.com"), None),
        (Some("example.com.evil.example"), None),
        (Some("[::1]"), None),
        (Some(""), None),
        (None, None),
    ];
    let strict = Router::new(sites.clone()).unwrap();
    let with_rest = [sites, vec![Site::new(vec![handle("/*", "rest")])]].concat();
    let lenient = Router::new(with_rest).unwrap();
    for (host, expected) in cases {
        let asked = answer(&strict, request("GET", "/", host));
        assert_eq!(asked.field("x-handler"), expected, "{host:?}");
        assert_eq!(asked.status, if expected.is_some() { 200 } else { 421 }, "{host:?}");
        let asked = answer(&lenient, request("GET", "/", host));
        assert_eq!(asked.field("x-handler"), expected.or(Some("rest")), "{host:?}");
    }
}

#[test]
fn the_host_of_an_absolute_target_goes_before_the_field() {
    let sites = vec![site(&["a.example"], vec![handle("/*", "a")]), site(&["b.example"], vec![handle("/*", "b")])];
    let router = Router::new(sites).unwrap();
    let asked = answer(&router, request("GET", "http://a.example:80/x?y", Some("b.example")));
    assert_eq!(asked.text, "a http://a.example:80/x?y");
}

#[test]
fn nothing_answers_for_no_site() {
    let router = Router::<Named>::new(Vec::new()).unwrap();
    let asked = answer(&router, request("GET", "/", Some("example.com")));
    assert_eq!((asked.status, asked.text.as_str()), (421, "421 Misdirected Request\n"));
}
