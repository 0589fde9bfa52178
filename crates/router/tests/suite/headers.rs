//! Changes that sites and routes make to the headers of their responses.

use crate::support::{With, answer, handle, redirect, request, respond, router, site};
use serow_message::InvalidHeader;
use serow_router::{ChangeProblem, HeaderChanges, Router, Site};

#[test]
fn every_response_of_a_site_has_its_headers() {
    let headers = HeaderChanges::new([("X-Site", "site"), ("x-both", "site"), ("X-Handler", "")]).unwrap();
    let routes = vec![
        handle("/handle", "h").headers(&[("X-Both", "route"), ("X-Route", "route")]),
        handle("/plain", "p").methods(&["GET"]),
        respond("/respond", 204).headers(&[("x-site", "")]),
        redirect("/redirect", "/x", 301).headers(&[("X-Both", "")]),
    ];
    let other = site(&["other.example"], vec![handle("/*", "other")]);
    let router = Router::new(vec![Site { headers, ..Site::new(routes) }, other]).unwrap();
    let cases = [
        ("GET", "/handle", 200, Some("site"), Some("route"), Some("route")),
        ("GET", "/plain", 200, Some("site"), Some("site"), None),
        ("GET", "/respond", 204, None, Some("site"), None),
        ("GET", "/redirect", 301, Some("site"), None, None),
        ("GET", "/missing", 404, Some("site"), Some("site"), None),
        ("POST", "/plain", 405, Some("site"), Some("site"), None),
        ("GET", "/%", 400, Some("site"), Some("site"), None),
    ];
    for (method, target, status, of_site, both, of_route) in cases {
        let asked = answer(&router, request(method, target, Some("example.com")));
        assert_eq!(asked.status, status, "{method} {target}");
        let fields = (asked.field("x-site"), asked.field("x-both"), asked.field("x-route"));
        assert_eq!(fields, (of_site, both, of_route), "{method} {target}");
        assert_eq!(asked.field("x-handler"), None, "{method} {target}");
    }
    let asked = answer(&router, request("GET", "/", Some("other.example")));
    assert_eq!((asked.field("x-site"), asked.field("x-handler")), (None, Some("other")));
}

#[test]
fn a_field_is_set_in_place_of_all_of_its_name() {
    let changes = HeaderChanges::new([("Link", "  </a>; rel=preload "), ("vary", ""), ("X-Empty", " ")]).unwrap();
    let router = router(vec![handle("/*", "h")]);
    let mut response = crate::support::now(serow_message::Handler::call(&router, request("GET", "/", None)));
    for name in ["link", "LINK", "Vary", "x-empty"] {
        response.headers.append(name, "old").unwrap();
    }
    changes.apply(response.status, &mut response.headers);
    let fields: Vec<_> = response.headers.iter().filter(|(name, _)| *name != b"content-type").collect();
    assert_eq!(fields, [(&b"x-handler"[..], &b"h"[..]), (b"Link", b"</a>; rel=preload")]);
}

#[test]
fn invalid_header_changes_are_refused() {
    let text = ChangeProblem::Text;
    for allowed in [&[][..], &[("X-A", "\u{e4} \t b")]] {
        assert!(HeaderChanges::new(allowed.iter().copied()).is_ok(), "{allowed:?}");
    }
    let cases = [
        (vec![("", "x")], ("", text(InvalidHeader::Name))),
        (vec![("X A", "x")], ("X A", text(InvalidHeader::Name))),
        (vec![("X:", "x")], ("X:", text(InvalidHeader::Name))),
        (vec![("X", "a\r\nb: c")], ("X", text(InvalidHeader::Value))),
        (vec![("X", "a\0")], ("X", text(InvalidHeader::Value))),
        (vec![("content-LENGTH", "1")], ("content-LENGTH", ChangeProblem::Framing)),
        (vec![("Content-Length", "")], ("Content-Length", ChangeProblem::Framing)),
        (vec![("Transfer-Encoding", "chunked")], ("Transfer-Encoding", ChangeProblem::Framing)),
        (vec![("Connection", "close")], ("Connection", ChangeProblem::Framing)),
        (vec![("Upgrade", "h2c")], ("Upgrade", ChangeProblem::Framing)),
        (vec![("A", "1"), ("B", "1"), ("a", "2")], ("a", ChangeProblem::Twice)),
    ];
    for (fields, (name, problem)) in cases {
        let error = HeaderChanges::new(fields).unwrap_err();
        assert_eq!((error.name.as_str(), error.problem), (name, problem));
    }
}
