//! A client by its address, as limits and bans count it.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::{Network, NetworkError};

/// A client as limits and bans count it: an IPv4 address, or the /64 network of an IPv6 address, all of which a client
/// has (RFC 6177).
///
/// ```
/// use serow_message::ClientNetwork;
///
/// let client: ClientNetwork = "2001:db8::1".parse()?;
/// assert_eq!(client, "2001:db8::/64".parse()?);
/// assert_eq!(client.to_string(), "2001:db8::/64");
/// assert_eq!(ClientNetwork::of("::ffff:192.0.2.1".parse().unwrap()).to_string(), "192.0.2.1");
/// # Ok::<(), serow_message::ClientNetworkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientNetwork(Inner);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Inner {
    V4(u32),
    /// The upper half of the address.
    V6(u64),
}

impl ClientNetwork {
    /// The client with this address. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is an IPv4 address.
    #[inline]
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Inner::V4(address.to_bits()),
            IpAddr::V6(address) => Inner::V6((address.to_bits() >> 64) as u64),
        })
    }

    /// Its addresses.
    #[must_use]
    pub fn network(self) -> IpNet {
        match self.0 {
            Inner::V4(bits) => IpNet::V4(Ipv4Net::from(Ipv4Addr::from_bits(bits))),
            Inner::V6(bits) => {
                let address = Ipv6Addr::from_bits(u128::from(bits) << 64);
                IpNet::V6(Ipv6Net::new(address, PREFIX).unwrap_or_else(|_| Ipv6Net::from(address)))
            }
        }
    }
}

impl fmt::Display for ClientNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.network() {
            IpNet::V4(network) => network.addr().fmt(f),
            IpNet::V6(network) => network.fmt(f),
        }
    }
}

impl FromStr for ClientNetwork {
    type Err = ClientNetworkError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse().map_err(ClientNetworkError::Network)? {
            Network::Addresses(IpNet::V4(network)) if network.prefix_len() == 32 => Ok(Self::of(network.addr().into())),
            Network::Addresses(IpNet::V6(network)) if matches!(network.prefix_len(), PREFIX | 128) => {
                Ok(Self::of(network.addr().into()))
            }
            Network::Addresses(_) | Network::Unix => Err(ClientNetworkError::NotOneClient),
        }
    }
}

/// Why a text does not name a client. The message names the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientNetworkError {
    /// It is not a network.
    Network(NetworkError),
    /// It is a network of several clients.
    NotOneClient,
}

impl fmt::Display for ClientNetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => error.fmt(f),
            Self::NotOneClient => f.write_str("not one client; write an IPv4 address, or an IPv6 address or its /64"),
        }
    }
}

impl std::error::Error for ClientNetworkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Network(error) => Some(error),
            Self::NotOneClient => None,
        }
    }
}

/// The length of the prefix of a client's IPv6 network.
const PREFIX: u8 = 64;

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn clients_are_ipv4_addresses_and_64_bit_networks() {
        for (text, expected) in [
            ("192.0.2.1", Ok("192.0.2.1")),
            ("192.0.2.1/32", Ok("192.0.2.1")),
            ("2001:db8:0:1::1", Ok("2001:db8:0:1::/64")),
            ("2001:db8:0:1:ffff::/128", Ok("2001:db8:0:1::/64")),
            ("2001:db8:0:1::/64", Ok("2001:db8:0:1::/64")),
            ("2001:db8::/32", Err(ClientNetworkError::NotOneClient)),
            ("192.0.2.0/24", Err(ClientNetworkError::NotOneClient)),
            ("unix", Err(ClientNetworkError::NotOneClient)),
            ("::ffff:192.0.2.1", Err(ClientNetworkError::Network(NetworkError::MappedAddress))),
            ("example.com", Err(ClientNetworkError::Network(NetworkError::Address))),
            (
                "2001:db8::1/64",
                Err(ClientNetworkError::Network(NetworkError::HostBits("2001:db8::/64".parse().unwrap()))),
            ),
        ] {
            let client = text.parse::<ClientNetwork>();
            assert_eq!(client.map(|client| client.to_string()), expected.map(ToString::to_string), "{text}");
        }
    }
}
