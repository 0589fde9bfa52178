//! Which responses are compressed, and their header fields.

use std::io::Read;

use serow_message::{Method, Request, Version};

use super::*;
use crate::policy::RoutePolicy;

/// A case: what differs from a GET with `Accept-Encoding: gzip` for 20 KB of JSON, and what comes of it.
struct Case {
    name: &'static str,
    method: Method,
    version: Version,
    request: &'static [(&'static str, &'static str)],
    status: u16,
    response: &'static [(&'static str, &'static str)],
    length: usize,
    /// The fields of the result that have to do with compression, in this order: Content-Encoding, Vary, ETag,
    /// Content-Length, Accept-Ranges; `-` for none.
    expected: &'static str,
}

impl Default for Case {
    fn default() -> Self {
        Self {
            name: "usual",
            method: Method::GET,
            version: Version::HTTP_11,
            request: &[("accept-encoding", "gzip")],
            status: 200,
            response: JSON,
            length: 20_000,
            expected: "gzip Accept-Encoding - - -",
        }
    }
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

#[allow(clippy::too_many_lines, reason = "it is a table")]
fn cases() -> Vec<Case> {
    let plain = "- Accept-Encoding - - -";
    let untouched = "- - - - -";
    vec![
        Case::default(),
        Case { name: "no coding accepted", request: &[], expected: plain, ..Case::default() },
        Case {
            name: "identity preferred",
            request: &[("accept-encoding", "identity, gzip;q=0.5")],
            expected: plain,
            ..Case::default()
        },
        Case {
            name: "the server's order",
            request: &[("accept-encoding", "gzip, br, zstd")],
            expected: "zstd Accept-Encoding - - -",
            ..Case::default()
        },
        Case { name: "HTTP/1.0", version: Version::HTTP_10, expected: plain, ..Case::default() },
        Case { name: "too small", length: 1023, expected: untouched, ..Case::default() },
        Case { name: "just large enough", length: 1024, ..Case::default() },
        Case { name: "empty", length: 0, expected: untouched, ..Case::default() },
        Case { name: "an error page", status: 500, ..Case::default() },
        Case { name: "204", status: 204, length: 0, expected: untouched, ..Case::default() },
        Case {
            name: "206 of something small",
            status: 206,
            response: &[("content-type", "application/json"), ("content-range", "bytes 0-9/100")],
            expected: untouched,
            ..Case::default()
        },
        Case {
            name: "206 has the Vary of 200",
            status: 206,
            response: &[("content-type", "application/json"), ("content-range", "bytes 0-9/12000"), ("etag", "\"a\"")],
            expected: "- Accept-Encoding \"a\" - -",
            ..Case::default()
        },
        Case {
            name: "206 of a length that is not known, without a coding accepted",
            status: 206,
            request: &[],
            response: &[("content-type", "application/json"), ("content-range", "bytes 0-9/*"), ("vary", "Cookie")],
            expected: "- Cookie,Accept-Encoding - - -",
            ..Case::default()
        },
        Case {
            name: "206 with several parts",
            status: 206,
            response: &[("content-type", "Multipart/byteranges; boundary=x")],
            expected: plain,
            ..Case::default()
        },
        Case {
            name: "206 without a type, to If-Range",
            status: 206,
            response: &[("content-range", "bytes 0-9/12000")],
            expected: plain,
            ..Case::default()
        },
        Case {
            name: "206 of a picture",
            status: 206,
            response: &[("content-type", "image/png"), ("content-range", "bytes 0-9/12000")],
            expected: untouched,
            ..Case::default()
        },
        Case {
            name: "206 of what the application compressed",
            status: 206,
            response: &[("content-type", "text/css"), ("content-encoding", "br"), ("content-range", "bytes 0-9/12000")],
            expected: "br - - - -",
            ..Case::default()
        },
        Case {
            name: "206 with no-transform",
            status: 206,
            response: &[("content-range", "bytes 0-9/12000"), ("cache-control", "no-transform")],
            expected: untouched,
            ..Case::default()
        },
        Case { name: "CONNECT", method: Method::CONNECT, expected: untouched, ..Case::default() },
        Case { name: "a picture", response: &[("content-type", "image/png")], expected: untouched, ..Case::default() },
        Case { name: "no type", response: &[], expected: untouched, ..Case::default() },
        Case {
            name: "gRPC",
            response: &[("content-type", "application/grpc+json")],
            expected: untouched,
            ..Case::default()
        },
        Case {
            name: "compressed by the application",
            response: &[("content-type", "application/json"), ("content-encoding", "br")],
            expected: "br - - - -",
            ..Case::default()
        },
        Case {
            name: "no-transform",
            response: &[("content-type", "application/json"), ("cache-control", "max-age=1, No-Transform")],
            expected: untouched,
            ..Case::default()
        },
        Case {
            name: "a digest of the content",
            response: &[("content-type", "application/json"), ("content-digest", "sha-256=:x:")],
            expected: untouched,
            ..Case::default()
        },
        Case {
            name: "a strong tag becomes weak, length and ranges go",
            response: &[
                ("content-type", "application/json"),
                ("etag", "\"a\""),
                ("content-length", "20000"),
                ("accept-ranges", "bytes"),
            ],
            expected: "gzip Accept-Encoding W/\"a\" - -",
            ..Case::default()
        },
        Case {
            name: "a tag of the uncompressed body stays",
            request: &[],
            response: &[("content-type", "application/json"), ("etag", "\"a\""), ("accept-ranges", "bytes")],
            expected: "- Accept-Encoding \"a\" - bytes",
            ..Case::default()
        },
        Case {
            name: "a weak tag stays",
            response: &[("content-type", "application/json"), ("etag", "W/\"a\"")],
            expected: "gzip Accept-Encoding W/\"a\" - -",
            ..Case::default()
        },
        Case {
            name: "an invalid tag goes",
            response: &[("content-type", "application/json"), ("etag", "a")],
            ..Case::default()
        },
        Case {
            name: "Vary is added to",
            response: &[("content-type", "application/json"), ("vary", "Cookie")],
            expected: "gzip Cookie,Accept-Encoding - - -",
            ..Case::default()
        },
        Case {
            name: "Vary is not repeated",
            response: &[("content-type", "application/json"), ("vary", "Cookie, accept-encoding")],
            expected: "gzip Cookie, accept-encoding - - -",
            ..Case::default()
        },
        Case {
            name: "Vary: * says all",
            response: &[("content-type", "application/json"), ("vary", "*")],
            expected: "gzip * - - -",
            ..Case::default()
        },
        Case {
            name: "HEAD has the fields of GET",
            method: Method::HEAD,
            response: &[("content-type", "application/json"), ("etag", "\"a\""), ("content-length", "20000")],
            length: 0,
            expected: "gzip Accept-Encoding W/\"a\" - -",
            ..Case::default()
        },
        Case {
            name: "HEAD of something small",
            method: Method::HEAD,
            response: &[("content-type", "application/json"), ("content-length", "20")],
            length: 0,
            expected: "- - - 20 -",
            ..Case::default()
        },
        Case {
            name: "304 to a client with the weak tag",
            status: 304,
            request: &[("accept-encoding", "gzip"), ("if-none-match", "\"b\", W/\"a\"")],
            response: &[("etag", "\"a\"")],
            length: 0,
            expected: "- Accept-Encoding W/\"a\" - -",
            ..Case::default()
        },
        Case {
            name: "304 to a client with the strong tag",
            status: 304,
            request: &[("accept-encoding", "gzip"), ("if-none-match", "\"a\", W/\"b\"")],
            response: &[("etag", "\"a\"")],
            length: 0,
            expected: "- Accept-Encoding \"a\" - -",
            ..Case::default()
        },
        Case {
            name: "304 to a client that accepts no coding, by its date",
            status: 304,
            request: &[("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT")],
            response: &[],
            length: 0,
            expected: plain,
            ..Case::default()
        },
        Case {
            name: "304 of a picture",
            status: 304,
            request: &[("if-none-match", "\"a\"")],
            response: &[("etag", "\"a\""), ("content-type", "image/png")],
            length: 0,
            expected: "- - \"a\" - -",
            ..Case::default()
        },
        Case {
            name: "304 with no-transform",
            status: 304,
            request: &[("if-none-match", "\"a\"")],
            response: &[("etag", "\"a\""), ("cache-control", "no-transform")],
            length: 0,
            expected: "- - \"a\" - -",
            ..Case::default()
        },
    ]
}

fn headers(fields: &[(&str, &str)]) -> Headers {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).unwrap();
    }
    headers
}

