//! Trusted proxies: peers that may say who the client is.

use std::net::{IpAddr, SocketAddr};

use ipnet::IpNet;
use smallvec::SmallVec;

use crate::{Connection, Headers, KnownHeader, Network, NetworkSet, Peer, Scheme, authority, hop_by_hop};

/// Trusted proxies: peers whose `X-Forwarded-*` and `Forwarded` fields are honoured; none by default.
///
/// ```
/// use serow_message::{Network, TrustedProxies};
///
/// let networks: Vec<Network> = vec!["10.0.0.0/8".parse()?, Network::Unix];
/// let trust: TrustedProxies = networks.into_iter().collect();
/// assert!(trust.contains(serow_message::Peer::Unix));
/// # Ok::<(), serow_message::NetworkError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: NetworkSet,
}

impl TrustedProxies {
    /// Programs of this machine: over its loopback addresses and unix sockets.
    #[must_use]
    pub fn local() -> Self {
        Network::LOCAL.into_iter().collect()
    }

    /// Whether this peer is trusted.
    #[must_use]
    pub fn contains(&self, peer: Peer) -> bool {
        self.networks.contains_peer(peer)
    }

    /// Whether one of these addresses may be that of a trusted proxy.
    #[must_use]
    pub fn overlaps(&self, addresses: IpNet) -> bool {
        self.networks.overlaps(addresses)
    }

    /// Whether a peer with this address is trusted.
    #[must_use]
    pub fn contains_address(&self, address: IpAddr) -> bool {
        self.networks.contains(address)
    }

    /// Whether proxies describe the client, or its connection, in this field. Such fields of untrusted peers are
    /// ignored.
    #[inline]
    #[must_use]
    pub fn is_client_field(name: &[u8], known: Option<KnownHeader>) -> bool {
        match known {
            Some(known) => matches!(
                known,
                KnownHeader::XForwardedFor
                    | KnownHeader::XForwardedProto
                    | KnownHeader::XForwardedHost
                    | KnownHeader::Forwarded
            ),
            None => hop_by_hop::tells_of_client(name),
        }
    }

    /// Whether no peer is trusted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// The client's address: the peer's, or if the peer is trusted, the last address in X-Forwarded-For that is not
    /// itself trusted. `None` for a peer at a unix socket that sends no X-Forwarded-For.
    #[must_use]
    pub fn client_address(&self, headers: &Headers, connection: &Connection) -> Option<IpAddr> {
        match self.client(headers, connection) {
            Peer::Tcp(address) => Some(address.ip()),
            Peer::Unix => None,
        }
    }

    /// The client: the peer, or the address that [`Self::named_client`] finds, with port 0, since proxies do not name
    /// the client's port. An IPv4 address is never written as IPv6.
    #[must_use]
    pub fn client(&self, headers: &Headers, connection: &Connection) -> Peer {
        match (self.named_client(headers, connection), connection.peer()) {
            (Some(address), _) => Peer::Tcp(SocketAddr::new(address, 0)),
            (None, Peer::Tcp(address)) => Peer::Tcp(SocketAddr::new(address.ip().to_canonical(), address.port())),
            (None, Peer::Unix) => Peer::Unix,
        }
    }

    /// The client's address as trusted proxies name it; `None` if the peer is not trusted or names no address, so that
    /// the peer counts as the client.
    ///
    /// The field is read from its end, and no further than the first address that is not trusted: a client cannot make
    /// this expensive by a long field of its own.
    #[must_use]
    pub fn named_client(&self, headers: &Headers, connection: &Connection) -> Option<IpAddr> {
        if !self.is_named(headers, KnownHeader::XForwardedFor, connection) {
            return None;
        }
        self.named_addresses(headers).0
    }

