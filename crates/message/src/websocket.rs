//! The handshake of WebSocket (RFC 6455 §4).

use std::string::String;

use data_encoding::BASE64;
use sha1_smol::Sha1;

/// The value of `Sec-WebSocket-Accept` that answers this `Sec-WebSocket-Key`, which proves that a server speaks
/// WebSocket (RFC 6455 §4.2.2).
///
/// ```
/// use serow_message::websocket;
///
/// assert_eq!(websocket::accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
/// ```
#[must_use]
pub fn accept(key: &str) -> String {
    let mut digest = Sha1::new();
    digest.update(key.as_bytes());
    digest.update(GUID);
    BASE64.encode(&digest.digest().bytes())
}

/// RFC 6455 §1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_any_length_have_the_accept_value_that_openssl_computes() {
        let cases = [
            ("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            ("", "Kfh9QIsMVZcl6xEPYxPHzW8SZ8w="),
            ("x3JJHMbDL1EzLkh9GBhXDw==", "HSmrc0sMlYUkAGmm5OPpG2HaGWk="),
            (A_BLOCK, "jGdebzmm20QI0DmM5dGETWg7dwQ="),
        ];
        for (key, expected) in cases {
            assert_eq!(accept(key), expected, "{key}");
        }
    }

    const A_BLOCK: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
}
