//! The field in which trusted proxies name the client, if it is not X-Forwarded-For.

use std::{boxed::Box, net::IpAddr, string::ToString};

use crate::{Connection, Headers, KnownHeader, Request, TrustedProxies, trusted_proxies::address};

/// The field in which trusted proxies name the client, such as `CF-Connecting-IP`; by default X-Forwarded-For. Another field
/// has a single address.
///
/// ```
/// use serow_message::{ClientField, Request, TrustedProxies};
///
/// let mut request = Request::get("/"); // over a unix socket
/// request.headers.append("cf-connecting-ip", "192.0.2.1").unwrap();
/// request.headers.append("x-forwarded-for", "198.51.100.1").unwrap();
/// ClientField::new("CF-Connecting-IP").settle(&TrustedProxies::local(), &mut request);
/// assert_eq!(request.headers.get_str("x-forwarded-for"), Some("192.0.2.1"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientField {
    /// Nothing for X-Forwarded-For.
    name: Option<Box<str>>,
}

impl ClientField {
    /// The field with this name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let is_usual = KnownHeader::recognise(name.as_bytes()) == Some(KnownHeader::XForwardedFor);
        Self { name: (!is_usual).then(|| name.into()) }
    }

    /// Has X-Forwarded-For name the client whom this field names, for all that reads X-Forwarded-For; nobody, if a trusted
    /// peer names nobody. Of other peers, the field is removed: applications may believe it.
    #[inline]
    pub fn settle(&self, trusted: &TrustedProxies, request: &mut Request) {
        if let Some(name) = &self.name {
            settle(name, trusted, request);
        }
    }

    /// The client whom a trusted peer names in this field, or that it names nobody; nothing where X-Forwarded-For counts.
    #[must_use]
    pub fn named(
        &self,
        trusted: &TrustedProxies,
        headers: &Headers,
        connection: &Connection,
    ) -> Option<Option<IpAddr>> {
        let name = self.name.as_deref().filter(|_| trusted.contains(connection.peer()))?;
        Some(single(name, headers))
    }
}

#[inline(never)]
fn settle(name: &str, trusted: &TrustedProxies, request: &mut Request) {
    let is_trusted = trusted.contains(request.connection().peer());
    let headers = &mut request.headers;
    let is_forged =
        |other: &[u8]| imitates(other, name.as_bytes()) && !(is_trusted && other.eq_ignore_ascii_case(name.as_bytes()));
    if headers.iter_known().any(|(other, ..)| is_forged(other)) {
        headers.retain_known(|other, _, _| !is_forged(other));
    }
    if !is_trusted {
        return;
    }
    let client = single(name, headers);
    headers.remove(KnownHeader::XForwardedFor);
    if let Some(client) = client {
        // An address is a valid value.
        let _ = headers.append(KnownHeader::XForwardedFor, client.to_string());
    }
}

/// Whether applications may take a field for this one: CGI and its kin write all other characters than letters and digits
/// alike (RFC 3875 §4.1.18).
fn imitates(other: &[u8], name: &[u8]) -> bool {
    let is_alike =
        |(byte, own): (&u8, &u8)| byte.eq_ignore_ascii_case(own) || *own == b'-' && !byte.is_ascii_alphanumeric();
    other.len() == name.len() && other.iter().zip(name).all(is_alike)
}

/// The only address of a field.
fn single(name: &str, headers: &Headers) -> Option<IpAddr> {
    let mut values = headers.get_all(name);
    let (value, None) = (values.next()?, values.next()) else { return None };
    address(value.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, Method, Network, Peer, RequestHead, Scheme, Target, Version};

    #[test]
    fn the_field_counts_in_place_of_x_forwarded_for() {
        let trusted: TrustedProxies = ["10.0.0.0/8".parse::<Network>().unwrap()].into_iter().collect();
        // The field, the peer, the values of the field; then X-Forwarded-For, and whether the field is there.
        type Case<'a> = (&'a str, &'a str, &'a [&'a str], Option<&'a str>, bool);
        let cases: [Case<'_>; 10] = [
            ("X-Real-IP", "10.0.0.1", &["192.0.2.1"], Some("192.0.2.1"), true),
            ("x-real-ip", "10.0.0.1", &[" [2001:db8::1]:80 "], Some("2001:db8::1"), true),
            ("x-real-ip", "10.0.0.1", &["10.0.0.7"], Some("10.0.0.7"), true),
            ("x-real-ip", "10.0.0.1", &[], None, false),
            ("x-real-ip", "10.0.0.1", &["unknown"], None, true),
            ("x-real-ip", "10.0.0.1", &["192.0.2.1, 192.0.2.2"], None, true),
            ("x-real-ip", "10.0.0.1", &["192.0.2.1", "192.0.2.1"], None, true),
            ("x-real-ip", "192.0.2.9", &["192.0.2.1"], Some("198.51.100.1"), false),
            ("X-Forwarded-For", "10.0.0.1", &[], Some("198.51.100.1"), false),
            ("X-Forwarded-For", "192.0.2.9", &[], Some("198.51.100.1"), false),
        ];
        for (name, peer, values, expected, is_left) in cases {
            let peer = Peer::Tcp((peer.parse::<IpAddr>().unwrap(), 1).into());
            let connection = Connection::new(peer, None, Scheme::Http);
            let target = Target::parse("/".into(), false).unwrap();
            let head = RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers: Headers::new() };
            let mut request = Request::new(head, Body::empty(), connection.clone());
            request.headers.append("x-forwarded-for", "198.51.100.1").unwrap();
            request.headers.append("X_Real.IP", "192.0.2.8").unwrap();
            values.iter().for_each(|value| request.headers.append(name, value).unwrap());
            let field = ClientField::new(name);
            let named = field.named(&trusted, &request.headers, &connection);
            field.settle(&trusted, &mut request);
            assert_eq!(request.headers.get_str("x-forwarded-for"), expected, "{name} {values:?}");
            assert_eq!(request.headers.contains("x-real-ip"), is_left, "{name} {values:?}");
            assert_eq!(request.headers.contains("x_real.ip"), name.contains("Forwarded"), "{name} {values:?}");
            if let Some(named) = named {
                assert_eq!(named, trusted.named_client(&request.headers, &connection));
            }
        }
    }
}