    /// The client's address in X-Forwarded-For, and how many addresses stand there from it to the end: as many proxies as
    /// are trusted have written them.
    fn named_addresses(&self, headers: &Headers) -> (Option<IpAddr>, usize) {
        let (mut client, mut count) = (None, 0);
        let lines: SmallVec<[&[u8]; 4]> = headers.get_all(KnownHeader::XForwardedFor).collect();
        let named = lines.iter().rev().flat_map(|line| line.rsplit(|&byte| byte == b','));
        for text in named.map(<[u8]>::trim_ascii).filter(|text| !text.is_empty()) {
            // Elements before an invalid one cannot be trusted.
            let Some(address) = address(text) else { break };
            (client, count) = (Some(address), count + 1);
            if !self.contains_address(address) {
                break;
            }
        }
        (client, count)
    }

    /// The scheme of the client's own connection: ours, or if the peer is trusted, that of X-Forwarded-Proto.
    #[must_use]
    pub fn client_scheme(&self, headers: &Headers, connection: &Connection) -> Scheme {
        self.named_scheme(headers, connection).unwrap_or_else(|| connection.scheme())
    }

    /// The scheme of the client's own connection as a trusted proxy names it in X-Forwarded-Proto. That of a WebSocket is
    /// the scheme that it is requested with.
    #[must_use]
    pub fn named_scheme(&self, headers: &Headers, connection: &Connection) -> Option<Scheme> {
        if !self.is_named(headers, KnownHeader::XForwardedProto, connection) {
            return None;
        }
        let named = self.member(headers, KnownHeader::XForwardedProto)?;
        let is_one_of = |schemes: [&str; 2]| schemes.iter().any(|scheme| named.eq_ignore_ascii_case(scheme.as_bytes()));
        match named {
            _ if is_one_of(["https", "wss"]) => Some(Scheme::Https),
            _ if is_one_of(["http", "ws"]) => Some(Scheme::Http),
            _ => None,
        }
    }

    /// The host that the client asked for, perhaps with a port, as a trusted proxy names it in X-Forwarded-Host. `None`
    /// where `Host` counts: the peer is not trusted, or names no valid host.
    #[must_use]
    pub fn named_host<'h>(&self, headers: &'h Headers, connection: &Connection) -> Option<&'h str> {
        if !self.is_named(headers, KnownHeader::XForwardedHost, connection) {
            return None;
        }
        let named = self.member(headers, KnownHeader::XForwardedHost)?;
        str::from_utf8(named).ok().filter(|_| authority::is_valid(named) && !named.starts_with(b":"))
    }

    /// Whether a trusted proxy sends this field.
    fn is_named(&self, headers: &Headers, name: KnownHeader, connection: &Connection) -> bool {
        !self.is_empty() && headers.contains(name) && self.contains(connection.peer())
    }

    /// The member of a list that was written by the proxy that wrote the client's address: those before it are the
    /// client's own words. Proxies that do not add to the list leave it shorter; then the first member counts.
    fn member<'h>(&self, headers: &'h Headers, name: KnownHeader) -> Option<&'h [u8]> {
        let mut members = headers.list(name);
        let first = members.next()?;
        match members.count() {
            0 => Some(first),
            behind => headers.list(name).nth((behind + 1).saturating_sub(self.named_addresses(headers).1.max(1))),
        }
    }
}

impl FromIterator<Network> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        Self { networks: networks.into_iter().collect() }
    }
}

