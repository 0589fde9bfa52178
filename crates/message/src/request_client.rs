//! The client of a request, found out when it is first asked for.

use std::cell::Cell;

use crate::{Connection, Headers, Peer, Scheme, TrustedProxies};

/// The client of one request: its address and its scheme, as trusted proxies name them. Both are found out when they are
/// first asked for, and only once.
///
/// ```
/// use serow_message::{Connection, Headers, Peer, RequestClient, Scheme, TrustedProxies};
///
/// let trusted = TrustedProxies::local();
/// let client = RequestClient::new(&trusted);
/// let mut headers = Headers::new();
/// headers.append("X-Forwarded-For", "192.0.2.1").unwrap();
/// let connection = Connection::new(Peer::Unix, None, Scheme::Http);
/// assert_eq!(client.peer(&headers, &connection), Peer::Tcp("192.0.2.1:0".parse()?));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug)]
pub struct RequestClient<'a> {
    trusted: &'a TrustedProxies,
    peer: Cell<Option<Peer>>,
    scheme: Cell<Option<Scheme>>,
}

impl<'a> RequestClient<'a> {
    /// The client of a request that may have come through these proxies.
    #[must_use]
    #[inline]
    pub const fn new(trusted: &'a TrustedProxies) -> Self {
        Self { trusted, peer: Cell::new(None), scheme: Cell::new(None) }
    }

    /// The client's address: see [`TrustedProxies::client`]. The headers and the connection are those of the request,
    /// the same at each call.
    pub fn peer(&self, headers: &Headers, connection: &Connection) -> Peer {
        let peer = self.peer.get().unwrap_or_else(|| self.trusted.client(headers, connection));
        self.peer.set(Some(peer));
        peer
    }

    /// The scheme of the client's own connection: see [`TrustedProxies::client_scheme`].
    pub fn scheme(&self, headers: &Headers, connection: &Connection) -> Scheme {
        let scheme = self.scheme.get().unwrap_or_else(|| self.trusted.client_scheme(headers, connection));
        self.scheme.set(Some(scheme));
        scheme
    }
}
