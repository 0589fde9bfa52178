//! Names that certificates are ordered for.

use std::{borrow::ToOwned, error::Error, fmt, format, net::IpAddr, str::FromStr, string::String};

/// A name that a certificate is ordered for: a DNS name, a wildcard or an address.
///
/// ```
/// use serow_message::CertificateName;
///
/// assert_eq!("Example.COM".parse::<CertificateName>()?.to_string(), "example.com");
/// assert!("*.example.com".parse::<CertificateName>()?.is_wildcard());
/// assert!("a*.example.com".parse::<CertificateName>().is_err());
/// # Ok::<(), serow_message::CertificateNameError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CertificateName {
    /// A DNS name in lower case; `*.` stands for one label.
    Dns(String),
    /// An address (RFC 8738).
    Ip(IpAddr),
}

/// The error for a text that no certificate can be ordered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateNameError {
    name: String,
    problem: &'static str,
}

impl CertificateNameError {
    /// Says what is wrong, and what to write instead.
    #[must_use]
    pub fn problem(&self) -> &'static str {
        self.problem
    }
}

impl CertificateName {
    /// Whether it stands for all names below one, which only dns-01 validates.
    #[must_use]
    pub fn is_wildcard(&self) -> bool {
        matches!(self, Self::Dns(name) if name.starts_with("*."))
    }

    /// The DNS name without `*.`: the one that is validated.
    #[must_use]
    pub fn domain(&self) -> Option<&str> {
        match self {
            Self::Dns(name) => Some(name.strip_prefix("*.").unwrap_or(name)),
            Self::Ip(_) => None,
        }
    }

    /// The server name of a handshake that validates it (RFC 8737 §3; RFC 8738 §6: an address as its reverse name).
    #[must_use]
    pub fn validation_name(&self) -> String {
        match self {
            Self::Dns(name) => name.clone(),
            Self::Ip(IpAddr::V4(address)) => {
                let [a, b, c, d] = address.octets();
                format!("{d}.{c}.{b}.{a}.in-addr.arpa")
            }
            Self::Ip(IpAddr::V6(address)) => {
                let nibbles = address.octets().into_iter().rev().flat_map(|byte| [byte & 15, byte >> 4]);
                nibbles.map(|nibble| format!("{nibble:x}.")).collect::<String>() + "ip6.arpa"
            }
        }
    }
}

impl FromStr for CertificateName {
    type Err = CertificateNameError;

    fn from_str(text: &str) -> Result<Self, CertificateNameError> {
        if let Ok(address) = text.trim_start_matches('[').trim_end_matches(']').parse() {
            return Ok(Self::Ip(address));
        }
        let error = |problem| Err(CertificateNameError { name: text.to_owned(), problem });
        let name = text.to_ascii_lowercase();
        let domain = name.strip_prefix("*.").unwrap_or(&name);
        if !name.is_ascii() {
            return error("write it in punycode, as in xn--bcher-kva.example");
        }
        if domain.contains('*') {
            return error("a wildcard stands for the whole first label, as in *.example.com");
        }
        if domain.ends_with('.') {
            return error("leave out the dot at the end");
        }
        if domain.len() > MAX_NAME || domain.split('.').any(|label| !is_label(label)) {
            return error(
                "a name consists of labels of at most 63 letters, digits and hyphens, with dots between them",
            );
        }
        if !domain.contains('.') {
            return error("no authority issues certificates for a name of one label; write the whole name");
        }
        Ok(Self::Dns(name))
    }
}

/// RFC 5890 §2.3.1: letters, digits and hyphens, and no hyphen at either end.
fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// RFC 1035 §2.3.4, without the length bytes at both ends.
const MAX_NAME: usize = 253;

impl fmt::Display for CertificateName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => formatter.write_str(name),
            Self::Ip(address) => address.fmt(formatter),
        }
    }
}

impl fmt::Display for CertificateNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?} is not a name for a certificate: {}", self.name, self.problem)
    }
}

impl Error for CertificateNameError {}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec};

    use super::*;

    #[test]
    fn names_are_parsed_or_refused() {
        for (text, expected) in [
            ("example.com", Ok("example.com")),
            ("WWW.Example.COM", Ok("www.example.com")),
            ("*.example.com", Ok("*.example.com")),
            ("192.0.2.1", Ok("192.0.2.1")),
            ("[2001:db8::1]", Ok("2001:db8::1")),
            ("xn--bcher-kva.example", Ok("xn--bcher-kva.example")),
            ("bücher.example", Err("punycode")),
            ("example.com.", Err("dot at the end")),
            ("localhost", Err("one label")),
            ("*", Err("wildcard")),
            ("*.com", Err("one label")),
            ("a.*.example.com", Err("wildcard")),
            ("a*.example.com", Err("wildcard")),
            ("", Err("labels")),
            ("a..b", Err("labels")),
            ("-a.example", Err("labels")),
            ("a_b.example", Err("labels")),
            ("a b.example", Err("labels")),
            ("../../etc/passwd", Err("labels")),
        ] {
            let parsed = text.parse::<CertificateName>();
            match expected {
                Ok(expected) => assert_eq!(parsed.unwrap().to_string(), expected),
                Err(part) => assert!(parsed.unwrap_err().to_string().contains(part), "{text}"),
            }
        }
        assert!(format!("{}.example", "a".repeat(64)).parse::<CertificateName>().is_err());
        assert!(vec!["a"; 128].join(".").parse::<CertificateName>().is_err());
    }

    #[test]
    fn an_address_is_validated_by_its_reverse_name() {
        for (address, expected) in [
            ("192.0.2.7", "7.2.0.192.in-addr.arpa"),
            ("2001:db8::1", "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"),
        ] {
            assert_eq!(address.parse::<CertificateName>().unwrap().validation_name(), expected);
        }
    }
}