/// An address in X-Forwarded-For; some proxies add its port or brackets.
pub(crate) fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let bracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let address = bracketed.unwrap_or(text).parse().ok();
    let address = address.or_else(|| text.parse().ok().map(|address: std::net::SocketAddr| address.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    fn headers(name: &str, value: &str) -> Headers {
        let mut headers = Headers::new();
        headers.append(name, value).unwrap();
        headers
    }

    fn connection(peer: &str, scheme: Scheme) -> Connection {
        let peer = peer.parse().map_or(Peer::Unix, |address: IpAddr| Peer::Tcp(SocketAddr::new(address, 1234)));
        Connection::new(peer, None, scheme)
    }

    fn trust(networks: &[&str]) -> TrustedProxies {
        networks.iter().map(|network| network.parse::<Network>().unwrap()).collect()
    }

    const NONE: &[&str] = &[];
    const TEN: &[&str] = &["10.0.0.0/8", "unix"];

    #[test]
    fn client_addresses_follow_trusted_proxies() {
        let cases = [
            // trusted, peer, X-Forwarded-For, the client
            (NONE, "192.0.2.1", "192.0.2.2", Some("192.0.2.1")),
            (TEN, "192.0.2.1", "192.0.2.2", Some("192.0.2.1")),
            (TEN, "10.0.0.1", "", Some("10.0.0.1")),
            (TEN, "10.0.0.1", "192.0.2.2", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "192.0.2.2, 10.0.0.2", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "1.1.1.1, 192.0.2.2, 10.0.0.2", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "10.0.0.3, 10.0.0.2", Some("10.0.0.3")),
            (TEN, "10.0.0.1", "1.1.1.1, unknown, 10.0.0.2", Some("10.0.0.2")),
            (TEN, "10.0.0.1", "nonsense", Some("10.0.0.1")),
            (TEN, "10.0.0.1", "192.0.2.2:1234", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "[2001:db8::1]:1234", Some("2001:db8::1")),
            (TEN, "10.0.0.1", "[2001:db8::1]", Some("2001:db8::1")),
            (TEN, "10.0.0.1", "[::ffff:192.0.2.2]:80", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "1.1.1.1, ::ffff:10.0.0.2", Some("1.1.1.1")),
            (TEN, "::ffff:10.0.0.1", "192.0.2.2", Some("192.0.2.2")),
            (TEN, "10.0.0.1", "192.0.2.2, [2001:db8::1", Some("10.0.0.1")),
            (TEN, "10.0.0.1", "192.0.2.2:99999, 10.0.0.2", Some("10.0.0.2")),
            (TEN, "10.0.0.1", " , 192.0.2.2 ,, ", Some("192.0.2.2")),
            (TEN, "10.0.0.1", ",", Some("10.0.0.1")),
            (TEN, "10.0.0.1", "::ffff:192.0.2.2", Some("192.0.2.2")),
            (TEN, "unix", "192.0.2.2", Some("192.0.2.2")),
            (TEN, "unix", "", None),
            (NONE, "unix", "192.0.2.2", None),
            (NONE, "::ffff:192.0.2.1", "", Some("192.0.2.1")),
        ];
        for (trusted, peer, named, expected) in cases {
            let headers = headers("x-forwarded-for", named);
            let client = trust(trusted).client_address(&headers, &connection(peer, Scheme::Http));
            assert_eq!(client.map(|address| address.to_string()).as_deref(), expected, "{trusted:?} {peer} {named}");
        }
    }

    #[test]
    fn several_fields_are_one_list() {
        let mut headers = headers("x-forwarded-for", "1.1.1.1");
        headers.append("X-Forwarded-For", "192.0.2.2, 10.0.0.3").unwrap();
        headers.append("x-forwarded-for", "10.0.0.2").unwrap();
        let client = trust(TEN).client(&headers, &connection("10.0.0.1", Scheme::Http));
        assert_eq!(client, Peer::Tcp("192.0.2.2:0".parse().unwrap()));
    }

    #[test]
    fn peers_that_no_proxy_names_keep_their_port() {
        let client = trust(TEN).client(&Headers::new(), &connection("::ffff:192.0.2.1", Scheme::Http));
        assert_eq!(client, Peer::Tcp("192.0.2.1:1234".parse().unwrap()));
    }

    #[test]
    fn schemes_of_clients() {
        use Scheme::{Http, Https};
        let cases = [
            // trusted, the peer's own, X-Forwarded-Proto, the client's
            (NONE, Http, "https", Http),
            (NONE, Https, "http", Https),
            (TEN, Http, "https", Https),
            (TEN, Https, "http", Http),
            (TEN, Http, "https, http", Http),
            (TEN, Https, "", Https),
            (TEN, Http, "ftp", Http),
            // RFC 3986 §3.1: schemes are case-insensitive. RFC 6455 §3: those of WebSocket.
            (TEN, Http, "HTTPS", Https),
            (TEN, Https, "Http", Http),
            (TEN, Http, "wss", Https),
            (TEN, Http, "WSS", Https),
            (TEN, Https, "ws", Http),
            (TEN, Https, "wsx", Https),
        ];
        for (trusted, own, told, expected) in cases {
            let headers = headers("x-forwarded-proto", told);
            let found = trust(trusted).client_scheme(&headers, &connection("10.0.0.1", own));
            assert_eq!(found, expected, "{trusted:?} {own:?} {told}");
        }
    }

    #[test]
    fn the_member_of_the_proxy_that_names_the_client_counts() {
        let cases = [
            // X-Forwarded-For, the list, the member
            ("", "a, b", "b"),
            ("192.0.2.2", "a", "a"),
            ("192.0.2.2", "a, b", "b"),
            ("192.0.2.2", "a,, b,", "b"),
            ("192.0.2.2, 10.0.0.2", "a, b", "a"),
            ("192.0.2.2, 10.0.0.2", "a, b, c", "b"),
            ("192.0.2.2, 10.0.0.2, 10.0.0.3", "a, b", "a"),
            ("1.1.1.1, 192.0.2.2, 10.0.0.2", "a, b, c", "b"),
            ("10.0.0.4, 10.0.0.2", "a, b, c", "b"),
            ("1.1.1.1, unknown, 10.0.0.2", "a, b, c", "c"),
            ("nonsense", "a, b", "b"),
        ];
        for (addresses, list, expected) in cases {
            let mut headers = headers("x-forwarded-for", addresses);
            for line in list.split(",,") {
                headers.append("x-forwarded-host", line).unwrap();
            }
            let found = trust(TEN).named_host(&headers, &connection("10.0.0.1", Scheme::Http));
            assert_eq!(found, Some(expected), "{addresses:?} {list:?}");
            let schemes = list.replace('a', "http").replace('b', "ws").replace('c', "x");
            headers.append("x-forwarded-proto", schemes).unwrap();
            let found = trust(TEN).named_scheme(&headers, &connection("10.0.0.1", Scheme::Https));
            assert_eq!(found, (expected != "c").then_some(Scheme::Http), "{addresses:?} {list:?}");
        }
    }

    #[test]
    fn hosts_of_clients() {
        let cases = [
            // trusted, X-Forwarded-Host, the host
            (NONE, "public.example", None),
            (TEN, "public.example", Some("public.example")),
            (TEN, "public.example:8443", Some("public.example:8443")),
            (TEN, "[2001:db8::1]:443", Some("[2001:db8::1]:443")),
            (TEN, "", None),
            (TEN, ":80", None),
            (TEN, "evil.example/x?", None),
            (TEN, "user@evil.example", None),
            (TEN, "a b", None),
            (TEN, "evil.example/, public.example", Some("public.example")),
            (TEN, "public.example, evil.example?", None),
        ];
        for (trusted, told, expected) in cases {
            let headers = headers("x-forwarded-host", told);
            let found = trust(trusted).named_host(&headers, &connection("10.0.0.1", Scheme::Http));
            assert_eq!(found, expected, "{trusted:?} {told}");
        }
    }

    #[test]
    fn programs_of_this_machine() {
        let cases =
            [("127.0.0.1", true), ("127.3.2.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("unix", true)];
        for (peer, expected) in cases.into_iter().chain([("10.0.0.1", false), ("::2", false), ("0.0.0.0", false)]) {
            assert_eq!(TrustedProxies::local().contains(connection(peer, Scheme::Http).peer()), expected, "{peer}");
        }
    }

    #[test]
    fn fields_that_tell_of_clients() {
        let cases = [
            ("x-forwarded-for", true),
            ("X-Forwarded-Proto", true),
            ("x-forwarded-host", true),
            ("x-forwarded-port", true),
            ("Forwarded", true),
            ("x-real-ip", true),
            ("X-Sendfile-Type", true),
            ("x-accel-mapping", true),
            ("x-request-id", false),
            ("host", false),
            ("via", false),
        ];
        for (name, expected) in cases {
            assert_eq!(
                TrustedProxies::is_client_field(name.as_bytes(), KnownHeader::recognise(name.as_bytes())),
                expected,
                "{name}"
            );
        }
    }
}
