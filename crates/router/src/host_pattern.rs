//! Which hosts a site is for, as it is written.

use std::{
    error::Error,
    fmt,
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

/// A host, or all below one.
///
/// `example.com` is that host, `*.example.com` are all below it, however deep, without itself; `192.0.2.1` and `[::1]` are
/// addresses. `*` are all hosts that no other site has. Hosts are compared without regard to case, port, and a dot at the end.
///
/// ```
/// use serow_router::HostPattern;
///
/// let pattern: HostPattern = "*.Example.com".parse()?;
/// assert_eq!(pattern.to_string(), "*.example.com");
/// assert!("example.com:80".parse::<HostPattern>().is_err());
/// # Ok::<(), serow_router::InvalidHost>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPattern(pub(crate) Hosts);

/// The hosts that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Hosts {
    /// This one: a name or an IPv4 address, in lower case, without a dot at the end; or an IPv6 address in brackets, in
    /// its shortest form.
    One(Box<str>),
    /// All below this name.
    Below(Box<str>),
    /// All that no other site has.
    Others,
}

impl FromStr for HostPattern {
    type Err = InvalidHost;

    fn from_str(text: &str) -> Result<Self, InvalidHost> {
        if text == "*" {
            return Ok(Self(Hosts::Others));
        }
        if text.starts_with(['~', '^']) {
            return Err(InvalidHost::Expression);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']').ok_or(InvalidHost::Other)?;
            let address: Ipv6Addr = address.parse().map_err(|_| InvalidHost::Address)?;
            return Ok(Self(Hosts::One(format!("[{address}]").into())));
        }
        if text.parse::<Ipv6Addr>().is_ok() {
            return Err(InvalidHost::Brackets);
        }
        let name = text.to_ascii_lowercase();
        match name.strip_prefix("*.") {
            Some(parent) => match checked(parent)? {
                parent if ends_in_number(parent) => Err(InvalidHost::Star),
                parent => Ok(Self(Hosts::Below(parent.into()))),
            },
            None => match checked(&name)? {
                name if ends_in_number(name) && name.parse::<Ipv4Addr>().is_err() => Err(InvalidHost::Address),
                name => Ok(Self(Hosts::One(name.into()))),
            },
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Hosts::One(host) => formatter.write_str(host),
            Hosts::Below(parent) => write!(formatter, "*.{parent}"),
            Hosts::Others => formatter.write_str("*"),
        }
    }
}

/// A name without the dot at its end, if it is one that a request can ask for.
fn checked(name: &str) -> Result<&str, InvalidHost> {
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        return Err(InvalidHost::Empty);
    }
    if !name.is_ascii() {
        return Err(InvalidHost::Unicode);
    }
    if name.contains('*') {
        return Err(InvalidHost::Star);
    }
    if name.contains(['/', '@', '?', '#']) {
        return Err(InvalidHost::Address);
    }
    if name.contains(':') {
        return Err(InvalidHost::Port);
    }
    if name.len() > MAX_NAME_LENGTH {
        return Err(InvalidHost::Long);
    }
    for label in name.split('.') {
        if label.is_empty() || !label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')) {
            return Err(InvalidHost::Other);
        }
        if label.len() > MAX_LABEL_LENGTH {
            return Err(InvalidHost::Long);
        }
    }
    Ok(name)
}

/// Whether browsers take the name for an IPv4 address (WHATWG URL §3.5).
fn ends_in_number(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or_default();
    last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Why a host is none. The text says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidHost {
    /// There is no name.
    Empty,
    /// It has a port.
    Port,
    /// It is written in Unicode, and browsers send punycode.
    Unicode,
    /// A star that is not the first label before a name.
    Star,
    /// An IPv6 address without brackets.
    Brackets,
    /// It looks like an address and is none.
    Address,
    /// It is longer than names can be (RFC 1035 §2.3.4).
    Long,
    /// It is written as nginx's regular expressions.
    Expression,
    /// It holds what no name holds.
    Other,
}

impl fmt::Display for InvalidHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Empty => "no host is empty: for all hosts that no other site has, leave out the list of hosts",
            Self::Port => "hosts are compared without their port: leave it out",
            Self::Unicode => {
                "browsers send such a name as punycode: write it so, as in xn--bcher-kva.example for bücher.example"
            }
            Self::Star => {
                "a star stands for all names below one, as in *.example.com; the hosts of a site can also be \
                 \"*\" alone, for all that no other site has"
            }
            Self::Brackets => "an IPv6 address stands in brackets: write it as in [::1]",
            Self::Address => "not a host: write a name or an address alone, as in example.com, 192.0.2.1 or [::1]",
            Self::Long => {
                "no host has a label of more than 63 characters, or more than 253 in all: write a shorter one"
            }
            Self::Expression => {
                "hosts are not regular expressions: write each name, or *.example.com for all names below one"
            }
            Self::Other => "not a host: write labels of letters, digits and hyphens with dots between them",
        })
    }
}

impl Error for InvalidHost {}

/// RFC 1035 §2.3.4: 255 bytes on the wire, which are 253 characters.
pub(crate) const MAX_NAME_LENGTH: usize = 253;

/// RFC 1035 §2.3.4.
const MAX_LABEL_LENGTH: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        use InvalidHost::{Address, Brackets, Empty, Expression, Long, Other, Port, Star, Unicode};
        let long_label = format!("{}.example", "a".repeat(64));
        let long_name = vec!["a"; 128].join(".");
        let cases = [
            ("example.com", Ok("example.com")),
            ("EXAMPLE.com.", Ok("example.com")),
            ("localhost", Ok("localhost")),
            ("a_b.example", Ok("a_b.example")),
            ("xn--bcher-kva.example", Ok("xn--bcher-kva.example")),
            ("*.example.com", Ok("*.example.com")),
            ("*.com.", Ok("*.com")),
            ("127.0.0.1", Ok("127.0.0.1")),
            ("[::1]", Ok("[::1]")),
            ("[0:0::0001]", Ok("[::1]")),
            ("1.example", Ok("1.example")),
            ("", Err(Empty)),
            (".", Err(Empty)),
            ("*.", Err(Empty)),
            ("example.com:80", Err(Port)),
            ("b\u{fc}cher.example", Err(Unicode)),
            ("*.b\u{fc}cher.example", Err(Unicode)),
            ("*", Ok("*")),
            ("*.*.example", Err(Star)),
            ("a*.example", Err(Star)),
            ("a.*.example", Err(Star)),
            ("*.0.0.1", Err(Star)),
            ("::1", Err(Brackets)),
            ("[::1]:80", Err(Other)),
            ("[::g]", Err(Address)),
            ("1.2.3", Err(Address)),
            ("127.0.0.256", Err(Address)),
            ("https://example.com", Err(Address)),
            ("example.com/", Err(Address)),
            ("u@example.com", Err(Address)),
            ("a..b", Err(Other)),
            (".a", Err(Other)),
            ("a b", Err(Other)),
            ("~^www\\d+\\.example\\.com$", Err(Expression)),
            ("^www", Err(Expression)),
            (&long_label, Err(Long)),
            (&long_name, Err(Long)),
        ];
        for (text, expected) in cases {
            let pattern = text.parse::<HostPattern>().map(|pattern| pattern.to_string());
            assert_eq!(pattern, expected.map(str::to_owned), "{text}");
        }
    }
}
