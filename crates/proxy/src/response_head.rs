//! A response's head on its way back to the client.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;
use serow_gateway::is_for_server;
use serow_message::{Body, KnownHeader, KnownNames, Method, Response, ResponseHead, StatusCode, content, hop_by_hop};

use crate::{request_head, settings::ForwardingSettings, via};

/// Makes of a server's head the response for the client. The method is that of the request; where it is not HEAD, the
/// body is still to be set.
///
/// `Date`, `Server`, `Set-Cookie`, `Location`, `priority` and all other end-to-end fields stay as the server sent them.
/// The framing follows from the body; only a response to HEAD, which has no body, keeps its Content-Length (RFC 9110
/// §8.6), and without one its length is unknown. Fields that are meant for this server are taken out, unless the client
/// is a trusted proxy.
pub(crate) fn returning(
    head: ResponseHead,
    method: &Method,
    settings: &ForwardingSettings,
    upstream: &str,
    is_trusted: bool,
) -> Response {
    let ResponseHead { status, version, mut headers } = head;
    let named = hop_by_hop::Named::of(&headers);
    // RFC 9110 §15.2.2, §15.5.22: these two say which protocol; in others it is an offer of the server to us.
    let switches = matches!(status, StatusCode::SWITCHING_PROTOCOLS | StatusCode::UPGRADE_REQUIRED);
    let keeps_length = *method == Method::HEAD && content::is_possible(status);
    let mut is_for_us = false;
    let removed = if switches { HOP_BY_HOP_BUT_UPGRADE } else { hop_by_hop::SET };
    let removed = if keeps_length { removed } else { removed.and(LENGTH) };
    headers.remove_names(removed, |name| {
        is_for_us |= is_for_server(name, None);
        !named.covers_extension(name)
    });
    headers.append_constant(via::field(version));
    request_head::apply(&settings.response_headers, &mut headers);
    let is_unsaid = keeps_length && !headers.contains(KnownHeader::ContentLength);
    let body = if is_unsaid { Body::stream(OfUnknownLength) } else { Body::empty() };
    let mut response = Response { headers, body, ..Response::new(status) };
    if is_for_us {
        settings.internal_redirects.take_found(&mut response, upstream, is_trusted);
    }
    response
}

/// The framing of the server's message.
const LENGTH: KnownNames = KnownNames::of(&[KnownHeader::ContentLength]);

/// The fields that are removed where the server names a protocol.
const HOP_BY_HOP_BUT_UPGRADE: KnownNames = hop_by_hop::SET.without(KnownHeader::Upgrade);

/// A body that is never sent: an empty one would be announced as such.
struct OfUnknownLength;

impl http_body::Body for OfUnknownLength {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

#[cfg(test)]
mod tests {
    use serow_gateway::{InternalRedirect, InternalRedirects};
    use serow_message::{Headers, Version};

    use super::*;

    fn headers(fields: &[(&str, &str)]) -> Headers {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.append(*name, value).unwrap();
        }
        headers
    }

    type Fields = &'static [(&'static str, &'static str)];

    #[test]
    fn hop_by_hop_fields_are_removed() {
        let cases: [(u16, &str, Fields, Fields); 8] = [
            (
                200,
                "GET",
                &[
                    ("Date", "x"),
                    ("Server", "y"),
                    ("Connection", "keep-alive, X-Mine, Set-Cookie"),
                    ("Keep-Alive", "timeout=5"),
                    ("X-Mine", "1"),
                    ("Transfer-Encoding", "chunked"),
                    ("Content-Length", "4"),
                    ("Set-Cookie", "a=1"),
                    ("Set-Cookie", "b=2"),
                    ("Location", "http://inner/"),
                    ("Priority", "u=1"),
                    ("Trailer", "grpc-status"),
                    ("Upgrade", "h2,h2c"),
                    ("Alt-Svc", "clear"),
                    ("Proxy-Connection", "keep-alive"),
                ],
                &[
                    ("Date", "x"),
                    ("Server", "y"),
                    ("Set-Cookie", "a=1"),
                    ("Set-Cookie", "b=2"),
                    ("Location", "http://inner/"),
                    ("Priority", "u=1"),
                    ("Trailer", "grpc-status"),
                    ("Alt-Svc", "clear"),
                    ("via", "1.1 serow"),
                ],
            ),
            (200, "HEAD", &[("content-length", "4")], &[("content-length", "4"), ("via", "1.1 serow")]),
            (304, "GET", &[("content-length", "4"), ("etag", "x")], &[("etag", "x"), ("via", "1.1 serow")]),
            (304, "HEAD", &[("content-length", "4")], &[("via", "1.1 serow")]),
            (
                101,
                "GET",
                &[("connection", "upgrade"), ("upgrade", "websocket"), ("sec-websocket-accept", "x")],
                &[("upgrade", "websocket"), ("sec-websocket-accept", "x"), ("via", "1.1 serow")],
            ),
            (
                426,
                "GET",
                &[("connection", "upgrade"), ("upgrade", "websocket")],
                &[("upgrade", "websocket"), ("via", "1.1 serow")],
            ),
            (200, "GET", &[("via", "1.0 inner")], &[("via", "1.0 inner"), ("via", "1.1 serow")]),
            (200, "GET", &[], &[("via", "1.1 serow")]),
        ];
        for (status, method, before, after) in cases {
            let status = StatusCode::from_u16(status).unwrap();
            let head = ResponseHead { status, version: Version::HTTP_11, headers: headers(before) };
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let response = returning(head, &method, &ForwardingSettings::default(), "u", false);
            assert_eq!((response.status, response.headers), (status, headers(after)), "{before:?}");
            assert_eq!(response.body.length(), Some(0));
        }
    }

    #[test]
    fn head_responses_may_have_unknown_length() {
        for (status, length) in [(200, None), (404, None), (204, Some(0)), (304, Some(0))] {
            let status = StatusCode::from_u16(status).unwrap();
            let head = ResponseHead { status, version: Version::HTTP_11, headers: Headers::new() };
            let response = returning(head, &Method::HEAD, &ForwardingSettings::default(), "u", false);
            assert_eq!(response.body.length(), length, "{status}");
        }
    }

    #[test]
    fn header_rules_apply() {
        let rule = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let settings = ForwardingSettings {
            response_headers: vec![rule("Server", ""), rule("Cache-Control", "no-store"), rule("Content-Length", "7")],
            ..ForwardingSettings::default()
        };
        let before =
            headers(&[("server", "a"), ("cache-control", "x"), ("content-length", "4"), ("CACHE-CONTROL", "y")]);
        let head = ResponseHead { status: StatusCode::OK, version: Version::HTTP_2, headers: before };
        let response = returning(head, &Method::HEAD, &settings, "u", false);
        let after = [("cache-control", "no-store"), ("content-length", "4"), ("via", "2.0 serow")];
        assert_eq!(response.headers, headers(&after));
    }

    #[test]
    fn fields_for_this_server_reach_trusted_proxies_only() {
        for (is_trusted, expected) in [(false, 2), (true, 3)] {
            let headers = headers(&[("x-accel-redirect", "/files/a"), ("content-type", "text/plain")]);
            let head = ResponseHead { status: StatusCode::OK, version: Version::HTTP_11, headers };
            let settings =
                ForwardingSettings { internal_redirects: InternalRedirects::Follow, ..ForwardingSettings::default() };
            let response = returning(head, &Method::GET, &settings, "u", is_trusted);
            assert_eq!(response.headers.len(), expected);
            assert_eq!(response.extensions.get::<InternalRedirect>().unwrap().value(), b"/files/a");
        }
    }
}