fn text(length: usize) -> Vec<u8> {
    br#"{"name": "serow", "mountains": ["Alps", "Andes"]}, "#.iter().copied().cycle().take(length).collect()
}

fn answer(case: &Case) -> Response {
    let policy = RoutePolicy { compression: Some(Compression::default()), ..RoutePolicy::default() };
    let mut request = Request::get("/");
    request.method = case.method.clone();
    request.version = case.version;
    request.headers = headers(case.request);
    let mut response = Response {
        status: StatusCode::from_u16(case.status).unwrap(),
        headers: headers(case.response),
        body: text(case.length).into(),
        ..Response::default()
    };
    let asked = policy.ask(&request);
    Compression::default().apply(&asked, &mut response);
    response
}

#[test]
fn rules() {
    for case in cases() {
        let response = answer(&case);
        let fields = ["content-encoding", "vary", "etag", "content-length", "accept-ranges"].map(|name| {
            let values: Vec<_> = response.headers.get_all(name).map(String::from_utf8_lossy).collect();
            if values.is_empty() { "-".to_owned() } else { values.join(",") }
        });
        assert_eq!(fields.join(" "), case.expected, "{}", case.name);
        assert_eq!(response.status.as_u16(), case.status, "{}", case.name);
        if case.method == Method::HEAD && fields[0] != "-" {
            // Neither 0 nor the length of the uncompressed body.
            assert_eq!(response.body.length(), None, "{}", case.name);
        }
    }
}

