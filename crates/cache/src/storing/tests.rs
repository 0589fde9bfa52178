//! Responses that are stored, and others.

use std::time::Duration;

use super::*;
use crate::stored::tests::headers;

const NOW: Time = Time::from_seconds(1_700_000_000);

fn store(
    has_credentials: bool,
    no_store: bool,
    status: u16,
    fields: &[(&str, &str)],
) -> Result<(StorableHead, Extent), NotStored> {
    let request = headers(&[]);
    let request =
        StoringRequest { method: &Method::GET, headers: &request, has_credentials, no_store, set_fields: &[] };
    let exchange = ExchangeTimes { sent: NOW, received: NOW };
    let status = StatusCode::from_u16(status).unwrap();
    storable(request, status, &headers(fields), &CacheRules::default(), exchange)
}

#[test]
fn responses_and_why_they_are_not_stored() {
    use NotStored::{Credentials, NoStore, NotFresh, Part, Private, SetCookie, Status, Vary};
    let modified = "Sun, 06 Nov 1994 08:49:37 GMT";
    let cases: [(u16, &[(&str, &str)], Option<NotStored>); 27] = [
        // §3
        (200, &[("cache-control", "max-age=60")], None),
        (200, &[("cache-control", "s-maxage=60")], None),
        (200, &[("last-modified", modified)], None),
        (200, &[("etag", "\"a\"")], None),
        (200, &[], Some(NotFresh)),
        (200, &[("cache-control", "max-age=0")], Some(NotFresh)),
        (200, &[("cache-control", "max-age=0"), ("etag", "\"a\"")], None),
        (200, &[("cache-control", "max-age=60"), ("age", "60")], Some(NotFresh)),
        (200, &[("cache-control", "max-age=0, stale-while-revalidate=5")], None),
        (302, &[("etag", "\"a\"")], Some(NotFresh)),
        (302, &[("cache-control", "max-age=60")], None),
        (599, &[("cache-control", "max-age=60")], None),
        (206, &[("cache-control", "max-age=60")], Some(Part)),
        (416, &[("cache-control", "max-age=60"), ("content-range", "bytes */10")], Some(Status)),
        (304, &[("cache-control", "max-age=60")], Some(Status)),
        // §5.2.2.3
        (200, &[("cache-control", "max-age=60, must-understand, no-store")], None),
        (599, &[("cache-control", "max-age=60, must-understand, no-store")], Some(Status)),
        // §5.2.2.4, §5.2.2.5, §5.2.2.7
        (200, &[("cache-control", "max-age=60, no-store")], Some(NoStore)),
        (200, &[("cache-control", "max-age=60, private")], Some(Private)),
        (200, &[("cache-control", "max-age=60, private=\"x\"")], None),
        (200, &[("cache-control", "max-age=60, no-cache")], Some(NotFresh)),
        (200, &[("cache-control", "max-age=60, no-cache"), ("etag", "\"a\"")], None),
        // §4.1
        (200, &[("cache-control", "max-age=60"), ("vary", "a, *")], Some(Vary)),
        // §7.3
        (200, &[("cache-control", "max-age=60"), ("set-cookie", "a=b")], Some(SetCookie)),
        (200, &[("cache-control", "public, max-age=60"), ("set-cookie", "a=b")], Some(SetCookie)),
        (200, &[("cache-control", "max-age=60, private=\"set-cookie\""), ("set-cookie", "a=b")], None),
        (200, &[("cache-control", "max-age=60, no-cache"), ("etag", "\"a\""), ("set-cookie", "a")], Some(SetCookie)),
    ];
    for (status, fields, expected) in cases {
        assert_eq!(store(false, false, status, fields).err(), expected, "{status} {fields:?}");
    }
    // §3.5
    for (value, expected) in [
        ("max-age=60", Some(Credentials)),
        ("max-age=60, proxy-revalidate", Some(Credentials)),
        ("max-age=60, public", None),
        ("max-age=60, must-revalidate", None),
        ("s-maxage=60", None),
    ] {
        assert_eq!(store(true, false, 200, &[("cache-control", value)]).err(), expected, "{value}");
    }
    let found = store(false, true, 200, &[("cache-control", "max-age=60")]).err();
    assert_eq!(found, Some(NotStored::RequestNoStore));
}

#[test]
fn fields_of_the_exchange_are_not_stored() {
    // RFC 9111 §3.1, RFC 9110 §7.6.1.
    let found = store(
        false,
        false,
        200,
        &[
            ("cache-control", "max-age=60, private=\"x-user\", no-cache=\"set-cookie\""),
            ("connection", "x-hop"),
            ("x-hop", "1"),
            ("x-user", "alice"),
            ("set-cookie", "a=b"),
            ("proxy-authenticate", "Basic"),
            ("authentication-info", "rspauth=x"),
            ("X-Accel-Buffering", "no"),
            ("x-accel-expires", "5"),
            ("age", "1"),
            ("content-length", "5"),
            ("x-kept", "1"),
        ],
    );
    let names: Vec<_> = found
        .unwrap()
        .0
        .headers
        .to_headers()
        .iter()
        .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
        .collect();
    assert_eq!(names, ["cache-control", "x-kept", "date"]);
}

