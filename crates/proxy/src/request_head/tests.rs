//! Requests of clients, and the resulting requests to servers.

use std::net::SocketAddr;

use serow_message::{Body, Connection, Peer, PendingUpgrade, Scheme, Target};

use super::*;
use serow_gateway::{Forwarded, ForwardedFields};
use serow_variables::Scope;

type Fields = &'static [(&'static str, &'static str)];

fn headers(fields: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).unwrap();
    }
    headers
}

fn request(line: &str, version: Version, fields: &[(&str, &str)]) -> Request {
    let (method, target) = line.split_once(' ').unwrap();
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let target = Target::parse(target.to_owned().into(), method == Method::CONNECT).unwrap();
    let peer = Peer::Tcp(SocketAddr::from(([192, 0, 2, 1], 1234)));
    let head = RequestHead { method, target, version, headers: headers(fields) };
    Request::new(head, Body::empty(), Connection::new(peer, None, Scheme::Http))
}

/// Settings that add nothing about the client, so that each case shows only its own subject.
fn silent() -> ForwardingSettings {
    let forwarded = Forwarded { fields: ForwardedFields::Off, ..Forwarded::default() };
    ForwardingSettings { forwarded, ..ForwardingSettings::default() }
}

fn server(text: &str) -> ServerAddress {
    text.parse().unwrap()
}

/// Line, version and fields of a request; target and fields that servers get.
const HEADS: &[(&str, Version, Fields, &str, Fields)] = &[
    (
        "GET /a?b",
        Version::HTTP_11,
        &[("Host", "a"), ("Accept", "*/*"), ("snake_case", "1")],
        "/a?b",
        &[("Host", "a"), ("Accept", "*/*"), ("via", "1.1 serow")],
    ),
    (
        "GET http://b:81/a?b",
        Version::HTTP_11,
        &[("Accept", "*/*"), ("Host", "a"), ("X", "1")],
        "/a?b",
        &[("Accept", "*/*"), ("host", "b:81"), ("X", "1"), ("via", "1.1 serow")],
    ),
    ("OPTIONS http://b", Version::HTTP_11, &[("Host", "a")], "*", &[("host", "b"), ("via", "1.1 serow")]),
    ("OPTIONS *", Version::HTTP_2, &[("host", "a")], "*", &[("host", "a"), ("via", "2.0 serow")]),
    (
        "GET /",
        Version::HTTP_10,
        &[("host", "a"), ("via", "1.1 front")],
        "/",
        &[("host", "a"), ("via", "1.1 front"), ("via", "1.0 serow")],
    ),
    (
        "POST /",
        Version::HTTP_11,
        &[
            ("Host", "a"),
            ("Connection", "keep-alive, X-Mine, X-Forwarded-For, Authorization, Host"),
            ("Keep-Alive", "timeout=5"),
            ("Proxy-Connection", "keep-alive"),
            ("X-Mine", "1"),
            ("Authorization", "Basic eA=="),
            ("Cookie", "a=b"),
            ("Expect", "100-continue"),
            ("Content-Length", "4"),
            ("Priority", "u=1, i"),
            ("Trailer", "x"),
        ],
        "/",
        &[
            ("Host", "a"),
            ("Authorization", "Basic eA=="),
            ("Cookie", "a=b"),
            ("Content-Length", "4"),
            ("Priority", "u=1, i"),
            ("Trailer", "x"),
            ("via", "1.1 serow"),
        ],
    ),
    (
        "POST /",
        Version::HTTP_2,
        &[("host", "a"), ("te", "trailers"), ("content-type", "application/grpc")],
        "/",
        &[("host", "a"), ("content-type", "application/grpc"), ("via", "2.0 serow"), ("te", "trailers")],
    ),
    (
        "GET /",
        Version::HTTP_11,
        &[("host", "a"), ("te", "deflate;q=0.5, Trailers"), ("connection", "te")],
        "/",
        &[("host", "a"), ("via", "1.1 serow"), ("te", "trailers")],
    ),
    ("GET /", Version::HTTP_11, &[("host", "a"), ("te", "deflate")], "/", &[("host", "a"), ("via", "1.1 serow")]),
    (
        "GET /",
        Version::HTTP_11,
        &[("host", "a"), ("connection", "upgrade, http2-settings"), ("upgrade", "x"), ("http2-settings", "x")],
        "/",
        &[("host", "a"), ("via", "1.1 serow")],
    ),
    (
        "OPTIONS /",
        Version::HTTP_11,
        &[("Max-Forwards", "2"), ("host", "a")],
        "/",
        &[("max-forwards", "1"), ("host", "a"), ("via", "1.1 serow")],
    ),
    (
        "GET /",
        Version::HTTP_11,
        &[("Max-Forwards", "0"), ("host", "a")],
        "/",
        &[("max-forwards", "0"), ("host", "a"), ("via", "1.1 serow")],
    ),
];

