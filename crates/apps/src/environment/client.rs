//! The client of a request.

use std::net::IpAddr;

use serow_gateway::TrustedProxies;
use serow_message::{Peer, Request, Scheme};

/// The client of a request, as far as proxies are trusted to name it.
#[derive(Debug)]
pub(crate) struct Client {
    /// The scheme that it used.
    pub(crate) scheme: Scheme,
    /// Nothing for clients over unix sockets.
    pub(crate) address: Option<IpAddr>,
    /// 0 if it is unknown: for clients at unix sockets and behind proxies.
    pub(crate) port: u16,
    /// Whether the peer is a trusted proxy.
    pub(crate) is_believed: bool,
}

impl Client {
    pub(crate) fn of(request: &Request, trusted: &TrustedProxies) -> Self {
        let (headers, connection) = (&request.headers, request.connection());
        let (peer, port) = match connection.peer() {
            Peer::Tcp(address) => (Some(address.ip().to_canonical()), address.port()),
            Peer::Unix => (None, 0),
        };
        let address = trusted.client_address(headers, connection);
        Self {
            scheme: trusted.client_scheme(headers, connection),
            address,
            port: if address == peer { port } else { 0 },
            is_believed: trusted.contains(connection.peer()),
        }
    }
}