#[test]
fn a_body_in_memory_stays_in_memory() {
    let response = answer(&Case::default());
    let BodyKind::Bytes(body) = response.body.into_kind() else { panic!("a stream") };
    assert!(body.len() < 1000);
    let mut output = Vec::new();
    flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut output).unwrap();
    assert_eq!(output, text(20_000));
}

#[test]
fn bodies_that_do_not_shrink_stay_as_they_are() {
    let mut number = 1_u64;
    let noise = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (number >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(5000).collect();
    let mut response = Response::default().with("content-type", "text/plain").with("etag", "\"a\"").body(noise.clone());
    let mut request = Request::default();
    request.headers.append("accept-encoding", "gzip").unwrap();
    let policy = RoutePolicy { compression: Some(Compression::default()), ..RoutePolicy::default() };
    let asked = policy.ask(&request);
    Compression::default().apply(&asked, &mut response);
    assert!(!response.headers.contains("content-encoding") && response.headers.contains("vary"));
    assert_eq!(response.headers.get_str("etag"), Some("\"a\""));
    assert!(matches!(response.body.into_kind(), BodyKind::Bytes(body) if body == noise));
}

#[test]
fn beyond_the_limit_streams_stay_as_they_are() {
    let large = || {
        let case = Case { length: 200_000, ..Case::default() };
        answer(&case)
    };
    let mut held: Vec<_> = (0..MAX_STREAMS).map(|_| large()).collect();
    assert!(held.iter().all(|response| response.headers.contains("content-encoding")));
    let further = large();
    assert!(!further.headers.contains("content-encoding") && further.body.length() == Some(200_000));
    held.pop();
    assert!(large().headers.contains("content-encoding"));
}