#[test]
fn heads_are_rewritten_for_servers() {
    for &(line, version, before, target, after) in HEADS {
        let outgoing = outgoing(&mut request(line, version, before), &silent()).unwrap();
        let head = &outgoing.head;
        assert_eq!(head.target.as_str(), target, "{line}");
        assert_eq!(head.headers, headers(after), "{line} {before:?}");
        assert_eq!(head.method.as_str(), line.split(' ').next().unwrap());
        assert!(outgoing.upgrade.is_none());
    }
}

#[test]
fn upgrades_are_forwarded_except_to_http_and_tls() {
    let cases = [
        ("websocket", Some("websocket")),
        ("WebSocket", Some("WebSocket")),
        ("h2c, websocket", Some("websocket")),
        ("a/1, b", Some("a/1, b")),
        ("h2c", None),
        ("H2C", None),
        ("h2", None),
        ("HTTP/2.0", None),
        ("TLS/1.0, HTTP/1.1", None),
        ("h2custom", Some("h2custom")),
        ("", None),
    ];
    for (before, after) in cases {
        let fields =
            [("host", "a"), ("connection", "Upgrade, HTTP2-Settings"), ("upgrade", before), ("http2-settings", "A")];
        let (_ours, theirs) = PendingUpgrade::channel();
        let mut request = request("GET /", Version::HTTP_11, &fields).with_upgrade(theirs);
        let outgoing = outgoing(&mut request, &silent()).unwrap();
        assert_eq!(outgoing.head.headers.get_str(KnownHeader::Upgrade), after, "{before}");
        assert_eq!(outgoing.upgrade.is_some(), after.is_some());
        assert!(!outgoing.head.headers.contains_any(&[KnownHeader::Connection, KnownHeader::Http2Settings]));
    }
}

#[test]
fn invalid_requests_are_refused() {
    let cases: [(&str, Fields, u16); 6] = [
        ("CONNECT a:443", &[], 501),
        ("TRACE /", &[("max-forwards", "0")], 501),
        ("OPTIONS /", &[("max-forwards", "0")], 204),
        ("OPTIONS *", &[("max-forwards", "0")], 204),
        ("GET /a/../b", &[], 400),
        ("GET http://b/a/%2e%2e/b", &[], 400),
    ];
    for (line, fields, status) in cases {
        let refused = outgoing(&mut request(line, Version::HTTP_11, fields), &silent()).err();
        assert_eq!(refused.map(|status| status.as_u16()), Some(status), "{line}");
    }
}

#[test]
fn the_host_setting_applies() {
    let fixed = HostSetting::Fixed("fixed".to_owned());
    let cases: [(&HostSetting, &str, Fields, &str, &str); 11] = [
        (&HostSetting::Keep, "GET /", &[("host", "a")], "127.0.0.1:9000", "a"),
        (&HostSetting::Keep, "GET /", &[("host", "")], "127.0.0.1:9000", ""),
        (&HostSetting::Keep, "GET /", &[], "127.0.0.1:9000", "127.0.0.1:9000"),
        (&HostSetting::Keep, "GET http://b/", &[("host", "a")], "127.0.0.1:9000", "b"),
        (&fixed, "GET http://b/", &[("host", "a")], "127.0.0.1:9000", "fixed"),
        (&fixed, "GET /", &[], "127.0.0.1:9000", "fixed"),
        (&HostSetting::Server, "GET /", &[("host", "a")], "127.0.0.1:80", "127.0.0.1"),
        (&HostSetting::Server, "GET /", &[("host", "a")], "https://app", "app"),
        (&HostSetting::Server, "GET /", &[("host", "a")], "https://app:80", "app:80"),
        (&HostSetting::Server, "GET /", &[("host", "a")], "[::1]:9000", "[::1]:9000"),
        (&HostSetting::Server, "GET /", &[("host", "a")], "unix:/run/app.sock", "localhost"),
    ];
    for (host, line, fields, address, expected) in cases {
        let settings = ForwardingSettings { host: host.clone(), ..silent() };
        let mut outgoing = outgoing(&mut request(line, Version::HTTP_10, fields), &settings).unwrap();
        let hosts = |head: &RequestHead| -> Vec<_> {
            head.headers.get_all(KnownHeader::Host).map(|host| str::from_utf8(host).unwrap().to_owned()).collect()
        };
        assert_eq!(hosts(outgoing.head_for(&server("other:1"))).len(), 1);
        assert_eq!(hosts(outgoing.head_for(&server(address))), [expected], "{line} {host:?}");
    }
}

