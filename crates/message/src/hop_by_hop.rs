//! Fields that belong to one connection and not to the message.

use crate::{Headers, Known};

/// RFC 9110 §7.6.1: fields that speak of this connection; they are not passed on, and HTTP/2 has none of them
/// (RFC 9113 §8.2.2).
pub const NAMES: [Known; 7] = [
    Known::Connection,
    Known::KeepAlive,
    Known::ProxyConnection,
    Known::Te,
    Known::TransferEncoding,
    Known::Upgrade,
    Known::Http2Settings,
];

/// Removes the fields of this connection: the fixed ones and those that `Connection` names.
pub fn remove(headers: &mut Headers) {
    if headers.contains(Known::Connection) {
        let named: alloc::vec::Vec<alloc::vec::Vec<u8>> = headers.list(Known::Connection).map(<[u8]>::to_vec).collect();
        for name in &named {
            headers.remove(&name[..]);
        }
    }
    if headers.contains_any(&NAMES) {
        for name in NAMES {
            headers.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_fixed_and_named_fields() {
        let mut headers = Headers::new();
        for (name, value) in [
            ("connection", "keep-alive, X-Mine"),
            ("keep-alive", "timeout=5"),
            ("x-mine", "1"),
            ("x-other", "2"),
            ("te", "trailers"),
        ] {
            headers.append(name, value).unwrap();
        }
        remove(&mut headers);
        let left: alloc::vec::Vec<_> = headers.iter().collect();
        assert_eq!(left, [(&b"x-other"[..], &b"2"[..])]);
    }
}
