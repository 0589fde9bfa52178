//! Whom a request comes from.

use std::net::IpAddr;

use serow_gateway::TrustedProxies;
use serow_message::{Peer, Request, Scheme};

/// Whom a request comes from, as far as that can be believed.
#[derive(Debug)]
pub(crate) struct Client {
    /// How it asked.
    pub(crate) scheme: Scheme,
    /// Nothing for clients over unix sockets.
    pub(crate) address: Option<IpAddr>,
    /// 0 where nobody says it: of clients over unix sockets, and behind servers in front.
    pub(crate) port: u16,
    /// Whether the peer's word is taken for who that is.
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
