//! The hash of the part of a request that selects its server.

use std::{
    io::{self, Write},
    net::{IpAddr, Ipv4Addr},
};

use serow_gateway::{Forwarded, cookies};
use serow_message::Request;

use crate::settings::HashKey;
use serow_variables::murmur2;

/// The hash of a request that lacks the selected part, such as a cookie, or an address for clients at a unix socket.
pub(crate) const NO_KEY: u64 = u64::MAX;

impl HashKey {
    /// The hash of the selected part, as Tengine's `consistent_hash` computes it, or [`NO_KEY`]. Trusted proxies
    /// determine the client's address.
    pub(crate) fn of(&self, request: &Request, forwarded: &Forwarded) -> u64 {
        match self {
            Self::Client => {
                forwarded.trusted.client_address(&request.headers, request.connection()).map_or(NO_KEY, of_address)
            }
            Self::Path => of_text(Some(request.target.path_bytes())),
            Self::Target => of_text(Some(request.target.as_str().as_bytes())),
            Self::Host => request.host().map_or(NO_KEY, of_host),
            Self::Header(name) => of_text(request.headers.get(name.as_str())),
            Self::Cookie(name) => of_text(cookies::value(&request.headers, name)),
            Self::Query(name) => of_text(request.target.query().and_then(|query| parameter(query, name))),
        }
    }
}

fn of_text(text: Option<&[u8]>) -> u64 {
    text.filter(|text| !text.is_empty()).map_or(NO_KEY, |text| u64::from(murmur2(text)))
}

/// The hash of its text, in the form of `$remote_addr`.
fn of_address(address: IpAddr) -> u64 {
    let mut text = [0; MAX_ADDRESS_LENGTH];
    let mut rest = &mut text[..];
    // It fits.
    let _ = match address {
        IpAddr::V4(address) => write_version_4(address, &mut rest),
        IpAddr::V6(address) => write!(rest, "{address}"),
    };
    let length = MAX_ADDRESS_LENGTH - rest.len();
    of_text(text.get(..length))
}

/// Digit by digit: most clients have such an address, and the standard library's formatting costs more than all of the
/// hashing.
fn write_version_4(address: Ipv4Addr, output: &mut &mut [u8]) -> io::Result<()> {
    for (place, octet) in address.octets().into_iter().enumerate() {
        let text = [b'.', b'0' + octet / 100, b'0' + octet / 10 % 10, b'0' + octet % 10];
        let length = 1 + usize::from(octet >= 10) + usize::from(octet >= 100);
        output.write_all(&text[..usize::from(place > 0)])?;
        output.write_all(&text[text.len() - length..])?;
    }
    Ok(())
}

/// Without the port, and in lower case (RFC 9110 §4.2.3).
fn of_host(host: &str) -> u64 {
    let end = match host.rfind([':', ']']) {
        Some(colon) if host.as_bytes().get(colon) == Some(&b':') => colon,
        _ => host.len(),
    };
    let name = host.get(..end).unwrap_or(host);
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return of_text(Some(name.to_ascii_lowercase().as_bytes()));
    }
    of_text(Some(name.as_bytes()))
}

/// The value of the first parameter of this name, as it stands there.
fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a [u8]> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::as_bytes)
}

/// Seven times `ffff:`, and `ffff`. Those with an address of version 4 at their end are written as that.
const MAX_ADDRESS_LENGTH: usize = 39;

#[cfg(test)]
mod tests {
    use serow_message::{Body, Connection, Headers, Method, Peer, RequestHead, Scheme, Target, Version};

    use super::*;
    use serow_gateway::Network;

