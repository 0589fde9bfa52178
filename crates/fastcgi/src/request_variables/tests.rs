use alloc::{format, string::String, vec::Vec};
use core::net::Ipv4Addr;

use super::*;

const FACTS: RequestFacts<'_> = RequestFacts {
    method: "POST",
    target: "/a%2Fb.php/x%20y?q=%31",
    query: "q=%31",
    protocol: "HTTP/2",
    scheme: "https",
    server_software: "Serow",
    server_name: "[::1]",
    server_port: "8443",
    server_address: None,
    remote_address: Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))),
    remote_port: Some(1024),
    user: None,
    auth_type: None,
    content_length: Some(5),
    authority: None,
    script: Script {
        filename: Some(b"/srv/a/b.php"),
        name: b"/a/b.php",
        path_info: Some(b"/x y"),
        document_root: Some(b"/srv"),
    },
};

fn headers(fields: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::new();
    fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
    headers
}

/// The variables as lines, those of fields only.
fn of_fields(facts: &RequestFacts<'_>, fields: &[(&str, &str)]) -> Vec<String> {
    let variables = request_variables(facts, &headers(fields), |_, _| true).unwrap();
    let lines = variables.iter().map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()));
    lines.filter(|line| line.starts_with("HTTP_") || line.starts_with("CONTENT_T")).collect()
}

#[test]
fn facts_become_variables() {
    let facts = RequestFacts {
        user: Some("ann"),
        auth_type: Some("Basic"),
        server_address: Some("::ffff:192.0.2.2".parse().unwrap()),
        ..FACTS
    };
    let variables = request_variables(&facts, &Headers::new(), |_, _| true).unwrap();
    let expected = [
        ("GATEWAY_INTERFACE", "CGI/1.1"),
        ("REDIRECT_STATUS", "200"),
        ("REQUEST_METHOD", "POST"),
        ("REQUEST_URI", "/a%2Fb.php/x%20y?q=%31"),
        ("QUERY_STRING", "q=%31"),
        ("SERVER_PROTOCOL", "HTTP/2"),
        ("SERVER_SOFTWARE", "Serow"),
        ("REQUEST_SCHEME", "https"),
        ("SERVER_NAME", "[::1]"),
        ("SERVER_PORT", "8443"),
        ("SCRIPT_NAME", "/a/b.php"),
        ("SCRIPT_FILENAME", "/srv/a/b.php"),
        ("PATH_INFO", "/x y"),
        ("DOCUMENT_ROOT", "/srv"),
        ("HTTPS", "on"),
        ("REMOTE_USER", "ann"),
        ("AUTH_TYPE", "Basic"),
        ("REMOTE_ADDR", "192.0.2.1"),
        ("SERVER_ADDR", "192.0.2.2"),
        ("REMOTE_PORT", "1024"),
        ("CONTENT_LENGTH", "5"),
    ];
    assert!(variables.iter().eq(expected.map(|(name, value)| (name.as_bytes(), value.as_bytes()))), "{variables:?}");
}

#[test]
fn unknown_facts_are_left_out() {
    let facts = RequestFacts {
        scheme: "http",
        remote_address: None,
        remote_port: None,
        content_length: None,
        script: Script::default(),
        ..FACTS
    };
    let variables = request_variables(&facts, &Headers::new(), |_, _| true).unwrap();
    for absent in
        ["HTTPS", "REMOTE_PORT", "CONTENT_LENGTH", "SCRIPT_FILENAME", "PATH_INFO", "DOCUMENT_ROOT", "REMOTE_USER"]
    {
        assert_eq!(variables.get(absent), None, "{absent}");
    }
    assert_eq!(variables.get("SCRIPT_NAME"), Some(&b""[..]));
    assert_eq!(variables.get("REMOTE_ADDR"), Some(&b""[..]));
}

#[test]
fn fields_become_variables_once() {
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);
    let cases: [Case; 11] = [
        (&[("Accept-Language", "de"), ("x9", "")], &["HTTP_ACCEPT_LANGUAGE=de", "HTTP_X9="]),
        (&[("Cookie", "a=1"), ("X", "2"), ("cookie", "b=3")], &["HTTP_COOKIE=a=1; b=3", "HTTP_X=2"]),
        (&[("X-A", "1"), ("x-a", "2"), ("X-A", "3")], &["HTTP_X_A=1, 2, 3"]),
        (&[("Authorization", "Basic YQ==")], &["HTTP_AUTHORIZATION=Basic YQ=="]),
        (&[("Content-Type", "text/plain"), ("Content-Length", "9")], &["CONTENT_TYPE=text/plain"]),
        (&[("Transfer-Encoding", "chunked")], &[]),
        // The variables of other fields.
        (&[("X_A", "1"), ("X.A", "2"), ("X-A", "3"), ("X~A", "4")], &["HTTP_X_A=3"]),
        (&[("Proxy", "evil:80"), ("PROXY", "evil:80")], &[]),
        // They are no settings of PHP.
        (
            &[("PHP-VALUE", "a"), ("Php-Admin-Value", "b"), ("PATH-TRANSLATED", "c")],
            &["HTTP_PHP_VALUE=a", "HTTP_PHP_ADMIN_VALUE=b", "HTTP_PATH_TRANSLATED=c"],
        ),
        (&[("Content_Type", "a"), ("Content-Type", "b")], &["CONTENT_TYPE=b"]),
        (&[("Host", "a.example")], &["HTTP_HOST=a.example"]),
    ];
    for (fields, expected) in cases {
        assert_eq!(of_fields(&FACTS, fields), expected, "{fields:?}");
    }
}

#[test]
fn the_host_of_the_target_takes_precedence() {
    let facts = RequestFacts { authority: Some("a.example:8443"), ..FACTS };
    for fields in [&[][..], &[("Host", "b.example")]] {
        assert_eq!(of_fields(&facts, fields), ["HTTP_HOST=a.example:8443"]);
    }
}

#[test]
fn withheld_fields_are_not_variables() {
    let fields = headers(&[("X-Forwarded-For", "192.0.2.9"), ("X-Other", "1")]);
    let is_shown = |_: &[u8], known| known != Some(KnownHeader::XForwardedFor);
    let variables = request_variables(&FACTS, &fields, is_shown).unwrap();
    assert_eq!((variables.get("HTTP_X_FORWARDED_FOR"), variables.get("HTTP_X_OTHER")), (None, Some(&b"1"[..])));
}

#[test]
fn nul_is_refused_in_each_part() {
    let script = FACTS.script;
    for (facts, name) in [
        (RequestFacts { target: "/a\0", ..FACTS }, "REQUEST_URI"),
        (RequestFacts { script: Script { path_info: Some(b"/\0"), ..script }, ..FACTS }, "PATH_INFO"),
        (RequestFacts { script: Script { filename: Some(b"/b.php\0.jpg"), ..script }, ..FACTS }, "SCRIPT_FILENAME"),
    ] {
        assert_eq!(request_variables(&facts, &Headers::new(), |_, _| true), Err(VariablesError::nul(name.as_bytes())));
    }
}
