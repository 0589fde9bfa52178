//! Fields that belong to one connection and not to the message.

use alloc::vec::Vec;

use crate::{Headers, KnownHeader, KnownNames};

/// RFC 9110 §7.6.1: fields that speak of this connection; they are not passed on, and HTTP/2 has none of them (RFC 9113
/// §8.2.2).
pub const NAMES: [KnownHeader; 7] = [
    KnownHeader::Connection,
    KnownHeader::KeepAlive,
    KnownHeader::ProxyConnection,
    KnownHeader::Te,
    KnownHeader::TransferEncoding,
    KnownHeader::Upgrade,
    KnownHeader::Http2Settings,
];

/// The fields that `Connection` names beside [`NAMES`]. Mostly there are none, and nothing is allocated.
///
/// Only extensions can be named so: a well-known field is meant for all who handle a message, or stands in [`NAMES`],
/// and RFC 9110 §7.6.1 forbids to name it. A client that does it all the same hopes that somebody on the way drops
/// `Authorization`, `Cookie`, `Host` or `X-Forwarded-For` behind those who looked at it. The same holds for all fields
/// in which proxies tell of the client, well known or not.
#[derive(Clone, Debug, Default)]
pub struct Named {
    extensions: Vec<Vec<u8>>,
}

impl Named {
    /// Those of a message.
    #[must_use]
    #[inline]
    pub fn of(headers: &Headers) -> Self {
        if !headers.contains(KnownHeader::Connection) {
            return Self::default();
        }
        Self::named_in(headers)
    }

    fn named_in(headers: &Headers) -> Self {
        let is_extension = |name: &&[u8]| !is_usual_option(name) && KnownHeader::recognise(name).is_none();
        let named = headers.list(KnownHeader::Connection).filter(is_extension).filter(|name| !tells_of_client(name));
        Self { extensions: named.map(<[u8]>::to_vec).collect() }
    }

    /// Whether `Connection` names no further field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.extensions.is_empty()
    }

    /// Whether a field belongs to the connection: it is named, or stands in [`NAMES`].
    #[inline]
    #[must_use]
    pub fn covers(&self, name: &[u8], known: Option<KnownHeader>) -> bool {
        match known {
            Some(known) => SET.contains(known),
            None => self.covers_extension(name),
        }
    }

    /// Whether a field with this name, which is not well-known, is named.
    #[inline]
    #[must_use]
    pub fn covers_extension(&self, name: &[u8]) -> bool {
        self.extensions.iter().any(|named| named.eq_ignore_ascii_case(name))
    }
}

/// Whether proxies tell the client's address, how it asked, or what they can send in place of a response, in an extension
/// field of this name. From anybody else, `X-Sendfile-Type` and `X-Accel-Mapping` would have an application name files
/// to a server that does not send them: CVE-2025-61780 of Rack; and applications that read `X-Script-Name` and `X-Scheme`
/// (Radicale, and those with Flask's recipe for a prefix) would write links to other paths. `X-Request-Start` decides for
/// rack-timeout whether a request has waited too long.
#[must_use]
pub fn tells_of_client(name: &[u8]) -> bool {
    // As hardly any other name does.
    if !matches!(name, [b'x' | b'X', b'-', ..]) {
        return false;
    }
    let begins = |start: &[u8]| name.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    begins(b"x-forwarded-") || OF_PROXIES.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Removes the fields of this connection: the fixed ones and those that `Connection` names.
pub fn remove(headers: &mut Headers) {
    if headers.contains_any(&NAMES) {
        let named = Named::of(headers);
        headers.retain_known(|name, known, _| !named.covers(name, known));
    }
}

/// The options that nearly all messages have, and that no field is named after.
fn is_usual_option(option: &[u8]) -> bool {
    matches!(option, b"keep-alive" | b"close" | b"Keep-Alive")
}

const OF_PROXIES: [&[u8]; 6] =
    [b"x-real-ip", b"x-sendfile-type", b"x-accel-mapping", b"x-script-name", b"x-scheme", b"x-request-start"];

/// [`NAMES`] as a set.
pub const SET: KnownNames = KnownNames::of(&NAMES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removes_fixed_and_named_fields() {
        // The value of Connection, the name of another field, and whether that field is left.
        let cases = [
            ("keep-alive, X-Mine", "x-mine", false),
            ("x-MINE ,close", "X-Mine", false),
            ("close", "x-mine", true),
            ("", "keep-alive", false),
            ("x-mine", "te", false),
            ("upgrade", "upgrade", false),
            ("x-mine", "http2-settings", false),
            ("authorization, cookie", "authorization", true),
            ("Authorization, Cookie", "Cookie", true),
            ("Host", "host", true),
            ("content-length", "content-length", true),
            ("VIA", "via", true),
            ("X-Forwarded-For", "x-forwarded-for", true),
            ("X-Forwarded-Port", "x-forwarded-port", true),
            ("x-real-ip", "X-Real-IP", true),
            ("x-script-name", "X-Script-Name", true),
            ("forwarded", "forwarded", true),
        ];
        for (options, name, left) in cases {
            let mut headers = Headers::new();
            for (name, value) in [("x-other", "2"), ("connection", options), (name, "1")] {
                headers.append(name, value).unwrap();
            }
            remove(&mut headers);
            assert!(headers.contains("x-other") && !headers.contains(KnownHeader::Connection));
            assert_eq!(headers.contains(name), left, "{options}: {name}");
        }
    }
}
