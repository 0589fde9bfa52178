//! Sets of addresses.

use std::{boxed::Box, net::IpAddr, vec::Vec};

use ipnet::IpNet;

use crate::{Network, NetworkError, Peer};

/// The addresses of any number of networks: ranges in order, of which a search looks at a few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkSet {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
    has_unix: bool,
}

impl NetworkSet {
    /// Reads a file: a network in each line, and comments behind `#` or `;`.
    ///
    /// # Errors
    ///
    /// The number of the first line that has something else, from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, (usize, NetworkError)> {
        let mut networks = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split(['#', ';']).next().unwrap_or_default().trim();
            if !line.is_empty() {
                networks.push(line.parse().map_err(|error| (number + 1, error))?);
            }
        }
        Ok(networks.into_iter().collect())
    }

    /// Whether no address is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty() && !self.has_unix
    }

    /// Whether an address is in it. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => is_in(&self.v4, address.to_bits()),
            IpAddr::V6(address) => is_in(&self.v6, address.to_bits()),
        }
    }

    /// Whether an address of a network is in it.
    #[must_use]
    pub fn overlaps(&self, network: IpNet) -> bool {
        match network {
            IpNet::V4(network) => meets(&self.v4, network.network().to_bits(), network.broadcast().to_bits()),
            IpNet::V6(network) => meets(&self.v6, network.network().to_bits(), network.broadcast().to_bits()),
        }
    }

    /// Whether a client is in it: `None` is one at a unix socket.
    #[must_use]
    pub fn contains_client(&self, client: Option<IpAddr>) -> bool {
        client.map_or(self.has_unix, |address| self.contains(address))
    }

    /// Whether a peer is in it.
    #[must_use]
    pub fn contains_peer(&self, peer: Peer) -> bool {
        match peer {
            Peer::Tcp(address) => self.contains(address.ip()),
            Peer::Unix => self.has_unix,
        }
    }
}

impl FromIterator<Network> for NetworkSet {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let (mut v4, mut v6, mut has_unix) = (Vec::new(), Vec::new(), false);
        for network in networks {
            match network {
                Network::Addresses(IpNet::V4(network)) => {
                    v4.push((network.network().to_bits(), network.broadcast().to_bits()));
                }
                Network::Addresses(IpNet::V6(network)) => {
                    v6.push((network.network().to_bits(), network.broadcast().to_bits()));
                }
                Network::Unix => has_unix = true,
            }
        }
        Self { v4: joined(v4), v6: joined(v6), has_unix }
    }
}

/// Sorts ranges, and joins those that overlap or touch.
fn joined<N: Copy + Ord + Successor>(mut ranges: Vec<(N, N)>) -> Box<[(N, N)]> {
    ranges.sort_unstable();
    let mut joined: Vec<(N, N)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if before.1.successor().is_none_or(|next| first <= next) => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    joined.into()
}

fn is_in<N: Copy + Ord>(ranges: &[(N, N)], address: N) -> bool {
    meets(ranges, address, address)
}

/// Whether a range has a number from the first to the last of these.
fn meets<N: Copy + Ord>(ranges: &[(N, N)], first: N, last: N) -> bool {
    let behind = ranges.partition_point(|(start, _)| *start <= last);
    behind.checked_sub(1).is_some_and(|place| first <= ranges[place].1)
}

/// Numbers of addresses.
pub(crate) trait Successor: Sized {
    /// The next number, if there is one.
    fn successor(self) -> Option<Self>;
}

impl Successor for u32 {
    fn successor(self) -> Option<Self> {
        self.checked_add(1)
    }
}

impl Successor for u128 {
    fn successor(self) -> Option<Self> {
        self.checked_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_contain_their_addresses() {
        let set = NetworkSet::parse(
            "# office\n10.0.0.0/9\n10.128.0.0/9 ; the rest of it\n\n  192.0.2.7\n192.0.2.9\n2001:db8::/32\n\
             255.255.255.255\n10.1.0.0/16\nunix\n",
        )
        .unwrap();
        assert_eq!(set.v4.len(), 4);
        for (address, expected) in [
            ("10.0.0.0", true),
            ("10.255.255.255", true),
            ("9.255.255.255", false),
            ("11.0.0.0", false),
            ("::ffff:10.1.2.3", true),
            ("192.0.2.6", false),
            ("192.0.2.7", true),
            ("192.0.2.8", false),
            ("192.0.2.9", true),
            ("255.255.255.255", true),
            ("255.255.255.254", false),
            ("0.0.0.0", false),
            ("::", false),
            ("2001:db8:ffff::1", true),
            ("2001:db9::", false),
        ] {
            assert_eq!(set.contains(address.parse().unwrap()), expected, "{address}");
        }
        assert!(set.contains_client(None));
        for (network, expected) in [
            ("10.0.0.0/7", true),
            ("10.1.2.0/24", true),
            ("8.0.0.0/7", false),
            ("11.0.0.0/8", false),
            ("192.0.2.8/31", true),
            ("192.0.2.10/31", false),
            ("0.0.0.0/0", true),
            ("2001:db8:1::/48", true),
            ("2001:db9::/32", false),
            ("::/0", true),
        ] {
            assert_eq!(set.overlaps(network.parse().unwrap()), expected, "{network}");
        }
    }

    #[test]
    fn all_addresses_are_one_range() {
        let set = NetworkSet::parse("0.0.0.0/0\n::/0\n128.0.0.0/1\nffff::/16\n").unwrap();
        assert_eq!((set.v4.len(), set.v6.len()), (1, 1));
        assert!(set.contains("255.255.255.255".parse().unwrap()) && set.contains("ffff::".parse().unwrap()));
        assert!(!set.contains_client(None));
    }

    #[test]
    fn the_line_of_an_error_is_named() {
        let error = NetworkSet::parse("10.0.0.0/8\n# a\nlocalhost\n").unwrap_err();
        assert_eq!(error, (3, NetworkError::Address));
    }
}