#[test]
fn a_part_is_stored_as_what_is_there_of_the_whole() {
    // §3.3, §3.4.
    let request = headers(&[("range", "bytes=0-4")]);
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let exchange = ExchangeTimes { sent: NOW, received: NOW };
    let part = [("content-range", "bytes 0-4/10"), ("etag", "\"a\""), ("content-length", "5")];
    let store = |status, fields: &[(&str, &str)]| {
        let fields = headers(&[&part, fields].concat());
        storable(request, status, &fields, &CacheRules::default(), exchange)
    };
    let (found, extent) = store(StatusCode::PARTIAL_CONTENT, &[("cache-control", "max-age=60")]).unwrap();
    let names: Vec<_> =
        found.headers.to_headers().iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect();
    assert_eq!(names, ["etag", "cache-control", "date"]);
    let place = crate::ContentRange::new(0..5, 10).unwrap();
    assert_eq!((extent, found.status), (Extent::Part(place), StatusCode::OK));
    // All the other rules hold.
    for (value, expected) in [("max-age=60, no-store", NotStored::NoStore), ("max-age=60, private", NotStored::Private)]
    {
        let found = store(StatusCode::PARTIAL_CONTENT, &[("cache-control", value)]);
        assert_eq!(found.err(), Some(expected), "{value}");
    }
    let (whole, extent) = store(StatusCode::OK, &[("cache-control", "max-age=60")]).unwrap();
    assert!(extent == Extent::Whole && whole.headers.to_headers().contains("content-range"));
}

#[test]
fn responses_to_requests_with_cookies_need_a_lifetime() {
    let request = headers(&[("cookie", "session=1")]);
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    for (fields, expected) in [
        (&[("cache-control", "max-age=60")][..], None),
        (&[("cache-control", "max-age=0"), ("etag", "\"a\"")], None),
        (&[("cache-control", "public"), ("etag", "\"a\"")], None),
        (&[("etag", "\"a\"")], Some(NotStored::Credentials)),
        (&[("cache-control", "no-cache"), ("etag", "\"a\"")], Some(NotStored::Credentials)),
        (&[("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(NotStored::Credentials)),
    ] {
        let exchange = ExchangeTimes { sent: NOW, received: NOW };
        let found = storable(request, StatusCode::OK, &headers(fields), &CacheRules::default(), exchange);
        assert_eq!(found.err(), expected, "{fields:?}");
    }
}

#[test]
fn ignored_fields_decide_nothing() {
    use NotStored::{Credentials, NotFresh, Private, SetCookie, Vary};
    let all = [KnownHeader::SetCookie, KnownHeader::CacheControl, KnownHeader::Expires, KnownHeader::Vary];
    let cases: [(&[KnownHeader], bool, &[(&str, &str)], Option<NotStored>); 9] = [
        (&all, false, &[("cache-control", "no-store, private"), ("set-cookie", "a=b"), ("vary", "*")], None),
        (&all, false, &[("expires", "0"), ("vary", "a")], None),
        (&all, true, &[("cache-control", "public")], Some(Credentials)),
        (&all[..1], false, &[("cache-control", "private"), ("set-cookie", "a=b")], Some(Private)),
        (&all[1..2], false, &[("cache-control", "private"), ("set-cookie", "a=b")], Some(SetCookie)),
        (&all[..3], false, &[("vary", "*")], Some(Vary)),
        (&all[1..2], false, &[("expires", "0")], Some(NotFresh)),
        (&all[2..3], false, &[("cache-control", "max-age=0")], Some(NotFresh)),
        (&all, false, &[("cdn-cache-control", "private")], Some(Private)),
    ];
    for (ignored, has_credentials, fields, expected) in cases {
        let default_lifetimes = vec![(200..=200, Duration::from_secs(60))];
        let rules = CacheRules { ignored_fields: ignored.to_vec(), default_lifetimes, ..CacheRules::default() };
        let request = headers(&[]);
        let request = StoringRequest {
            method: &Method::GET,
            headers: &request,
            has_credentials,
            no_store: false,
            set_fields: &[],
        };
        let exchange = ExchangeTimes { sent: NOW, received: NOW };
        let stored = storable(request, StatusCode::OK, &headers(fields), &rules, exchange);
        assert_eq!(stored.as_ref().err().copied(), expected, "{fields:?}");
        let Ok((head, _)) = stored else { continue };
        assert!(head.variant.is_any());
        assert_eq!(head.freshness.lifetime(), Duration::from_secs(60));
        // They are sent, but for cookies.
        for (name, value) in fields {
            let kept = head.headers.get(*name).map(String::from_utf8_lossy);
            assert_eq!(kept.as_deref(), (*name != "set-cookie").then_some(*value));
        }
    }
}

#[test]
fn a_coding_is_told_apart_though_vary_is_ignored() {
    let rules = CacheRules { ignored_fields: vec![KnownHeader::Vary], ..CacheRules::default() };
    let request = headers(&[("accept-encoding", "gzip")]);
    let request = StoringRequest {
        method: &Method::GET,
        headers: &request,
        has_credentials: false,
        no_store: false,
        set_fields: &[],
    };
    let fields = [("cache-control", "max-age=60"), ("vary", "user-agent"), ("content-encoding", "gzip")];
    let exchange = ExchangeTimes { sent: NOW, received: NOW };
    let (head, _) = storable(request, StatusCode::OK, &headers(&fields), &rules, exchange).unwrap();
    assert!(head.variant.matches(&headers(&[("accept-encoding", "gzip"), ("user-agent", "x")])));
    assert!(!head.variant.matches(&headers(&[("user-agent", "x")])));
}
