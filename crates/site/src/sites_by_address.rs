//! Sites that have addresses of their own: a request is for those of the address that its client connected to.

use std::net::{IpAddr, SocketAddr};

use serow::Connection;

use crate::Sites;

/// Sites by the addresses of listeners.
#[derive(Clone)]
pub struct SitesByAddress {
    own: Vec<(SocketAddr, Sites)>,
    otherwise: Box<Sites>,
}

impl SitesByAddress {
    /// Sites of these listeners, which do not overlap; others for connections to all other listeners.
    #[must_use]
    pub fn new(own: Vec<(SocketAddr, Sites)>, otherwise: Sites) -> Self {
        Self { own, otherwise: Box::new(otherwise) }
    }

    /// The sites of a listener.
    pub(crate) fn reached_by(&self, listener: Option<SocketAddr>) -> &Sites {
        self.own.iter().find(|(own, _)| Some(*own) == listener).map_or(&self.otherwise, |(_, sites)| sites)
    }

    /// The sites of a connection.
    pub(crate) fn of(&self, connection: &Connection) -> &Sites {
        let own = connection.local().and_then(|local| self.own.iter().find(|(listener, _)| takes(*listener, local)));
        own.map_or(&self.otherwise, |(_, sites)| sites)
    }
}

/// Whether a listener takes connections to an address: an address of zeroes is every address, and of IPv6, those of IPv4
/// too.
fn takes(listener: SocketAddr, local: SocketAddr) -> bool {
    let (ip, local_ip) = (listener.ip().to_canonical(), local.ip().to_canonical());
    let is_every = match ip {
        IpAddr::V4(ip) => ip.is_unspecified() && local_ip.is_ipv4(),
        IpAddr::V6(ip) => ip.is_unspecified(),
    };
    listener.port() == local.port() && (ip == local_ip || is_every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_take_connections_to_their_addresses() {
        for (listener, local, expected) in [
            ("127.0.0.1:80", "127.0.0.1:80", true),
            ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
            ("127.0.0.1:80", "127.0.0.1:81", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("0.0.0.0:80", "127.0.0.2:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("[::]:80", "[2001:db8::1]:80", true),
            ("[::]:80", "[::ffff:10.0.0.1]:80", true),
            ("[::]:80", "10.0.0.1:443", false),
        ] {
            assert_eq!(takes(listener.parse().unwrap(), local.parse().unwrap()), expected, "{listener} {local}");
        }
    }
}
