//! Trusted proxies: peers that may say who the client is.

use std::net::IpAddr;

use serow_message::{Connection, Headers, KnownHeader, Network, Peer, Scheme, hop_by_hop};

/// Trusted proxies: peers whose `X-Forwarded-*` and `Forwarded` fields are honoured; none by default.
///
/// ```
/// use serow_gateway::{Network, TrustedProxies};
///
/// let networks: Vec<Network> = vec!["10.0.0.0/8".parse()?, Network::Unix];
/// let trust: TrustedProxies = networks.into_iter().collect();
/// assert!(trust.contains(serow_message::Peer::Unix));
/// # Ok::<(), serow_gateway::NetworkError>(())
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

    fn contains_address(&self, address: IpAddr) -> bool {
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
        self.named_client(headers, connection).or(match connection.peer() {
            Peer::Tcp(address) => Some(address.ip().to_canonical()),
            Peer::Unix => None,
        })
    }

    /// The client's address as trusted proxies name it; `None` if the peer is not trusted or names no address, so that
    /// the peer counts as the client.
    #[must_use]
    pub fn named_client(&self, headers: &Headers, connection: &Connection) -> Option<IpAddr> {
        if !headers.contains(KnownHeader::XForwardedFor) || !self.contains(connection.peer()) {
            return None;
        }
        let mut client = None;
        let named: Vec<&[u8]> = headers.list(KnownHeader::XForwardedFor).collect();
        for text in named.into_iter().rev() {
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
        let told = headers.list(KnownHeader::XForwardedProto).next().filter(|_| self.contains(connection.peer()));
        match told {
            Some(b"https") => Scheme::Https,
            Some(b"http") => Scheme::Http,
            _ => connection.scheme(),
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
    use std::net::SocketAddr;

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
