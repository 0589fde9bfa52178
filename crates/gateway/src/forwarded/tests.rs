//! Header fields of requests before and after.

use std::net::SocketAddr;

use super::*;

fn headers(fields: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).unwrap();
    }
    headers
}

fn connection(peer: &str, scheme: Scheme) -> Connection {
    let peer = peer.parse().map_or(Peer::Unix, |address: IpAddr| Peer::Tcp(SocketAddr::new(address, 1234)));
    Connection::new(peer, None, scheme)
}

fn forwarded(fields: ForwardedFields, trusted: &[&str]) -> Forwarded {
    Forwarded { fields, trusted: trusted.iter().map(|network| network.parse().unwrap()).collect() }
}

struct Case {
    fields: ForwardedFields,
    trusted: &'static [&'static str],
    peer: &'static str,
    before: &'static [(&'static str, &'static str)],
    after: &'static [(&'static str, &'static str)],
}

const NONE: &[&str] = &[];
const TEN: &[&str] = &["10.0.0.0/8", "unix"];
const CLAIMS: &[(&str, &str)] = &[
    ("host", "a.example:8080"),
    ("x-forwarded-for", "192.0.2.1"),
    ("X-FORWARDED-FOR", "192.0.2.2, 192.0.2.3"),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-host", "b.example"),
    ("X-Forwarded-Port", "443"),
    ("X-Real-Ip", "192.0.2.1"),
    ("forwarded", "for=192.0.2.9"),
    ("x-request-id", "7"),
];

const CASES: &[Case] = &[
    Case {
        fields: ForwardedFields::X,
        trusted: NONE,
        peer: "203.0.113.5",
        before: &[("host", "a.example"), ("accept", "*/*")],
        after: &[
            ("host", "a.example"),
            ("accept", "*/*"),
            ("x-forwarded-for", "203.0.113.5"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "a.example"),
        ],
    },
    Case {
        fields: ForwardedFields::X,
        trusted: TEN,
        peer: "203.0.113.5",
        before: CLAIMS,
        after: &[
            ("host", "a.example:8080"),
            ("x-request-id", "7"),
            ("x-forwarded-for", "203.0.113.5"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "a.example:8080"),
        ],
    },
    Case {
        fields: ForwardedFields::X,
        trusted: TEN,
        peer: "::ffff:10.0.0.1",
        before: CLAIMS,
        after: &[
            ("host", "a.example:8080"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "b.example"),
            ("X-Forwarded-Port", "443"),
            ("X-Real-Ip", "192.0.2.1"),
            ("forwarded", "for=192.0.2.9"),
            ("x-request-id", "7"),
            ("x-forwarded-for", "192.0.2.1, 192.0.2.2, 192.0.2.3, 10.0.0.1"),
        ],
    },
    // Of lists, the elements count that the proxy wrote which names the client; those before are the client's words.
    Case {
        fields: ForwardedFields::X,
        trusted: TEN,
        peer: "10.0.0.1",
        before: &[
            ("host", "inner"),
            ("x-forwarded-for", "198.51.100.7, 192.0.2.1"),
            ("x-forwarded-proto", "https, http"),
            ("x-forwarded-host", "evil.example"),
            ("x-forwarded-host", "a.example"),
        ],
        after: &[
            ("host", "inner"),
            ("x-forwarded-for", "198.51.100.7, 192.0.2.1, 10.0.0.1"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "a.example"),
        ],
    },
    Case {
        fields: ForwardedFields::Standard,
        trusted: TEN,
        peer: "10.0.0.1",
        before: &[("forwarded", "for=192.0.2.9"), ("forwarded", "for=192.0.2.8;by=x"), ("x-forwarded-for", "1.2.3.4")],
        after: &[
            ("x-forwarded-for", "1.2.3.4"),
            ("forwarded", "for=192.0.2.9, for=192.0.2.8;by=x, for=10.0.0.1;proto=http"),
        ],
    },
    Case {
        fields: ForwardedFields::Standard,
        trusted: NONE,
        peer: "2001:db8::5",
        before: CLAIMS,
        after: &[
            ("host", "a.example:8080"),
            ("x-request-id", "7"),
            ("forwarded", "for=\"[2001:db8::5]\";proto=http;host=\"a.example:8080\""),
        ],
    },
    Case {
        fields: ForwardedFields::Both,
        trusted: NONE,
        peer: "unix",
        before: &[("host", "a"), ("x-forwarded-for", "192.0.2.1")],
        after: &[
            ("host", "a"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "a"),
            ("forwarded", "for=unknown;proto=http;host=a"),
        ],
    },
    Case {
        fields: ForwardedFields::X,
        trusted: TEN,
        peer: "unix",
        before: &[("host", "[::1]:80"), ("x-forwarded-for", "192.0.2.1")],
        after: &[
            ("host", "[::1]:80"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-proto", "http"),
            ("x-forwarded-host", "[::1]:80"),
        ],
    },
    Case {
        fields: ForwardedFields::Off,
        trusted: NONE,
        peer: "203.0.113.5",
        before: CLAIMS,
        after: &[("host", "a.example:8080"), ("x-request-id", "7")],
    },
    Case { fields: ForwardedFields::Off, trusted: TEN, peer: "10.9.9.9", before: CLAIMS, after: CLAIMS },
    Case {
        fields: ForwardedFields::Standard,
        trusted: NONE,
        peer: "unix",
        before: &[("host", "")],
        after: &[("host", ""), ("forwarded", "for=unknown;proto=http")],
    },
];

#[test]
fn forwarded_fields_describe_the_client() {
    for (number, case) in CASES.iter().enumerate() {
        let mut given = headers(case.before);
        let values = forwarded(case.fields, case.trusted).values(&given, &connection(case.peer, Scheme::Http));
        given.retain_known(|name, known, _| !values.replaces(name, known));
        values.append_to(&mut given);
        assert_eq!(given, headers(case.after), "case {number}");
    }
}

#[test]
fn encrypted_connections_are_https() {
    let given = headers(&[("host", "a")]);
    let values = forwarded(ForwardedFields::Both, NONE).values(&given, &connection("192.0.2.1", Scheme::Https));
    let mut after = given;
    values.append_to(&mut after);
    assert_eq!(after.get_str(KnownHeader::XForwardedProto), Some("https"));
    assert_eq!(after.get_str(KnownHeader::Forwarded), Some("for=192.0.2.1;proto=https;host=a"));
}

#[test]
fn every_octet_is_written_in_decimal() {
    for octet in 0..=255 {
        let address = IpAddr::from([octet, 0, 255 - octet, octet]);
        let mut text = Text::new();
        write_address(address, &mut text);
        assert_eq!(text[..], *address.to_string().as_bytes());
    }
}
