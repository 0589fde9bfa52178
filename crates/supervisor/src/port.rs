//! Where a supervisor listens, as Server::Starter writes it: `8080`, `127.0.0.1:8080`, `[::1]:u53=4`.

use std::{
    error::Error,
    fmt,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs},
    os::fd::RawFd,
    str::FromStr,
};

/// A port of TCP or UDP, and where its socket is found by the worker.
///
/// | written | meaning |
/// | --- | --- |
/// | `8080` | all addresses of IPv4 |
/// | `127.0.0.1:8080`, `localhost:8080` | this address of IPv4 |
/// | `[::1]:8080` | this address of IPv6, and no other |
/// | `u53`, `127.0.0.1:u53` | UDP |
/// | `8080=5` | the socket is descriptor 5 |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    host: Host,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// The descriptor it has to have.
    pub(crate) descriptor: Option<RawFd>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    /// None was written.
    All,
    /// A name or an address of IPv4.
    Named(String),
    Version6(Ipv6Addr, String),
}

/// What is spoken at the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

impl Port {
    /// What it is called in `SERVER_STARTER_PORT`.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.host {
            Host::All => self.port.to_string(),
            Host::Named(host) => format!("{host}:{}", self.port),
            Host::Version6(_, host) => format!("[{host}]:{}", self.port),
        }
    }

    /// The address; names are looked up, for IPv4.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        match &self.host {
            Host::All => Some((Ipv4Addr::UNSPECIFIED, self.port).into()),
            Host::Named(host) => (host.as_str(), self.port).to_socket_addrs().ok()?.find(SocketAddr::is_ipv4),
            Host::Version6(address, _) => Some((*address, self.port).into()),
        }
    }
}

impl FromStr for Port {
    type Err = PortError;

    fn from_str(text: &str) -> Result<Self, PortError> {
        parse(text).map_err(|problem| PortError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Port, &'static str> {
    let (place, descriptor) = match text.trim().split_once('=') {
        None => (text.trim(), None),
        Some((place, number)) => (place.trim_end(), Some(self::descriptor(number)?)),
    };
    let (host, port) = match place.rsplit_once(':') {
        None => (Host::All, place),
        Some((host, port)) => (self::host(host)?, port.trim_start()),
    };
    let (protocol, port) = match port.strip_prefix('u') {
        None => (Protocol::Tcp, port),
        Some(port) => (Protocol::Udp, port),
    };
    let port = digits(port).and_then(|port| port.parse().ok()).ok_or("a port is a number from 0 to 65535")?;
    Ok(Port { host, port, protocol, descriptor })
}

fn descriptor(text: &str) -> Result<RawFd, &'static str> {
    let number = digits(text).and_then(|number| number.parse().ok());
    match number.ok_or("the descriptor behind = is a number")? {
        1 | 2 => Err("descriptors 1 and 2 are for output; choose 0, or 3 and above"),
        number => Ok(number),
    }
}

fn host(text: &str) -> Result<Host, &'static str> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim();
    match bare {
        "" => Err("the host is missing; leave the colon out for all addresses, or write 0.0.0.0"),
        bare if bare.contains(':') => {
            let address = bare.parse().map_err(|_| "an IPv6 address is written as in [::1]:8080")?;
            Ok(Host::Version6(address, bare.to_owned()))
        }
        bare if bare.contains(['[', ']']) => Err("a bracket is missing"),
        bare => Ok(Host::Named(bare.to_owned())),
    }
}

/// `text` if it is digits and nothing else: `str::parse` would also take a sign.
fn digits(text: &str) -> Option<&str> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(text)
}

/// A text that is no [`Port`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortError {
    text: String,
    problem: &'static str,
}

impl fmt::Display for PortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, problem } = self;
        write!(
            formatter,
            "{text:?} is no port: {problem}; write 8080, 127.0.0.1:8080, [::1]:8080, u8080 (UDP) or 8080=5"
        )
    }
}

impl Error for PortError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports() {
        let cases = [
            ("8080", Some(("8080", "0.0.0.0:8080", Protocol::Tcp, None))),
            (" 8080 =5 ", Some(("8080", "0.0.0.0:8080", Protocol::Tcp, Some(5)))),
            ("0=0", Some(("0", "0.0.0.0:0", Protocol::Tcp, Some(0)))),
            ("u53", Some(("53", "0.0.0.0:53", Protocol::Udp, None))),
            ("127.0.0.1:80", Some(("127.0.0.1:80", "127.0.0.1:80", Protocol::Tcp, None))),
            ("[127.0.0.1]:80", Some(("127.0.0.1:80", "127.0.0.1:80", Protocol::Tcp, None))),
            ("localhost:80=12", Some(("localhost:80", "127.0.0.1:80", Protocol::Tcp, Some(12)))),
            ("[::1]:80", Some(("[::1]:80", "[::1]:80", Protocol::Tcp, None))),
            ("[ ::1 ]: u80=3", Some(("[::1]:80", "[::1]:80", Protocol::Udp, Some(3)))),
            ("", None),
            ("http", None),
            ("+80", None),
            ("65536", None),
            (":80", None),
            ("127.0.0.1:", None),
            ("[::1:80", None),
            ("[::g]:80", None),
            ("80=", None),
            ("80=1", None),
            ("80=2", None),
            ("80=-1", None),
            ("80=99999999999", None),
        ];
        for (text, expected) in cases {
            match (text.parse::<Port>(), expected) {
                (Ok(port), Some((name, address, protocol, descriptor))) => {
                    assert_eq!(port.name(), name, "{text}");
                    assert_eq!(port.address().map(|address| address.to_string()).as_deref(), Some(address), "{text}");
                    assert_eq!((port.protocol, port.descriptor), (protocol, descriptor), "{text}");
                }
                (Err(error), None) => assert!(error.to_string().starts_with(&format!("{text:?} is no port: "))),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
    }
}
