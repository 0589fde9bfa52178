//! Where a server listens: a TCP address, a unix socket, or an inherited socket.

use std::{
    borrow::ToOwned,
    error::Error,
    fmt, format,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
    str::FromStr,
    string::{String, ToString},
};

/// An address to listen on, as on a command line.
///
/// | written | meaning |
/// | --- | --- |
/// | `8080`, `localhost:8080` | port 8080 of 127.0.0.1 |
/// | `:8080` | port 8080 of every address of the machine, IPv6 and IPv4 (`[::]:8080`) |
/// | `127.0.0.1:8080`, `[::1]:8080` | exactly this address and port; port 0 lets the kernel choose |
/// | `unix:/run/app.sock` | a unix socket at this path |
/// | `unix:@name` | a unix socket in Linux's abstract namespace (unix(7)): no file, no permissions |
/// | `fd:3` | the listening socket that the parent process left open as descriptor 3 |
///
/// Names are not resolved: what a name stands for may change between two starts, and a listening socket needs one
/// address. `localhost` is the exception, because RFC 6761 §6.3 pins it to loopback.
///
/// ```
/// # use serow_message::Address;
/// let address: Address = "8080".parse()?;
/// assert_eq!(address.to_string(), "127.0.0.1:8080");
/// assert_eq!(address.url(), "http://127.0.0.1:8080/");
/// # Ok::<(), serow_message::AddressError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// An IP address and a port.
    Tcp(SocketAddr),
    /// The path of a unix socket; a path that begins with `@` is a name in the abstract namespace
    /// (write `./@name` for a file of that name).
    Unix(PathBuf),
    /// The number of an open descriptor that is a listening socket.
    Descriptor(i32),
}

impl Address {
    /// The URL at which a browser reaches a server that listens here.
    ///
    /// An address that means "all" is shown as one that can be clicked. Unix sockets and descriptors have no URL that
    /// browsers know, so they are shown as they are written.
    pub fn url(&self) -> String {
        let Self::Tcp(address) = self else {
            return self.to_string();
        };
        let host = match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.to_string(),
            // Not 127.0.0.1: the socket may have been handed over with IPV6_V6ONLY set.
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => "localhost".to_owned(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        match address.port() {
            80 => format!("http://{host}/"),
            port => format!("http://{host}:{port}/"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(formatter),
            Self::Unix(path) => write!(formatter, "unix:{}", path.display()),
            Self::Descriptor(number) => write!(formatter, "fd:{number}"),
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        parse(text).map_err(|problem| AddressError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Address, &'static str> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path {
            "" | "@" => Err("the path after unix: is missing"),
            path if path.contains('\0') => Err("a path cannot contain a zero byte"),
            path => Ok(Address::Unix(path.into())),
        };
    }
    if let Some(number) = text.strip_prefix("fd:") {
        let number = digits(number).and_then(|number| number.parse().ok());
        return number.map(Address::Descriptor).ok_or("fd: is followed by a number, as in fd:3");
    }
    if text.contains("://") {
        return Err("write the address without http:// and path");
    }
    if let Ok(address) = text.parse() {
        return Ok(Address::Tcp(address));
    }
    let (host, port) = match text.rsplit_once(':') {
        None if digits(text).is_some() => ("localhost", text),
        None => return Err("the port is missing"),
        Some(parts) => parts,
    };
    let ip = match host {
        "" => Ipv6Addr::UNSPECIFIED.into(),
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        host => return Err(explain(host, text)),
    };
    let port = digits(port).and_then(|port| port.parse().ok());
    let port = port.ok_or("a port is a number from 0 to 65535")?;
    Ok(Address::Tcp(SocketAddr::new(ip, port)))
}

/// Explains why `text`, whose part before the last colon is `host`, is not a socket address.
fn explain(host: &str, text: &str) -> &'static str {
    let bare = text.trim_start_matches('[').trim_end_matches(']');
    let is_ip = |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    if host.parse::<Ipv4Addr>().is_ok() || (host.ends_with(']') && is_ip(host)) {
        "a port is a number from 0 to 65535"
    } else if bare.parse::<Ipv6Addr>().is_ok() {
        "an IPv6 address needs brackets and a port, as in [::1]:8080"
    } else {
        "names other than localhost are not looked up; write the IP address"
    }
}

/// `text` if it is digits and nothing else: `str::parse` would also take a sign.
fn digits(text: &str) -> Option<&str> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(text)
}

/// A text that is not an [`Address`]; the message says what is wrong with it and lists the valid forms.
#[derive(Clone, PartialEq, Eq)]
pub struct AddressError {
    text: String,
    problem: &'static str,
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for AddressError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Debug formatting keeps any input on one line.
        write!(formatter, "{:?} is not an address: {}; {ALLOWED_FORMS}", self.text, self.problem)
    }
}

