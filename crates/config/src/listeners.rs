//! Listeners.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serow_message::{Address, Scheme};

use crate::{
    SettingError,
    options::{ListeningOptions, TlsOptions},
    values::{ListenAddress, ListenRule},
};

/// A listener.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenerSettings {
    /// Its address.
    pub address: Address,
    /// Its purpose.
    pub purpose: Purpose,
}

/// The purpose of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Connections with TLS.
    Encrypted,
    /// Connections without TLS.
    Plain,
    /// Connections without TLS, whose requests are redirected to TLS.
    Redirect,
}

/// Which connections without TLS are redirected to TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectedConnections {
    /// None.
    None,
    /// All of them.
    All,
    /// Those to this address.
    At(SocketAddr),
}

impl ListenerSettings {
    /// Where HTTP/3 can be served beside it: at its own address, over UDP.
    pub fn quic_address(&self) -> Option<SocketAddr> {
        match (&self.address, self.purpose) {
            // A port that the kernel chooses for TCP may be in use over UDP.
            (Address::Tcp(address), Purpose::Encrypted) if address.port() != 0 => Some(*address),
            _ => None,
        }
    }

    /// Its scheme.
    pub fn scheme(&self) -> Scheme {
        match self.purpose {
            Purpose::Encrypted => Scheme::Https,
            Purpose::Plain | Purpose::Redirect => Scheme::Http,
        }
    }
}

/// Listens where clients and authorities connect, unless an address is given or inherited: on port 443 with TLS, and on
/// port 80 to redirect.
pub fn add_public(listening: &mut ListeningOptions, tls: &mut TlsOptions, inherited: &[Address]) {
    if !listening.listen.is_empty() || !inherited.is_empty() {
        return;
    }
    let all = |port| Address::Tcp((Ipv6Addr::UNSPECIFIED, port).into());
    listening.listen.push(ListenRule { address: all(443), tls: None });
    tls.redirect_http.get_or_insert(ListenAddress(all(80)));
}

/// The listeners, and which connections without TLS are redirected. Without an address, those of inherited sockets count.
///
/// # Errors
///
/// The first listener that cannot be, and the remedy.
pub fn listeners(
    listening: &ListeningOptions,
    tls: &TlsOptions,
    has_certificate: bool,
    inherited: &[Address],
) -> Result<(Vec<ListenerSettings>, RedirectedConnections), SettingError> {
    let mut listeners = Vec::new();
    for (number, rule) in listening.listen.iter().enumerate() {
        let purpose = match rule.tls {
            Some(true) if !has_certificate => {
                let text = format!(
                    "{} wants TLS, which needs `tls`: name a certificate there, or write self-signed",
                    rule.address
                );
                return Err(SettingError::new("listen", text).of_element(number));
            }
            Some(false) => Purpose::Plain,
            _ if has_certificate => Purpose::Encrypted,
            _ => Purpose::Plain,
        };
        listeners.push(ListenerSettings { address: rule.address.clone(), purpose });
    }
    if listeners.is_empty() {
        let purpose = if has_certificate { Purpose::Encrypted } else { Purpose::Plain };
        listeners.extend(default_addresses(inherited).into_iter().map(|address| ListenerSettings { address, purpose }));
    }
    let mut redirected = RedirectedConnections::None;
    if let Some(address) = &tls.redirect_http {
        redirected = self::redirected(&address.0, &listeners, listening.proxy_protocol)?;
        listeners.push(ListenerSettings { address: address.0.clone(), purpose: Purpose::Redirect });
    }
    if has_certificate && !listeners.iter().any(|listener| listener.purpose == Purpose::Encrypted) {
        let text = "`tls` is given, but no listener uses it: leave out tls = false at one of `listen`, or `tls`";
        return Err(SettingError::new("tls", text));
    }
    Ok((listeners, redirected))
}

/// Refuses two sockets with one address; the admin endpoint has one too.
///
/// # Errors
///
/// The first of them, and the remedy.
pub fn refuse_duplicates(listeners: &[ListenerSettings], admin: Option<&Address>) -> Result<(), SettingError> {
    for (number, listener) in listeners.iter().enumerate() {
        let Some(other) = listeners[..number].iter().find(|other| overlap(&other.address, &listener.address)) else {
            continue;
        };
        let (address, other) = (&listener.address, &other.address);
        let text = match address == other {
            true => format!("{address} is given twice as a listener: leave one out"),
            false => format!("{address} and {other} share a port: leave one out, or listen on single addresses"),
        };
        return Err(match listener.purpose {
            Purpose::Redirect => SettingError::new("redirect-http", text),
            _ => SettingError::new("listen", text).of_element(number),
        });
    }
    match admin.filter(|admin| listeners.iter().any(|listener| overlap(&listener.address, admin))) {
        Some(admin) => {
            Err(SettingError::new("admin", format!("{admin} is already the address of a listener: write another one")))
        }
        None => Ok(()),
    }
}

/// Whether two sockets cannot have these addresses.
pub fn overlap(one: &Address, other: &Address) -> bool {
    let (Address::Tcp(one), Address::Tcp(other)) = (one, other) else { return one == other };
    let (ip, other_ip) = (one.ip().to_canonical(), other.ip().to_canonical());
    // An address of zeroes is every address; of IPv6, those of IPv4 too.
    let is_all = |ip: IpAddr, other: IpAddr| ip.is_unspecified() && (ip.is_ipv6() || other.is_ipv4());
    // The system chooses another port for each 0.
    one.port() != 0 && one.port() == other.port() && (ip == other_ip || is_all(ip, other_ip) || is_all(other_ip, ip))
}

/// Where to listen by default: on inherited sockets, otherwise on port 8080 of this machine.
fn default_addresses(inherited: &[Address]) -> Vec<Address> {
    if inherited.is_empty() { vec![Address::Tcp(DEFAULT_ADDRESS.into())] } else { inherited.to_vec() }
}

/// Whom to redirect, where those come to this address.
fn redirected(
    address: &Address,
    others: &[ListenerSettings],
    behind_proxy: bool,
) -> Result<RedirectedConnections, SettingError> {
    if others.iter().all(|listener| listener.purpose == Purpose::Encrypted) {
        return Ok(RedirectedConnections::All);
    }
    let refuse = |text: &str| Err(SettingError::new("redirect-http", text));
    if others.iter().all(|listener| listener.purpose == Purpose::Plain) {
        return refuse("`redirect-http` needs a listener with TLS to redirect to");
    }
    match address {
        Address::Tcp(address) if address.port() != 0 && !behind_proxy => Ok(RedirectedConnections::At(*address)),
        _ => refuse(
            "`redirect-http` beside another listener without TLS needs an address with a port, and no `proxy-protocol`: \
             the server could not tell which listener a client connected to",
        ),
    }
}

/// As the library has it.
const DEFAULT_ADDRESS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8080);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_overlap() {
        for (one, other, expected) in [
            ("80", "80", true),
            ("80", "81", false),
            ("0", "0", false),
            (":80", "80", true),
            (":80", "0.0.0.0:80", true),
            ("0.0.0.0:80", "127.0.0.2:80", true),
            ("0.0.0.0:80", "[::1]:80", false),
            ("127.0.0.1:80", "127.0.0.2:80", false),
            ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
            ("unix:/a", "unix:/a", true),
            ("unix:/a", "unix:/b", false),
            ("fd:3", "fd:3", true),
            ("fd:3", "80", false),
        ] {
            let [one, other] = [one, other].map(|text| text.parse::<Address>().unwrap());
            assert_eq!((overlap(&one, &other), overlap(&other, &one)), (expected, expected), "{one} {other}");
        }
    }
}
