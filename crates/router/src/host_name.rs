//! The host of a request, in the one form in which hosts are compared.

use std::{io::Write, net::Ipv6Addr};

use crate::host_pattern::LONGEST_NAME;

/// The host that a request is for, without its port: a name or an IPv4 address, in lower case, without a dot at the end;
/// or an IPv6 address in brackets, in its shortest form. Kept on the stack.
#[derive(Debug)]
pub(crate) struct HostName {
    bytes: [u8; LONGEST_NAME],
    length: usize,
}

impl HostName {
    /// Reads the host of a request, as [`Request::host`](serow_message::Request::host) gives it; nothing where no site
    /// can have such a host.
    #[inline]
    pub(crate) fn parse(authority: &str) -> Option<Self> {
        if let Some(inner) = authority.strip_prefix('[') {
            let (address, _port) = inner.split_once(']')?;
            return Self::of_address(address.parse().ok()?);
        }
        let host = authority.split(':').next()?;
        let host = host.strip_suffix('.').unwrap_or(host).as_bytes();
        let is_label_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !host.split(|&byte| byte == b'.').all(|label| !label.is_empty() && label.iter().all(is_label_byte)) {
            return None;
        }
        let mut bytes = [0; LONGEST_NAME];
        let place = bytes.get_mut(..host.len())?;
        place.copy_from_slice(host);
        place.make_ascii_lowercase();
        Some(Self { bytes, length: host.len() })
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn of_address(address: Ipv6Addr) -> Option<Self> {
        let mut bytes = [0; LONGEST_NAME];
        let mut rest = &mut bytes[..];
        write!(rest, "[{address}]").ok()?;
        let length = LONGEST_NAME - rest.len();
        Some(Self { bytes, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_requests() {
        let longest = "a.".repeat(126) + "a";
        let longer = "a.".repeat(126) + "aa";
        let cases = [
            ("example.com", Some("example.com")),
            ("EXAMPLE.com:8080", Some("example.com")),
            ("example.com.", Some("example.com")),
            ("example.com.:80", Some("example.com")),
            ("127.0.0.1:1", Some("127.0.0.1")),
            ("[::1]", Some("[::1]")),
            ("[0:0::1]:443", Some("[::1]")),
            ("a_b", Some("a_b")),
            (&longest, Some(longest.as_str())),
            ("", None),
            (".", None),
            (".a", None),
            ("a..b", None),
            ("a..", None),
            (":80", None),
            ("[::1", None),
            ("[::g]", None),
            ("a%2db", None),
            ("a,b", None),
            ("a/b", None),
            ("u@a", None),
            (&longer, None),
        ];
        for (text, expected) in cases {
            let host = HostName::parse(text).map(|host| String::from_utf8(host.as_bytes().to_vec()).unwrap());
            assert_eq!(host.as_deref(), expected, "{text}");
        }
    }
}
