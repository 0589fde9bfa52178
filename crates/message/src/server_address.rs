//! A server's address and protocol, as text.

use std::{
    borrow::ToOwned,
    error::Error,
    fmt, format,
    net::SocketAddr,
    path::PathBuf,
    str::FromStr,
    string::{String, ToString},
};

use crate::{Origin, Protocol, Scheme};

/// A server's address: `127.0.0.1:9000`, `http://app:9000`, `https://app`, `h2c://app:9000`, `unix:/run/app.sock` or
/// `h2c+unix:/run/app.sock`; or of as many as there are: `_http._tcp.app.example`.
///
/// ```
/// use serow_message::{ServerLocation, ServerAddress};
///
/// let address: ServerAddress = "h2c://localhost:9000".parse()?;
/// assert_eq!(address.location, ServerLocation::Name { host: "localhost".to_owned(), port: 9000 });
/// assert_eq!(address.to_string(), "h2c://localhost:9000");
/// # Ok::<(), serow_message::ServerAddressError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Its location.
    pub location: ServerLocation,
    /// Whether connections are encrypted.
    pub scheme: Scheme,
    /// The protocol; `None` where ALPN selects it.
    pub protocol: Option<Protocol>,
}

/// The location of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerLocation {
    /// At an address.
    Tcp(SocketAddr),
    /// At the addresses that a name has.
    Name {
        /// The name.
        host: String,
        /// The port.
        port: u16,
    },
    /// At the hosts of the SRV records of this name (RFC 2782), with their ports, weights and priorities.
    Service(String),
    /// At a unix socket.
    Unix(PathBuf),
}

/// Why a text is not a server address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddressError {
    text: String,
    problem: &'static str,
}

impl FromStr for ServerAddress {
    type Err = ServerAddressError;

    fn from_str(text: &str) -> Result<Self, ServerAddressError> {
        let error = |problem| ServerAddressError { text: text.to_owned(), problem };
        for (prefix, protocol) in [("unix:", Protocol::Http1), ("h2c+unix:", Protocol::Http2)] {
            if let Some(path) = text.strip_prefix(prefix) {
                if path.is_empty() {
                    return Err(error("a unix socket without a path; write it as in unix:/run/app.sock"));
                }
                return Ok(Self {
                    location: ServerLocation::Unix(path.into()),
                    scheme: Scheme::Http,
                    protocol: Some(protocol),
                });
            }
        }
        let (url, clear) = match text.strip_prefix("h2c://") {
            Some(rest) => (format!("http://{rest}"), Protocol::Http2),
            None => (text.to_owned(), Protocol::Http1),
        };
        let (origin, path) = Origin::of_url(&url).map_err(|_| {
            error("not a server address; write it as in 127.0.0.1:9000, https://app:8443 or unix:/run/app.sock")
        })?;
        if path != "/" {
            return Err(error("a server address with a path; set `add-prefix` to put a prefix before paths"));
        }
        let Origin { scheme, host, port } = origin;
        // A service's records say its ports, so that none is written.
        let written = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest).trim_end_matches('/');
        let place = match host.parse() {
            Ok(address) => ServerLocation::Tcp(SocketAddr::new(address, port)),
            Err(_) if host == written && is_service(&host) => ServerLocation::Service(host),
            Err(_) => ServerLocation::Name { host, port },
        };
        Ok(Self { location: place, scheme, protocol: (scheme == Scheme::Http).then_some(clear) })
    }
}

impl ServerAddress {
    /// The name in its certificate.
    #[must_use]
    pub fn server_name(&self) -> String {
        match &self.location {
            ServerLocation::Tcp(address) => address.ip().to_string(),
            ServerLocation::Name { host, .. } => host.clone(),
            ServerLocation::Service(name) => service_host(name).to_owned(),
            ServerLocation::Unix(_) => "localhost".to_owned(),
        }
    }

    /// Its value in `Host`.
    #[must_use]
    pub fn authority(&self) -> String {
        match &self.location {
            ServerLocation::Unix(_) => "localhost".to_owned(),
            ServerLocation::Tcp(address) => {
                Origin { scheme: self.scheme, host: address.ip().to_string(), port: address.port() }.authority()
            }
            ServerLocation::Name { host, port } => {
                Origin { scheme: self.scheme, host: host.clone(), port: *port }.authority()
            }
            ServerLocation::Service(name) => service_host(name).to_owned(),
        }
    }
}

/// The domain of a service: `app.example` for `_http._tcp.app.example`. Certificates are for that name (RFC 6125 §6.4).
fn service_host(name: &str) -> &str {
    name.splitn(3, '.').nth(2).unwrap_or(name)
}

/// Whether a name is one of a service: `_http._tcp.app.example`.
fn is_service(host: &str) -> bool {
    let Some((service, rest)) = host.split_once('.') else { return false };
    let transport = rest.get(..5).is_some_and(|transport| transport.eq_ignore_ascii_case("_tcp."));
    service.starts_with('_') && transport && rest.len() > 5
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match (&self.location, self.scheme, self.protocol) {
            (ServerLocation::Unix(_), _, Some(Protocol::Http2)) => "h2c+",
            (ServerLocation::Unix(_), ..) => "",
            (_, Scheme::Https, _) => "https://",
            (_, Scheme::Http, Some(Protocol::Http2)) => "h2c://",
            (_, Scheme::Http, _) => "",
        })?;
        self.location.fmt(formatter)
    }
}

impl fmt::Display for ServerLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Name { host, port } => write!(formatter, "{host}:{port}"),
            Self::Service(name) => formatter.write_str(name),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
        }
    }
}

impl fmt::Display for ServerAddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is {}", self.text, self.problem)
    }
}

impl Error for ServerAddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_addresses_are_parsed() {
        let cases = [
            ("127.0.0.1:9000", Some("127.0.0.1:9000")),
            ("http://127.0.0.1", Some("127.0.0.1:80")),
            ("[::1]:9000", Some("[::1]:9000")),
            ("app:9000", Some("app:9000")),
            ("https://app", Some("https://app:443")),
            ("h2c://app:9000/", Some("h2c://app:9000")),
            ("h2c://app:9000", Some("h2c://app:9000")),
            ("_http._tcp.app.example", Some("_http._tcp.app.example")),
            ("https://_http._tcp.app.example/", Some("https://_http._tcp.app.example")),
            ("_http._tcp.app.example:80", Some("_http._tcp.app.example:80")),
            ("unix:/run/a.sock", Some("unix:/run/a.sock")),
            ("h2c+unix:/run/a.sock", Some("h2c+unix:/run/a.sock")),
            ("unix:", None),
            ("", None),
            ("http://app/path", None),
            ("ftp://app", None),
            ("app:0", None),
        ];
        for (text, expected) in cases {
            let found = text.parse::<ServerAddress>().ok().map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn services_have_no_port() {
        let cases = [
            ("_http._tcp.app.example", true),
            ("h2c://_http._TCP.app.example", true),
            ("_http._tcp.app.example:80", false),
            ("_http._udp.app.example", false),
            ("http._tcp.app.example", false),
            ("_http._tcp.", false),
            ("_http", false),
        ];
        for (text, expected) in cases {
            let place = text.parse::<ServerAddress>().map(|address| address.location);
            assert_eq!(matches!(place, Ok(ServerLocation::Service(_))), expected, "{text}: {place:?}");
        }
    }
}
