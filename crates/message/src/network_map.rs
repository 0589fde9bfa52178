//! Values of networks.

use std::{boxed::Box, net::IpAddr, vec::Vec};

use ipnet::IpNet;

use crate::{Network, network_set::Successor};

/// Values of any number of networks. An address has that of the smallest network that contains it.
///
/// ```
/// use serow_message::{Network, NetworkMap};
///
/// let networks: [(Network, &str); 2] = [("10.0.0.0/8".parse()?, "office"), ("10.1.0.0/16".parse()?, "lab")];
/// let names: NetworkMap<&str> = networks.into_iter().collect();
/// assert_eq!(names.find([10, 1, 2, 3].into()), Some(&"lab"));
/// assert_eq!(names.find([10, 2, 2, 3].into()), Some(&"office"));
/// assert_eq!(names.find([11, 1, 2, 3].into()), None);
/// # Ok::<(), serow_message::NetworkError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkMap<V> {
    v4: Box<[Segment<u32>]>,
    v6: Box<[Segment<u128>]>,
    values: Box<[V]>,
}

/// The first of the addresses, up to the next segment, that have the same value, by its number, or none.
type Segment<N> = (N, Option<usize>);

impl<V> NetworkMap<V> {
    /// The value of an address. An IPv4 address written as IPv6 (`::ffff:192.0.2.1`) is an IPv4 address.
    #[must_use]
    pub fn find(&self, address: IpAddr) -> Option<&V> {
        let number = match address.to_canonical() {
            IpAddr::V4(address) => value_at(&self.v4, address.to_bits()),
            IpAddr::V6(address) => value_at(&self.v6, address.to_bits()),
        };
        self.values.get(number?)
    }

    /// All values, in the order of the networks.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.values.iter()
    }
}

impl<V> FromIterator<(Network, V)> for NetworkMap<V> {
    /// Of equal networks, the last counts. Unix sockets have no address.
    fn from_iter<I: IntoIterator<Item = (Network, V)>>(networks: I) -> Self {
        let (mut v4, mut v6, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (network, value) in networks {
            match network {
                Network::Addresses(IpNet::V4(network)) => {
                    v4.push((network.network().to_bits(), network.broadcast().to_bits(), values.len()));
                }
                Network::Addresses(IpNet::V6(network)) => {
                    v6.push((network.network().to_bits(), network.broadcast().to_bits(), values.len()));
                }
                Network::Unix => {}
            }
            values.push(value);
        }
        Self { v4: segments(v4), v6: segments(v6), values: values.into() }
    }
}

/// The segments of ranges with values, of which two never overlap unless one contains the other.
fn segments<N: Copy + Ord + Successor>(mut ranges: Vec<(N, N, usize)>) -> Box<[Segment<N>]> {
    // A range stands before those that it contains.
    ranges.sort_by(|(first, last, _), (other, other_last, _)| first.cmp(other).then(other_last.cmp(last)));
    let mut segments: Vec<Segment<N>> = Vec::new();
    let mut push = |first: N, value: Option<usize>| match segments.last_mut() {
        Some(segment) if segment.0 == first => segment.1 = value,
        _ => segments.push((first, value)),
    };
    let mut open: Vec<(N, usize)> = Vec::new();
    let value = |open: &[(N, usize)]| open.last().map(|(_, value)| *value);
    for (first, last, number) in ranges {
        while let Some((end, _)) = open.pop_if(|(end, _)| *end < first) {
            end.successor().into_iter().for_each(|next| push(next, value(&open)));
        }
        push(first, Some(number));
        open.push((last, number));
    }
    while let Some((end, _)) = open.pop() {
        end.successor().into_iter().for_each(|next| push(next, value(&open)));
    }
    segments.into()
}

fn value_at<N: Copy + Ord>(segments: &[Segment<N>], address: N) -> Option<usize> {
    let behind = segments.partition_point(|(first, _)| *first <= address);
    behind.checked_sub(1).and_then(|place| segments[place].1)
}

#[cfg(test)]
mod tests {
    use proptest::{collection, prelude::*};

    use super::*;

    fn map(networks: &[&'static str]) -> NetworkMap<&'static str> {
        networks.iter().map(|network| (network.parse().unwrap(), *network)).collect()
    }

    #[test]
    fn the_smallest_network_counts() {
        let map = map(&[
            "10.1.0.0/16",
            "0.0.0.0/1",
            "10.1.2.0/24",
            "10.0.0.0/8",
            "10.1.255.255",
            "10.255.255.255",
            "255.255.255.255",
            "2001:db8::/32",
            "2001:db8::1",
            "ffff::/16",
            "unix",
        ]);
        for (address, expected) in [
            ("10.1.2.3", Some("10.1.2.0/24")),
            ("10.1.3.0", Some("10.1.0.0/16")),
            ("10.1.255.255", Some("10.1.255.255")),
            ("10.2.0.0", Some("10.0.0.0/8")),
            ("10.255.255.255", Some("10.255.255.255")),
            ("11.0.0.0", Some("0.0.0.0/1")),
            ("127.255.255.255", Some("0.0.0.0/1")),
            ("128.0.0.0", None),
            ("255.255.255.255", Some("255.255.255.255")),
            ("::ffff:10.2.0.0", Some("10.0.0.0/8")),
            ("::", None),
            ("2001:db8::1", Some("2001:db8::1")),
            ("2001:db8::2", Some("2001:db8::/32")),
            ("2001:db9::", None),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Some("ffff::/16")),
        ] {
            assert_eq!(map.find(address.parse().unwrap()).copied(), expected, "{address}");
        }
    }

    proptest! {
        /// A search finds what a look at each network finds.
        #[test]
        fn a_search_finds_the_smallest(
            networks in collection::vec((any::<u8>(), 24_u8..=32), 0..40),
            address: u8,
        ) {
            let parse = |(last, length): &(u8, u8)| IpNet::new([10, 0, 0, *last].into(), *length).unwrap().trunc();
            let networks: Vec<IpNet> = networks.iter().map(parse).collect();
            let address = IpAddr::from([10, 0, 0, address]);
            let fitting = networks.iter().enumerate().filter(|(_, network)| network.contains(&address));
            let expected = fitting.max_by_key(|(_, network)| network.prefix_len()).map(|(number, _)| number);
            let map: NetworkMap<usize> = networks
                .iter()
                .enumerate()
                .map(|(number, network)| (Network::Addresses(*network), number))
                .collect();
            prop_assert_eq!(map.find(address).copied(), expected);
        }
    }
}
