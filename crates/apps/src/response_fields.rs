//! The fields of a response that are not the application's to decide.

use serow_message::{Body, Headers, KnownHeader, KnownNames, Response, StatusCode, hop_by_hop};

use crate::{chunks::unchunked, program::Interface};

/// Makes the response for the client of what the application gave; `has_trailers` where fields may follow its body.
///
/// The server decides how a body is sent, whatever an application says of it: the specification of ASGI has it ignore
/// Transfer-Encoding, PEP 3333 forbids applications the field, and PSGI's middleware for it is switched off. Only
/// applications of Rack (`Rack::Chunked`) and Mojolicious, of which the bridge tells, encode a body for which they set it.
pub(crate) fn finished(mut response: Response, interface: Interface, has_trailers: bool) -> Response {
    if response.status == StatusCode::RESET_CONTENT {
        // RFC 9110 §15.3.6: it has no content.
        response.headers.remove(KnownHeader::ContentLength);
        response.body = Body::empty();
    }
    if response.headers.contains_any(&OF_CONNECTION) {
        let is_encoded = match interface {
            Interface::Rack => true,
            Interface::Psgi => response.headers.remove(ENCODED),
            Interface::Wsgi | Interface::Asgi | Interface::PhpWorker => false,
        };
        if is_encoded {
            response.body = unchunked(response.body, &response.headers);
        }
        remove(&mut response.headers, response.status, has_trailers);
    }
    response
}

/// Removes the fields of a connection (RFC 9110 §7.6.1), which is not the application's.
fn remove(headers: &mut Headers, status: StatusCode, has_trailers: bool) {
    let named = hop_by_hop::Named::of(headers);
    // RFC 9110 §15.2.2, §15.5.22: these two say which protocol.
    let switches = matches!(status, StatusCode::SWITCHING_PROTOCOLS | StatusCode::UPGRADE_REQUIRED);
    let removed = if switches { hop_by_hop::SET.without(KnownHeader::Upgrade) } else { hop_by_hop::SET };
    let removed = if has_trailers { removed } else { removed.and(TRAILER) };
    headers.remove_names(removed, |name| !named.covers_extension(name));
}

const OF_CONNECTION: [KnownHeader; 8] = {
    let [connection, keep_alive, proxy_connection, te, transfer_encoding, upgrade, http2_settings] = hop_by_hop::NAMES;
    [connection, keep_alive, proxy_connection, te, transfer_encoding, upgrade, http2_settings, KnownHeader::Trailer]
};

/// A field of the bridge for Perl: the application has encoded the body.
const ENCODED: &str = "serow.encoded";

const TRAILER: KnownNames = KnownNames::of(&[KnownHeader::Trailer]);

#[cfg(test)]
mod tests {
    use super::*;

    fn response(status: u16, fields: &[(&str, &str)]) -> Response {
        let mut response = Response::new(StatusCode::from_u16(status).unwrap());
        for (name, value) in fields {
            response.headers.append(*name, value).unwrap();
        }
        response.body = Body::from("0\r\n\r\n");
        response
    }

    #[test]
    fn fields_of_the_connection_are_removed() {
        type Fields = &'static [(&'static str, &'static str)];
        let cases: [(u16, Fields, bool, &[&str]); 7] = [
            (200, &[("x-a", "1"), ("Connection", "close"), ("Keep-Alive", "timeout=5")], false, &["x-a"]),
            (200, &[("connection", "X-Mine, Date"), ("x-mine", "1"), ("date", "x")], false, &["date"]),
            (200, &[("Upgrade", "h2c"), ("TE", "trailers"), ("Proxy-Connection", "close")], true, &[]),
            (200, &[("trailer", "x-sum"), ("x-a", "1")], false, &["x-a"]),
            (200, &[("trailer", "x-sum"), ("x-a", "1")], true, &["trailer", "x-a"]),
            (101, &[("connection", "upgrade"), ("upgrade", "echo")], false, &["upgrade"]),
            (426, &[("connection", "upgrade"), ("upgrade", "echo")], false, &["upgrade"]),
        ];
        for (status, fields, has_trailers, left) in cases {
            let finished = finished(response(status, fields), Interface::Wsgi, has_trailers);
            let names: Vec<_> = finished.headers.iter().map(|(name, _)| String::from_utf8_lossy(name)).collect();
            assert_eq!(names, left, "{status} {fields:?} {has_trailers}");
        }
    }

    #[test]
    fn only_rack_applications_encode_bodies() {
        let cases = [
            (Interface::Asgi, "chunked", Some(5)),
            (Interface::Wsgi, "Chunked", Some(5)),
            (Interface::Psgi, "chunked", Some(5)),
            (Interface::PhpWorker, "chunked", Some(5)),
            (Interface::Rack, "chunked", None),
            (Interface::Rack, "CHUNKED", None),
            (Interface::Rack, "gzip", Some(5)),
            (Interface::Rack, "gzip, chunked", Some(5)),
        ];
        for (interface, coding, length) in cases {
            let finished = finished(response(200, &[("Transfer-Encoding", coding)]), interface, false);
            assert_eq!((finished.body.length(), finished.headers.len()), (length, 0), "{interface:?} {coding}");
        }
    }

    #[test]
    fn a_response_that_resets_the_document_has_no_content() {
        let finished = finished(response(205, &[("content-length", "5")]), Interface::Psgi, false);
        assert!(finished.body.is_end() && finished.headers.is_empty());
    }
}
