//! Trusted proxies: peers that may say who the client is.

use std::{
    net::{IpAddr, SocketAddr},
    vec::Vec,
};

use ipnet::IpNet;
use smallvec::SmallVec;

use crate::{Connection, Headers, KnownHeader, Network, Peer, Scheme, hop_by_hop};

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
    networks: Vec<Network>,
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
        match peer {
            Peer::Tcp(address) => self.contains_address(address.ip()),
            Peer::Unix => self.networks.contains(&Network::Unix),
        }
    }

    /// Whether one of these addresses may be that of a trusted proxy.
    #[must_use]
    pub fn overlaps(&self, addresses: IpNet) -> bool {
        let overlaps = |trusted: &IpNet| trusted.contains(&addresses) || addresses.contains(trusted);
        self.networks.iter().any(|network| matches!(network, Network::Addresses(trusted) if overlaps(trusted)))
    }

    /// Whether a peer with this address is trusted.
    #[must_use]
    pub fn contains_address(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
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
        if self.is_empty() || !headers.contains(KnownHeader::XForwardedFor) || !self.contains(connection.peer()) {
            return None;
        }
        let mut client = None;
        let lines: SmallVec<[&[u8]; 4]> = headers.get_all(KnownHeader::XForwardedFor).collect();
        let named = lines.iter().rev().flat_map(|line| line.rsplit(|&byte| byte == b','));
        for text in named.map(<[u8]>::trim_ascii).filter(|text| !text.is_empty()) {
            // Elements before an invalid one cannot be trusted.
            let Some(address) = address(text) else { break };
            client = Some(address);
            if !self.contains_address(address) {
                break;
            }
        }
        client
    }

    /// The scheme of the client's own connection: ours, or if the peer is trusted, the first value of
    /// X-Forwarded-Proto.
    #[must_use]
    pub fn client_scheme(&self, headers: &Headers, connection: &Connection) -> Scheme {
        self.named_scheme(headers, connection).unwrap_or_else(|| connection.scheme())
    }

    /// The scheme of the client's own connection as a trusted proxy names it: the first value of X-Forwarded-Proto.
    #[must_use]
    pub fn named_scheme(&self, headers: &Headers, connection: &Connection) -> Option<Scheme> {
        if self.is_empty() || !headers.contains(KnownHeader::XForwardedProto) || !self.contains(connection.peer()) {
            return None;
        }
        match headers.list(KnownHeader::XForwardedProto).next()? {
            b"https" => Some(Scheme::Https),
            b"http" => Some(Scheme::Http),
            _ => None,
        }
    }
}

impl FromIterator<Network> for TrustedProxies {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        Self { networks: networks.into_iter().collect() }
    }
}

/// An address in X-Forwarded-For; some proxies add its port or brackets.
fn address(text: &[u8]) -> Option<IpAddr> {
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
            (TEN, Http, "https, http", Https),
            (TEN, Https, "", Https),
            (TEN, Http, "ftp", Http),
        ];
        for (trusted, own, told, expected) in cases {
            let headers = headers("x-forwarded-proto", told);
            let found = trust(trusted).client_scheme(&headers, &connection("10.0.0.1", own));
            assert_eq!(found, expected, "{trusted:?} {own:?} {told}");
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
