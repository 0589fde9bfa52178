//! A container, as far as routes need it.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// A container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Container {
    pub(crate) id: String,
    /// Without the slash that the API puts before it.
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) is_running: bool,
    /// When it has started for the last time, in nanoseconds since 1970; 0 if that is not known.
    pub(crate) started: u64,
    pub(crate) health: Health,
    /// By the names of its networks.
    pub(crate) addresses: BTreeMap<String, IpAddr>,
    /// The TCP ports that its image or its start names.
    pub(crate) exposed: BTreeSet<u16>,
    /// Where its TCP ports are published on the host.
    pub(crate) published: BTreeMap<u16, SocketAddr>,
    /// Whether it has the network of the host.
    pub(crate) is_on_host: bool,
}

/// The result of its health check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Health {
    /// There is no check.
    #[default]
    Unchecked,
    Starting,
    Healthy,
    Unhealthy,
}

impl Container {
    /// Tells one run of a container from others.
    pub(crate) fn run(&self) -> String {
        format!("{} {}", self.id, self.started)
    }

    /// The port that requests go to: the only one that is named anywhere.
    ///
    /// # Errors
    ///
    /// There are several, or none.
    pub(crate) fn only_port(&self) -> Result<u16, String> {
        let ports: BTreeSet<u16> = self.exposed.iter().chain(self.published.keys()).copied().collect();
        match ports.iter().next() {
            Some(port) if ports.len() == 1 => Ok(*port),
            Some(_) => {
                let ports: Vec<_> = ports.iter().take(MAX_NAMED).map(u16::to_string).collect();
                Err(format!("it has several ports ({}): say which one", ports.join(", ")))
            }
            None => Err("it names no port: say which one".to_owned()),
        }
    }

    /// The address of one of its ports: in this network, in the only one that it has, or where it is published.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn address(&self, port: u16, network: Option<&str>) -> Result<SocketAddr, String> {
        if self.is_on_host {
            return Ok((Ipv4Addr::LOCALHOST, port).into());
        }
        if let Some(network) = network {
            let address = self.addresses.get(network).map(|address| (*address, port).into());
            return address.ok_or_else(|| format!("it has no address in the network {network:?}"));
        }
        let mut addresses = self.addresses.values();
        match (addresses.next(), addresses.next()) {
            (Some(address), None) => Ok((*address, port).into()),
            (None, _) => {
                let published = self.published.get(&port).copied();
                published.ok_or_else(|| format!("it has no address, and does not publish port {port}"))
            }
            (Some(_), Some(_)) => {
                let names: Vec<_> = self.addresses.keys().take(MAX_NAMED).map(|name| format!("{name:?}")).collect();
                Err(format!("it is in several networks ({}): say which one", names.join(", ")))
            }
        }
    }
}

/// Names in a message.
const MAX_NAMED: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn container() -> Container {
        Container { exposed: [8080].into(), ..Container::default() }
    }

    #[test]
    fn the_port_is_the_only_one() {
        assert_eq!(container().only_port(), Ok(8080));
        let published = |port| BTreeMap::from([(port, SocketAddr::from(([127, 0, 0, 1], 4000)))]);
        assert_eq!(Container { published: published(8080), ..container() }.only_port(), Ok(8080));
        assert!(
            Container { published: published(8081), ..container() }.only_port().unwrap_err().contains("8080, 8081")
        );
        assert!(Container::default().only_port().unwrap_err().contains("no port"));
    }

    #[test]
    fn the_address_is_that_of_the_network_or_the_published_one() {
        let one = Container { addresses: [("a".to_owned(), [10, 0, 0, 1].into())].into(), ..container() };
        assert_eq!(one.address(80, None), Ok(SocketAddr::from(([10, 0, 0, 1], 80))));
        assert_eq!(one.address(80, Some("a")), one.address(80, None));
        assert!(one.address(80, Some("b")).is_err());
        let mut two = one.clone();
        two.addresses.insert("b".to_owned(), [10, 0, 1, 1].into());
        assert!(two.address(80, None).unwrap_err().contains("several networks"));
        assert_eq!(two.address(80, Some("b")), Ok(SocketAddr::from(([10, 0, 1, 1], 80))));
        let published = BTreeMap::from([(80, SocketAddr::from(([127, 0, 0, 1], 4000)))]);
        let published = Container { published, ..container() };
        assert_eq!(published.address(80, None), Ok(SocketAddr::from(([127, 0, 0, 1], 4000))));
        assert!(published.address(81, None).is_err());
        let on_host = Container { is_on_host: true, ..container() };
        assert_eq!(on_host.address(80, None), Ok(SocketAddr::from(([127, 0, 0, 1], 80))));
    }
}