impl Error for AddressError {}

const ALLOWED_FORMS: &str = "write 8080, 127.0.0.1:8080, [::1]:8080, :8080 (all addresses), unix:/path or fd:3";

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> Address {
        Address::Tcp(text.parse().unwrap())
    }

    #[test]
    fn addresses_are_parsed_and_displayed() {
        let cases = [
            ("8080", tcp("127.0.0.1:8080"), "127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("0", tcp("127.0.0.1:0"), "127.0.0.1:0", "http://127.0.0.1:0/"),
            (":8080", tcp("[::]:8080"), "[::]:8080", "http://localhost:8080/"),
            ("127.0.0.1:8080", tcp("127.0.0.1:8080"), "127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("0.0.0.0:80", tcp("0.0.0.0:80"), "0.0.0.0:80", "http://127.0.0.1/"),
            ("10.1.2.3:65535", tcp("10.1.2.3:65535"), "10.1.2.3:65535", "http://10.1.2.3:65535/"),
            ("[::1]:8080", tcp("[::1]:8080"), "[::1]:8080", "http://[::1]:8080/"),
            ("[::]:80", tcp("[::]:80"), "[::]:80", "http://localhost/"),
            ("localhost:3000", tcp("127.0.0.1:3000"), "127.0.0.1:3000", "http://127.0.0.1:3000/"),
            ("unix:/run/a.sock", Address::Unix("/run/a.sock".into()), "unix:/run/a.sock", "unix:/run/a.sock"),
            ("unix:a.sock", Address::Unix("a.sock".into()), "unix:a.sock", "unix:a.sock"),
            ("unix:@name", Address::Unix("@name".into()), "unix:@name", "unix:@name"),
            ("unix:/a:b", Address::Unix("/a:b".into()), "unix:/a:b", "unix:/a:b"),
            ("fd:3", Address::Descriptor(3), "fd:3", "fd:3"),
        ];
        for (text, address, printed, url) in cases {
            assert_eq!(text.parse(), Ok(address.clone()), "{text}");
            assert_eq!(address.to_string(), printed, "{text}");
            assert_eq!(printed.parse(), Ok(address.clone()), "{text} printed and read again");
            assert_eq!(address.url(), url, "{text}");
        }
    }

    #[test]
    fn invalid_addresses_are_reported_with_the_remedy() {
        let cases = [
            ("", "the port is missing"),
            (" 8080", "the port is missing"),
            ("+8080", "the port is missing"),
            ("localhost", "the port is missing"),
            ("127.0.0.1", "the port is missing"),
            ("65536", "from 0 to 65535"),
            (":", "from 0 to 65535"),
            (":+80", "from 0 to 65535"),
            ("localhost:http", "from 0 to 65535"),
            ("127.0.0.1:", "from 0 to 65535"),
            ("127.0.0.1:99999", "from 0 to 65535"),
            ("[::1]:99999", "from 0 to 65535"),
            ("::1", "needs brackets and a port"),
            ("[::1]", "needs brackets and a port"),
            ("example.com:80", "not looked up"),
            ("*:80", "not looked up"),
            ("256.0.0.1:80", "not looked up"),
            ("http://127.0.0.1:80/", "without http://"),
            ("unix:", "path after unix: is missing"),
            ("unix:@", "path after unix: is missing"),
            ("unix:/a\0b", "zero byte"),
            ("fd:", "fd:3"),
            ("fd:-1", "fd:3"),
            ("fd:+1", "fd:3"),
            ("fd:99999999999", "fd:3"),
        ];
        for (text, problem) in cases {
            let message = text.parse::<Address>().expect_err(text).to_string();
            assert!(message.contains(problem), "{text:?}: {message}");
            assert!(message.ends_with(ALLOWED_FORMS), "{text:?}: {message}");
            assert!(!message.contains(['\n', '\0']), "{text:?}: {message}");
        }
    }
}
