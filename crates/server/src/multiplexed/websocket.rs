//! WebSocket over HTTP/2 (RFC 8441), presented to handlers in the form of HTTP/1.1.

use serow_message::{Headers, KnownHeader, Method, RequestHead, StatusCode};

/// Converts an extended CONNECT for WebSocket to the upgrade of HTTP/1.1 (RFC 6455 §4.1). Returns whether it is one;
/// other protocols are left unchanged.
pub(super) fn present(protocol: &[u8], head: &mut RequestHead) -> bool {
    if !protocol.eq_ignore_ascii_case(b"websocket") {
        return false;
    }
    head.method = Method::GET;
    for (name, value) in [(KnownHeader::Connection, &b"upgrade"[..]), (KnownHeader::Upgrade, b"websocket")] {
        // Constants of this file are valid values.
        let _ = head.headers.insert(name, value);
    }
    // RFC 8441 §5: HTTP/2 does without the key; whoever implements RFC 6455 asks for one.
    let _ = head.headers.insert("sec-websocket-key", KEY);
    true
}

/// Converts the handler's 101 to the 200 of HTTP/2 (RFC 8441 §5), without the fields that HTTP/2 does not have.
pub(super) fn translate(status: StatusCode, headers: &mut Headers) -> StatusCode {
    if status != StatusCode::SWITCHING_PROTOCOLS {
        return status;
    }
    for name in ["connection", "upgrade", "sec-websocket-accept"] {
        headers.remove(name);
    }
    StatusCode::OK
}

/// Sixteen bytes in base64, as RFC 6455 §4.1 asks for. It proves nothing here: the answer to it is not sent.
const KEY: &str = "c2Vyb3cgb3ZlciBodHRwMg==";

#[cfg(test)]
mod tests {
    use serow_message::{Target, Version};

    use super::*;

    #[test]
    fn the_handler_sees_an_upgrade() {
        let mut head = RequestHead {
            method: Method::CONNECT,
            target: Target::default(),
            version: Version::HTTP_2,
            headers: Headers::new(),
        };
        assert!(!present(b"connect-udp", &mut head));
        assert_eq!(head.method, Method::CONNECT);
        assert!(present(b"websocket", &mut head));
        assert_eq!(head.method, Method::GET);
        assert_eq!(head.headers.get(KnownHeader::Upgrade), Some(&b"websocket"[..]));
        let mut headers = Headers::new();
        headers.append("upgrade", "websocket").unwrap();
        headers.append("sec-websocket-protocol", "chat").unwrap();
        assert_eq!(translate(StatusCode::SWITCHING_PROTOCOLS, &mut headers), StatusCode::OK);
        assert_eq!(headers.len(), 1);
        assert_eq!(translate(StatusCode::FORBIDDEN, &mut headers), StatusCode::FORBIDDEN);
    }
}
