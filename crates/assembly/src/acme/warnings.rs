//! Names that an authority may be unable to validate: only the network can tell, so these are not errors.

use std::net::{IpAddr, SocketAddr};

use serow::Address;
use serow_acme::CertificateName;
use serow_config::listeners::{ListenerSettings, Purpose};

use super::AcmePlan;

impl AcmePlan {
    /// Why names may not be validated with these listeners, in a line for each reason.
    pub fn warnings(&self, listeners: &[ListenerSettings]) -> Vec<String> {
        let is_public = self.authority.is_lets_encrypt();
        let private = self.names().filter(|name| is_public && is_private(name));
        let private = private.map(|name| {
            format!(
                "`acme`: {name} is a private name, for which Let's Encrypt issues no certificate: set `acme-directory`"
            )
        });
        private.chain(self.unreachable(listeners)).collect()
    }

    /// Why an authority may not reach these listeners, if it has to.
    fn unreachable(&self, listeners: &[ListenerSettings]) -> Option<String> {
        let has_address = self.names().any(|name| matches!(name, CertificateName::Ip(_)));
        if self.dns.is_some() && !has_address {
            return None;
        }
        let standard: Vec<_> = listeners.iter().filter_map(standard_port).collect();
        if standard.is_empty() {
            return Some(
                "`acme`: no listener has port 443 or 80, where authorities connect: listen there, forward one of these \
                 ports to this server, or set `acme-dns`"
                    .to_owned(),
            );
        }
        let loopback = standard.iter().all(|address| address.ip().is_loopback());
        loopback.then(|| {
            "`acme`: only this machine can connect to ports 443 and 80: listen on another address, as in :443, or set \
             `acme-dns`"
                .to_owned()
        })
    }
}

/// The address of a listener on the port where authorities connect (RFC 8555 §8.3, RFC 8737 §3); a socket that was
/// inherited may have any port.
fn standard_port(listener: &ListenerSettings) -> Option<SocketAddr> {
    let port = if listener.purpose == Purpose::Encrypted { 443 } else { 80 };
    match listener.address {
        Address::Tcp(address) => (address.port() == port).then_some(address),
        Address::Unix(_) => None,
        Address::Descriptor(_) => Some(([0, 0, 0, 0], port).into()),
    }
}

/// Whether only a private authority can issue a certificate for it: a name of a domain for private use, or an address
/// that is not routed in the Internet.
fn is_private(name: &CertificateName) -> bool {
    match name {
        CertificateName::Dns(name) => PRIVATE_DOMAINS.iter().any(|domain| name.ends_with(domain)),
        CertificateName::Ip(IpAddr::V4(address)) => {
            address.is_private() || address.is_loopback() || address.is_link_local() || address.is_documentation()
        }
        CertificateName::Ip(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
        }
    }
}

/// RFC 6761 §6, RFC 6762 §3, RFC 8375, and `.internal` by a resolution of ICANN's board of 2024.
const PRIVATE_DOMAINS: [&str; 8] =
    [".example", ".home.arpa", ".internal", ".invalid", ".lan", ".local", ".localhost", ".test"];

#[cfg(test)]
mod tests {
    use super::*;
    use serow_config::{
        options::{AcmeOptions, without_options},
        values::AcmeDirectory,
    };

    fn warnings(names: &str, dns: bool, directory: &str, listeners: &[(&str, Purpose)]) -> Vec<String> {
        let directory: AcmeDirectory = directory.parse().unwrap();
        let dns = dns.then(|| "dns-record".parse().unwrap());
        let options = AcmeOptions { names: vec![names.parse().unwrap()], dns, directory, ..without_options() };
        let listeners = listeners
            .iter()
            .map(|(address, purpose)| ListenerSettings { address: address.parse().unwrap(), purpose: *purpose });
        AcmePlan::new(&options).unwrap().unwrap().warnings(&listeners.collect::<Vec<_>>())
    }

    #[test]
    fn names_and_listeners_that_an_authority_cannot_reach_are_reported() {
        use Purpose::{Encrypted, Plain, Redirect};
        let (public, other) = ("letsencrypt", "https://ca.internal/dir");
        for (names, dns, directory, listeners, expected) in [
            ("a.org", false, public, &[(":443", Encrypted)][..], &[][..]),
            ("a.org", false, public, &[(":8443", Encrypted), (":80", Redirect)], &[]),
            ("a.org", false, public, &[(":443", Plain)], &["no listener has port 443 or 80"]),
            ("a.org", false, other, &[(":8443", Encrypted), (":8080", Redirect)], &["no listener has port 443 or 80"]),
            ("a.org", true, public, &[(":8443", Encrypted)], &[]),
            ("198.51.100.1", true, other, &[(":8443", Encrypted)], &["no listener has port 443 or 80"]),
            ("a.org", false, public, &[("127.0.0.1:443", Encrypted)], &["only this machine can connect"]),
            ("a.org", false, public, &[("127.0.0.1:443", Encrypted), (":80", Redirect)], &[]),
            ("a.local,b.org", false, public, &[(":443", Encrypted)], &["a.local is a private name"]),
            ("a.local,10.0.0.1", false, other, &[(":443", Encrypted)], &[]),
            ("10.0.0.1,fd00::1", false, public, &[(":443", Encrypted)], &["10.0.0.1 is", "fd00::1 is"]),
        ] {
            let found = warnings(names, dns, directory, listeners);
            let matches = found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| found.contains(expected));
            assert!(matches, "{names} {listeners:?}: {found:?}");
        }
    }
}