#[test]
fn x_forwarded_host_has_the_original_host() {
    let settings = ForwardingSettings { host: HostSetting::Fixed("inner".to_owned()), ..ForwardingSettings::default() };
    let fields = [("host", "a"), ("x-forwarded-for", "1.2.3.4"), ("connection", "x-forwarded-host")];
    let outgoing = outgoing(&mut request("GET http://b/", Version::HTTP_11, &fields), &settings).unwrap();
    let expected = [
        ("host", "inner"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-proto", "http"),
        ("x-forwarded-host", "b"),
        ("via", "1.1 serow"),
    ];
    assert_eq!(outgoing.head.headers, headers(&expected));
}

#[test]
fn fields_are_set_to_texts_with_variables_of_the_request_as_the_client_sent_it() {
    let text = |name: &str, text: &str| (name.to_owned(), Text::parse(text, &Scope::default()).unwrap());
    let settings = ForwardingSettings {
        request_texts: vec![
            text("X-Real-IP", "$remote_addr"),
            text("X-Path", "[$uri] $request_uri"),
            text("X-Both", "$http_x_both, proxy"),
            text("X-Absent", "$arg_none"),
            text("X-Host", "$host"),
        ],
        host: HostSetting::Fixed("inner".to_owned()),
        strip_prefix: Some("/a".to_owned()),
        ..silent()
    };
    let fields = [("Host", "Outer.:80"), ("X-Real-IP", "6.6.6.6"), ("x-both", "client"), ("X-Absent", "old")];
    // No value begins another line, and none is a variable again.
    for (line, path) in [
        ("GET /a/b%0D%0AX-Evil:%201", "[/a/bX-Evil: 1] /a/b%0D%0AX-Evil:%201"),
        ("GET /a/$host%7F?c", "[/a/$host] /a/$host%7F?c"),
        // As routes see the path.
        ("GET /a//./%63?d", "[/a/c] /a//./%63?d"),
    ] {
        let mut request = request(line, Version::HTTP_11, &fields);
        let head = outgoing(&mut request, &settings).unwrap();
        let sent = head.headers();
        assert_eq!(sent.get_str("x-real-ip"), Some("192.0.2.1"), "{line}");
        assert_eq!(sent.get_str("x-path"), Some(path), "{line}");
        assert_eq!(sent.get_all("x-both").collect::<Vec<_>>(), [b"client, proxy"], "{line}");
        assert_eq!((sent.get_str("x-absent"), sent.get_str("x-evil")), (None, None), "{line}");
        assert_eq!((sent.get_str("x-host"), sent.get_str("host")), (Some("outer"), Some("inner")), "{line}");
    }
}

#[test]
fn header_rules_apply() {
    let rule = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let request_headers = vec![
        rule("accept-encoding", ""),
        rule("X-Forwarded-Proto", "https"),
        rule("X-New", "1"),
        rule("Host", "inner"),
        rule("Via", ""),
        // Not theirs to say.
        rule("Connection", "close"),
        rule("Transfer-Encoding", "chunked"),
        rule("Content-Length", ""),
    ];
    let settings = ForwardingSettings { request_headers, ..ForwardingSettings::default() };
    let fields = [("Host", "a"), ("Accept-Encoding", "gzip"), ("content-length", "4")];
    let mut outgoing = outgoing(&mut request("POST /", Version::HTTP_11, &fields), &settings).unwrap();
    let expected = [
        ("Host", "inner"),
        ("content-length", "4"),
        ("x-forwarded-for", "192.0.2.1"),
        ("X-Forwarded-Proto", "https"),
        ("x-forwarded-host", "a"),
        ("X-New", "1"),
    ];
    assert_eq!(outgoing.head_for(&server("app:1")).headers, headers(&expected));
}
