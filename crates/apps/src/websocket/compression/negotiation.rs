//! The parameters that client and server agree on (RFC 7692 §5 and §7.1).

use std::mem::replace;

/// The parameters of permessage-deflate that both sides keep to. Each message of the client is compressed on its own: so a
/// client that is silent leaves no window of 32 KiB behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    /// Logarithm of how far the server's messages look back.
    pub(super) server_bits: u8,
    /// Whether each message of the server is compressed on its own.
    pub(super) server_forgets: bool,
}

impl Agreement {
    /// The first offer in the members of Sec-WebSocket-Extensions that the server can accept. Offers with parameters that
    /// are unknown, repeated or invalid are declined (§7.1), as are those of other extensions.
    pub(crate) fn of<'value>(mut offers: impl Iterator<Item = &'value [u8]>) -> Option<Self> {
        offers.find_map(|offer| Offer::parse(offer)?.accept())
    }

    /// The value of Sec-WebSocket-Extensions in the response.
    pub(crate) fn response(self) -> String {
        let forgets = if self.server_forgets { "; server_no_context_takeover" } else { "" };
        format!("{NAME}; server_max_window_bits={}{forgets}; client_no_context_takeover", self.server_bits)
    }
}

/// The offer of a client.
#[derive(Default)]
struct Offer {
    server_forgets: bool,
    client_forgets: bool,
    server_bits: Option<u8>,
    limits_client: bool,
}

impl Offer {
    fn parse(offer: &[u8]) -> Option<Self> {
        let mut parts = std::str::from_utf8(offer).ok()?.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(NAME) {
            return None;
        }
        let mut parsed = Self::default();
        for part in parts {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name.trim_end(), Some(unquoted(value.trim_start()))),
                None => (part, None),
            };
            let is_new = match (name.to_ascii_lowercase().as_str(), value) {
                ("server_no_context_takeover", None) => !replace(&mut parsed.server_forgets, true),
                ("client_no_context_takeover", None) => !replace(&mut parsed.client_forgets, true),
                ("server_max_window_bits", Some(value)) => parsed.server_bits.replace(bits(value)?).is_none(),
                // A client's own limit is none for a server that can read every window.
                ("client_max_window_bits", value) if value.is_none_or(|value| bits(value).is_some()) => {
                    !replace(&mut parsed.limits_client, true)
                }
                _ => false,
            };
            if !is_new {
                return None;
            }
        }
        Some(parsed)
    }

    /// The resulting agreement; `None` if the server cannot keep to the offer.
    fn accept(self) -> Option<Agreement> {
        let server_bits = self.server_bits.unwrap_or(WINDOW_BITS).min(WINDOW_BITS);
        if server_bits < SMALLEST_WINDOW_BITS {
            return None;
        }
        Some(Agreement { server_bits, server_forgets: self.server_forgets })
    }
}

/// A quoted value is the same as the value (RFC 7692 §5.2, RFC 6455 §9.1).
fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(value)
}

/// The logarithm of a window: 8 to 15, without leading zeros (§7.1.2.1).
fn bits(value: &str) -> Option<u8> {
    match value.as_bytes() {
        [digit @ b'8'..=b'9'] | [b'1', digit @ b'0'..=b'5'] if value.len() < 3 => {
            Some(digit - b'0' + if value.len() == 2 { 10 } else { 0 })
        }
        _ => None,
    }
}

/// The header field of offers and of the response.
pub(crate) const EXTENSIONS: &str = "sec-websocket-extensions";

const NAME: &str = "permessage-deflate";

/// 4 KiB, as in Python's websockets: messages are short, and there are many connections.
const WINDOW_BITS: u8 = 12;

/// zlib cannot compress with a window of 256 bytes (8).
const SMALLEST_WINDOW_BITS: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_and_responses() {
        let cases = [
            // Chromium and Safari; Firefox.
            (
                "permessage-deflate; client_max_window_bits",
                Some("; server_max_window_bits=12; client_no_context_takeover"),
            ),
            ("permessage-deflate", Some("; server_max_window_bits=12; client_no_context_takeover")),
            (
                "Permessage-Deflate;SERVER_NO_CONTEXT_TAKEOVER",
                Some("; server_max_window_bits=12; server_no_context_takeover; client_no_context_takeover"),
            ),
            (
                "permessage-deflate; server_max_window_bits=15; client_max_window_bits=15",
                Some("; server_max_window_bits=12; client_no_context_takeover"),
            ),
            (
                "permessage-deflate; server_max_window_bits=9; client_max_window_bits=8; client_no_context_takeover",
                Some("; server_max_window_bits=9; client_no_context_takeover"),
            ),
            (
                "permessage-deflate; server_max_window_bits = \"10\" ; client_max_window_bits=\"11\"",
                Some("; server_max_window_bits=10; client_no_context_takeover"),
            ),
            // The first that can be accepted.
            (
                "x-other, permessage-deflate; server_max_window_bits=8, permessage-deflate; client_max_window_bits",
                Some("; server_max_window_bits=12; client_no_context_takeover"),
            ),
            ("", None),
            ("x-webkit-deflate-frame", None),
            ("permessage-deflates", None),
            ("permessage-deflate; server_max_window_bits=8", None),
            ("permessage-deflate; server_max_window_bits", None),
            ("permessage-deflate; server_max_window_bits=", None),
            ("permessage-deflate; server_max_window_bits=7", None),
            ("permessage-deflate; server_max_window_bits=16", None),
            ("permessage-deflate; server_max_window_bits=010", None),
            ("permessage-deflate; server_max_window_bits=+10", None),
            ("permessage-deflate; server_max_window_bits=\"10", None),
            ("permessage-deflate; client_max_window_bits=", None),
            ("permessage-deflate; client_max_window_bits=16", None),
            ("permessage-deflate; client_max_window_bits=18446744073709551626", None),
            ("permessage-deflate; server_no_context_takeover=1", None),
            ("permessage-deflate; client_no_context_takeover=true", None),
            ("permessage-deflate; client_max_window_bits; client_max_window_bits=10", None),
            ("permessage-deflate; server_max_window_bits=10; server_max_window_bits=10", None),
            ("permessage-deflate; server_no_context_takeover; server_no_context_takeover", None),
            ("permessage-deflate; unknown", None),
            ("permessage-deflate;", None),
            ("permessage-deflate; ; client_max_window_bits", None),
        ];
        for (offers, expected) in cases {
            let agreement = Agreement::of(offers.as_bytes().split(|&byte| byte == b',').map(<[u8]>::trim_ascii));
            let response = agreement.map(Agreement::response);
            assert_eq!(response, expected.map(|rest| format!("{NAME}{rest}")), "{offers}");
        }
        assert_eq!(Agreement::of([&b"permessage-deflate; \xff"[..]].into_iter()), None);
    }
}
