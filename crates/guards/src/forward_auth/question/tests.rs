use std::sync::Arc;

use serow_message::{Connection, Network, Peer};

use super::{super::tests::settings, *};

fn asked(method: &str, target: &str, fields: &[(&'static str, &str)], trust: &[&str]) -> Option<Request> {
    let mut headers = Headers::new();
    fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let target = Target::parse(target.to_owned().into(), method == Method::CONNECT).unwrap();
    let head = RequestHead { method, target, version: Version::HTTP_11, headers };
    let connection = Connection::new(Peer::Tcp("192.0.2.1:1234".parse().unwrap()), None, Scheme::Https);
    let trust = trust.iter().map(|network| network.parse::<Network>().unwrap()).collect();
    of(&Request::new(head, "body".into(), connection), &ForwardAuthSettings { trust: Arc::new(trust), ..settings() })
}

fn lines(request: &Request) -> Vec<String> {
    let mut lines: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{}: {}", name.escape_ascii(), value.escape_ascii()).to_ascii_lowercase())
        .collect();
    lines.sort();
    lines
}

#[test]
fn the_other_server_gets_the_fields_of_the_client_and_which_request_it_is() {
    let fields = &[
        ("Host", "app.example"),
        ("Cookie", "session=1"),
        ("Authorization", "Basic eA=="),
        ("Accept", "text/html"),
        ("User-Agent", "curl"),
        ("Content-Length", "4"),
        ("Content-Type", "text/plain"),
        ("If-None-Match", "\"a\""),
        ("Range", "bytes=0-1"),
        ("Expect", "100-continue"),
    ];
    let request = asked("POST", "/a%20b?c=d", fields, &[]).unwrap();
    assert_eq!((&request.method, request.target.as_str()), (&Method::GET, "/api/verify?rd=https://auth.example/"));
    assert_eq!(request.body.length(), Some(0));
    let expected = [
        "accept: text/html",
        "authorization: basic ea==",
        "cookie: session=1",
        "host: app.example",
        "user-agent: curl",
        "x-forwarded-for: 192.0.2.1",
        "x-forwarded-host: app.example",
        "x-forwarded-method: post",
        "x-forwarded-proto: https",
        "x-forwarded-uri: /a%20b?c=d",
        "x-original-method: post",
        "x-original-url: https://app.example/a%20b?c=d",
    ];
    assert_eq!(lines(&request), expected);
}

#[test]
fn forged_identity_and_forwarding_fields_are_removed() {
    let fields = &[
        ("Host", "app.example"),
        ("Remote-User", "admin"),
        ("remote_user", "admin"),
        ("Remote.Groups", "admins"),
        ("X-Forwarded-For", "10.0.0.1"),
        ("X-Forwarded-Host", "public.example"),
        ("X-Forwarded-Uri", "/public"),
        ("X-Forwarded-Method", "OPTIONS"),
        ("X-Original-URL", "https://public.example/"),
        ("X_Original_URL", "https://public.example/"),
        ("X-Original-Method", "OPTIONS"),
        ("X-Forwarded-Port", "1"),
        ("X-Real-IP", "10.0.0.1"),
        ("Forwarded", "for=10.0.0.1"),
    ];
    let expected = |client: &str, host: &str, more: &[&str]| {
        let mut lines = vec![
            "host: app.example".to_owned(),
            format!("x-forwarded-for: {client}"),
            format!("x-forwarded-host: {host}"),
            "x-forwarded-method: get".to_owned(),
            "x-forwarded-proto: https".to_owned(),
            "x-forwarded-uri: /secret".to_owned(),
            "x-original-method: get".to_owned(),
            format!("x-original-url: https://{host}/secret"),
        ];
        lines.extend(more.iter().map(|line| (*line).to_owned()));
        lines.sort();
        lines
    };
    assert_eq!(
        lines(&asked("GET", "/secret", fields, &[]).unwrap()),
        expected("192.0.2.1", "app.example", &[]),
        "an untrusted client"
    );
    // A trusted proxy says who the client is and which host it asked, but not which path.
    let more = ["forwarded: for=10.0.0.1", "x-forwarded-port: 1", "x-real-ip: 10.0.0.1"];
    assert_eq!(
        lines(&asked("GET", "/secret", fields, &["192.0.2.0/24"]).unwrap()),
        expected("10.0.0.1, 192.0.2.1", "public.example", &more),
        "a trusted proxy"
    );
}

#[test]
fn absolute_targets_name_host_and_path_and_others_are_not_asked_about() {
    let request = asked("GET", "http://other.example/a?b", &[("Host", "app.example")], &[]).unwrap();
    for (name, expected) in [
        ("host", "other.example"),
        ("x-forwarded-host", "other.example"),
        ("x-forwarded-uri", "/a?b"),
        ("x-original-url", "https://other.example/a?b"),
    ] {
        assert_eq!(request.headers.get_str(name), Some(expected), "{name}");
    }
    assert!(asked("OPTIONS", "*", &[], &[]).is_none());
    assert!(asked("CONNECT", "a.example:443", &[], &[]).is_none());
}
