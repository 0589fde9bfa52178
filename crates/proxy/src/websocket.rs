//! WebSocket to servers that speak HTTP/2 (RFC 8441). Requests have the form of HTTP/1.1 (RFC 6455), whichever version
//! the client uses.

use serow_message::{Headers, KnownHeader, Method, RequestHead, ResponseHead, StatusCode, websocket};

/// The protocol, as it is called in an extended CONNECT.
pub(crate) const PROTOCOL: &str = "websocket";

/// The extended CONNECT that asks for the same as this request; `None` where that asks for another protocol.
pub(crate) fn extended_connect(head: &RequestHead) -> Option<RequestHead> {
    let asked = head.headers.get(KnownHeader::Upgrade)?;
    if head.method != Method::GET || !asked.eq_ignore_ascii_case(PROTOCOL.as_bytes()) {
        return None;
    }
    let mut head = RequestHead { method: Method::CONNECT, ..head.clone() };
    // RFC 8441 §5: HTTP/2 does without it.
    head.headers.remove(KEY);
    Some(head)
}

/// The key that the client wants to see used.
pub(crate) fn key(headers: &Headers) -> Option<String> {
    headers.get_str(KEY).map(str::to_owned)
}

/// Makes the agreement of HTTP/2 that of HTTP/1.1.
pub(crate) fn agree(head: &mut ResponseHead, key: Option<&str>) {
    head.status = StatusCode::SWITCHING_PROTOCOLS;
    // Constants of this file, and base64, are valid values.
    let _ = head.headers.replace(KnownHeader::Upgrade, PROTOCOL);
    if let Some(key) = key {
        let _ = head.headers.replace("sec-websocket-accept", websocket::accept(key));
    }
}

const KEY: &str = "sec-websocket-key";

#[cfg(test)]
mod tests {
    use serow_message::{Target, Version};

    use super::*;

    #[test]
    fn what_is_asked_and_agreed() {
        let mut headers = Headers::new();
        for (name, value) in [("host", "a"), ("upgrade", "WebSocket"), (KEY, "dGhlIHNhbXBsZSBub25jZQ==")] {
            headers.append(name, value).unwrap();
        }
        let mut head =
            RequestHead { method: Method::GET, target: Target::default(), version: Version::HTTP_11, headers };
        let connect = extended_connect(&head).unwrap();
        assert_eq!((connect.method, connect.headers.contains(KEY)), (Method::CONNECT, false));
        let key = key(&head.headers);
        let mut answer = ResponseHead { status: StatusCode::OK, version: Version::HTTP_2, headers: Headers::new() };
        agree(&mut answer, key.as_deref());
        assert_eq!(answer.status, StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(answer.headers.get_str("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        head.headers.replace(KnownHeader::Upgrade, "another").unwrap();
        assert!(extended_connect(&head).is_none());
    }
}
