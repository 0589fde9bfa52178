//! Networks in CIDR notation: of trusted proxies, and of clients that a route is for.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::Peer;

/// A network: addresses with a common prefix, or all peers at unix sockets.
///
/// ```
/// use serow_message::Network;
///
/// let network: Network = "10.0.0.0/8".parse()?;
/// assert!(network.contains([10, 1, 2, 3].into()));
/// assert!(!network.contains([11, 1, 2, 3].into()));
/// assert_eq!("unix".parse(), Ok(Network::Unix));
/// # Ok::<(), serow_message::NetworkError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Addresses in CIDR notation; the bits behind the prefix are zero.
    Addresses(IpNet),
    /// Programs of this machine, over unix sockets.
    Unix,
}

impl Network {
    /// Programs of this machine: over its loopback addresses and unix sockets.
    pub const LOCAL: [Self; 3] = [
        Self::Addresses(IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8))),
        Self::Addresses(IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128))),
        Self::Unix,
    ];

    /// All peers.
    pub const EVERYWHERE: [Self; 3] = [
        Self::Addresses(IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::UNSPECIFIED, 0))),
        Self::Addresses(IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 0))),
        Self::Unix,
    ];

    /// Whether it has this address. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match self {
            Self::Addresses(network) => network.contains(&address.to_canonical()),
            Self::Unix => false,
        }
    }

    /// Whether it has this peer.
    #[must_use]
    pub fn contains_peer(&self, peer: Peer) -> bool {
        match peer {
            Peer::Tcp(address) => self.contains(address.ip()),
            Peer::Unix => *self == Self::Unix,
        }
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        if text == "unix" {
            return Ok(Self::Unix);
        }
        let (address, bits) = text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| NetworkError::Address)?;
        // Peers never have an IPv4 address written as IPv6.
        if address.to_canonical() != address {
            return Err(NetworkError::MappedAddress);
        }
        // By hand, since Rust's numbers may begin with a plus sign.
        let is_number = |bits: &&str| bits.bytes().all(|byte| byte.is_ascii_digit());
        let network = match bits {
            None => IpNet::from(address),
            Some(bits) => {
                let length = Some(bits)
                    .filter(is_number)
                    .and_then(|bits| bits.parse().ok())
                    .ok_or(NetworkError::PrefixLength)?;
                IpNet::new(address, length).map_err(|_| NetworkError::PrefixLength)?
            }
        };
        if network.trunc() != network {
            return Err(NetworkError::HostBits(network.trunc()));
        }
        Ok(Self::Addresses(network))
    }
}

impl fmt::Display for Network {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Addresses(network) => network.fmt(formatter),
            Self::Unix => formatter.write_str("unix"),
        }
    }
}

/// Why a text is not a network. The message names the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// It does not begin with an address.
    Address,
    /// An IPv4 address written as IPv6.
    MappedAddress,
    /// The number after the slash is not a valid prefix length for this kind of address.
    PrefixLength,
    /// There are bits behind the prefix, so perhaps another network was meant: this is the one that has the address.
    HostBits(IpNet),
}

impl fmt::Display for NetworkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address => {
                formatter.write_str("not an address; write it as in 10.0.0.0/8, 192.0.2.1, 2001:db8::/32 or unix")
            }
            Self::MappedAddress => {
                formatter.write_str("an IPv4 address written as IPv6; write the IPv4 address itself")
            }
            Self::PrefixLength => {
                formatter.write_str("not a valid prefix length; IPv4 has up to 32 bits, IPv6 up to 128")
            }
            Self::HostBits(network) => write!(formatter, "an address within a network; the network is {network}"),
        }
    }
}

impl Error for NetworkError {}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn networks_are_parsed() {
        let cases = [
            ("10.0.0.0/8", Ok("10.0.0.0/8")),
            ("192.0.2.1", Ok("192.0.2.1/32")),
            ("::1", Ok("::1/128")),
            ("2001:db8::/32", Ok("2001:db8::/32")),
            ("0.0.0.0/0", Ok("0.0.0.0/0")),
            ("::/0", Ok("::/0")),
            ("unix", Ok("unix")),
            ("", Err(NetworkError::Address)),
            ("localhost", Err(NetworkError::Address)),
            ("10.0.0/8", Err(NetworkError::Address)),
            ("10.0.0.0:80", Err(NetworkError::Address)),
            ("10.0.0.0/33", Err(NetworkError::PrefixLength)),
            ("10.0.0.0/+8", Err(NetworkError::PrefixLength)),
            ("10.0.0.0/", Err(NetworkError::PrefixLength)),
            ("::/129", Err(NetworkError::PrefixLength)),
            ("::/1000", Err(NetworkError::PrefixLength)),
            ("::ffff:10.0.0.0/104", Err(NetworkError::MappedAddress)),
            ("10.1.0.0/8", Err(NetworkError::HostBits("10.0.0.0/8".parse().unwrap()))),
        ];
        for (text, expected) in cases {
            let found = text.parse::<Network>().map(|network| network.to_string());
            assert_eq!(found.as_deref(), expected.as_ref().map(|text| *text), "{text}");
        }
    }

    #[test]
    fn networks_contain_their_addresses() {
        let cases = [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.0", false),
            ("10.0.0.0/8", "::ffff:10.0.0.1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("0.0.0.0/0", "255.255.255.255", true),
            ("0.0.0.0/0", "::1", false),
            ("::/0", "10.0.0.1", false),
            ("::/0", "2001:db8::1", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("unix", "127.0.0.1", false),
        ];
        for (network, address, expected) in cases {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), expected, "{network} {address}");
        }
    }
}