    fn request(target: &str, fields: &[(&str, &str)], peer: Peer) -> Request {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.append(*name, value).unwrap();
        }
        let target = Target::parse(target.to_owned().into(), false).unwrap();
        let head = RequestHead { method: Method::GET, target, version: Version::HTTP_11, headers };
        Request::new(head, Body::empty(), Connection::new(peer, None, Scheme::Http))
    }

    fn of(key: &HashKey, request: &Request) -> u64 {
        key.of(request, &Forwarded::default())
    }

    fn tcp(address: &str) -> Peer {
        Peer::Tcp(address.parse().unwrap())
    }

    #[test]
    fn values_of_a_request() {
        let fields =
            [("Host", "Example.COM:8080"), ("X-User", "ann"), ("x-empty", ""), ("Cookie", "a=1; id=\"7\"; id=8")];
        let request = request("/a%20b/c?x=1&id=2%3D&id=3&&flag", &fields, tcp("[2001:db8::1]:999"));
        let cases = [
            (HashKey::Client, Some("2001:db8::1")),
            (HashKey::Path, Some("/a%20b/c")),
            (HashKey::Target, Some("/a%20b/c?x=1&id=2%3D&id=3&&flag")),
            (HashKey::Host, Some("example.com")),
            (HashKey::Header("x-user".to_owned()), Some("ann")),
            (HashKey::Header("x-empty".to_owned()), None),
            (HashKey::Header("x-none".to_owned()), None),
            (HashKey::Header("no token".to_owned()), None),
            (HashKey::Cookie("id".to_owned()), Some("\"7\"")),
            (HashKey::Cookie("none".to_owned()), None),
            (HashKey::Query("id".to_owned()), Some("2%3D")),
            (HashKey::Query("flag".to_owned()), None),
            (HashKey::Query("i".to_owned()), None),
        ];
        for (key, expected) in cases {
            let expected = expected.map_or(NO_KEY, |text| u64::from(murmur2(text.as_bytes())));
            assert_eq!(of(&key, &request), expected, "{key:?}");
        }
    }

    #[test]
    fn clients_and_hosts() {
        let clients = [
            (tcp("127.0.0.1:1"), Some("127.0.0.1")),
            (tcp("127.0.0.1:65535"), Some("127.0.0.1")),
            (tcp("255.10.9.100:1"), Some("255.10.9.100")),
            (tcp("0.99.109.200:1"), Some("0.99.109.200")),
            (tcp("[::ffff:192.0.2.1]:5"), Some("192.0.2.1")),
            (tcp("[1111:2222:3333:4444:5555:6666:7777:8888]:5"), Some("1111:2222:3333:4444:5555:6666:7777:8888")),
            (Peer::Unix, None),
        ];
        for (peer, expected) in clients {
            let expected = expected.map_or(NO_KEY, |text| u64::from(murmur2(text.as_bytes())));
            assert_eq!(of(&HashKey::Client, &request("/", &[], peer)), expected, "{peer:?}");
        }
        let hosts = [("a", "a"), ("a:80", "a"), ("[::1]", "[::1]"), ("[::A]:80", "[::a]"), ("a:", "a")];
        for (host, expected) in hosts {
            let request = request("/", &[("host", host)], Peer::Unix);
            assert_eq!(of(&HashKey::Host, &request), u64::from(murmur2(expected.as_bytes())), "{host}");
        }
        assert_eq!(of(&HashKey::Host, &request("/", &[], Peer::Unix)), NO_KEY);
        assert_eq!(of(&HashKey::Query("a".to_owned()), &request("/", &[], Peer::Unix)), NO_KEY);
    }

    #[test]
    fn trusted_proxies_name_the_client() {
        let fields = [("x-forwarded-for", "192.0.2.7, 10.0.0.2")];
        let trusted = ["10.0.0.0/8".parse::<Network>().unwrap()].into_iter().collect();
        let trusting = Forwarded { trusted, ..Forwarded::default() };
        for (peer, expected) in [("10.0.0.1:5", "192.0.2.7"), ("192.0.2.1:5", "192.0.2.1")] {
            let found = HashKey::Client.of(&request("/", &fields, tcp(peer)), &trusting);
            assert_eq!(found, u64::from(murmur2(expected.as_bytes())), "{peer}");
        }
    }
}
