//! The PROXY protocol, versions 1 and 2: how a proxy announces the addresses of the client for which it connects. The
//! parser is here, the writer in `proxy_protocol/write.rs`; both are pure.
//!
//! The source of every rule here is HAProxy's `doc/proxy-protocol.txt`, called "the specification" below.
//!
//! The protocol must not be detected: any client that can connect could claim any address, so a listener either expects
//! the header on every connection (and only proxies can reach it) or on none (specification §2).

mod error;
mod write;

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

pub use self::error::ProxyProtocolError;
pub use self::write::{write_version_1, write_version_2};

/// The header, which says for whom the proxy connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    /// The proxy connects on its own behalf, as for a health check: the connection's own addresses hold.
    Local,
    /// The proxy connects for a client at `source` that had connected to `destination`. IPv4 addresses written as
    /// IPv6 (`::ffff:192.0.2.1`) have become IPv4.
    Proxied {
        /// The client's address.
        source: SocketAddr,
        /// The address the client had connected to.
        destination: SocketAddr,
    },
    /// The proxy connects for a client without a TCP address (`UNKNOWN`, `UNSPEC`, a unix socket, UDP): the
    /// connection's own addresses hold.
    Unknown,
}

impl Header {
    /// The client's address, if the proxy named one.
    pub fn source(&self) -> Option<SocketAddr> {
        match *self {
            Self::Proxied { source, .. } => Some(source),
            Self::Local | Self::Unknown => None,
        }
    }
}

/// Parses a PROXY header of either version at the front of the bytes that a connection has sent so far.
///
/// `Ok(None)` means that more bytes are needed; otherwise the header and its length, the bytes after it belonging to
/// the connection. It never requires more than [`MAX_HEADER_LENGTH`] bytes. The parts behind the addresses in
/// version 2 (TLVs) must be well-formed but are skipped; the CRC32c among them is not checked, which the specification
/// leaves to the receiver (§2.2.3).
///
/// # Errors
///
/// When the bytes cannot become a valid header any more. Close the connection then (specification §2.1).
///
/// ```
/// # use serow_message::proxy_protocol::parse;
/// let bytes = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\nGET / HTTP/1.1\r\n";
/// let (header, length) = parse(bytes)?.expect("the line is complete");
/// assert_eq!(header.source(), Some(([192, 0, 2, 1], 56324).into()));
/// assert!(bytes[length..].starts_with(b"GET"));
/// assert_eq!(parse(b"PROXY TCP4 192.0")?, None);
/// # Ok::<(), serow_message::proxy_protocol::ProxyProtocolError>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    if begins_alike(bytes, VERSION_1_START) {
        parse_version_1(bytes)
    } else if begins_alike(bytes, VERSION_2_SIGNATURE) {
        parse_version_2(bytes)
    } else {
        Err(ProxyProtocolError::NotProxyProtocol)
    }
}

/// Whether `bytes` begins with `start`, as far as both go.
fn begins_alike(bytes: &[u8], start: &[u8]) -> bool {
    bytes.iter().zip(start).all(|(one, other)| one == other)
}

/// Specification §2.1: one line of text.
fn parse_version_1(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    let window = &bytes[..bytes.len().min(MAX_LINE_LENGTH)];
    let Some(end) = window.iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
        return match window.len() {
            MAX_LINE_LENGTH => Err(ProxyProtocolError::Line),
            _ => Ok(None),
        };
    };
    match &window[end..] {
        [b'\r', b'\n', ..] => {}
        [b'\r'] if window.len() < MAX_LINE_LENGTH => return Ok(None),
        _ => return Err(ProxyProtocolError::Line),
    }
    let line = str::from_utf8(&window[VERSION_1_START.len()..end]);
    let header = line.ok().and_then(parse_line).ok_or(ProxyProtocolError::Line)?;
    Ok(Some((header, end + 2)))
}

/// Parses the line after `PROXY `, up to its end.
fn parse_line(line: &str) -> Option<Header> {
    if line == "UNKNOWN" || line.starts_with("UNKNOWN ") {
        return Some(Header::Unknown);
    }
    let mut words = line.split(' ');
    let mut word = || words.next();
    let (family, source, destination) = (word()?, word()?, word()?);
    let (source_port, destination_port) = (parse_port(word()?)?, parse_port(word()?)?);
    if word().is_some() {
        return None;
    }
    match family {
        "TCP4" => {
            let ends: (Ipv4Addr, Ipv4Addr) = (source.parse().ok()?, destination.parse().ok()?);
            Some(proxied((ends.0, source_port), (ends.1, destination_port)))
        }
        "TCP6" => {
            let ends: (Ipv6Addr, Ipv6Addr) = (source.parse().ok()?, destination.parse().ok()?);
            Some(proxied((ends.0, source_port), (ends.1, destination_port)))
        }
        _ => None,
    }
}

/// A decimal number from 0 to 65535 without leading zeroes or a sign (specification §2.1).
fn parse_port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Specification §2.2: 16 fixed bytes, addresses, and TLVs.
fn parse_version_2(bytes: &[u8]) -> Result<Option<(Header, usize)>, ProxyProtocolError> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_LENGTH>() else {
        return Ok(None);
    };
    let &[.., version_and_command, family_and_transport, high, low] = fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let (version, command) = (version_and_command >> 4, version_and_command & 0x0f);
    let (family, transport) = (family_and_transport >> 4, family_and_transport & 0x0f);
    if version != 2 {
        return Err(ProxyProtocolError::Version(version));
    }
    if command > COMMAND_PROXY {
        return Err(ProxyProtocolError::Command(command));
    }
    // With LOCAL the family is ignored, whatever it says.
    if command == COMMAND_PROXY && (family > FAMILY_UNIX || transport > TRANSPORT_DATAGRAM) {
        return Err(ProxyProtocolError::Family(family_and_transport));
    }
    if FIXED_LENGTH + length > MAX_HEADER_LENGTH {
        return Err(ProxyProtocolError::TooLong(FIXED_LENGTH + length));
    }
    let Some(block) = rest.get(..length) else {
        return Ok(None);
    };
    let header = match command {
        COMMAND_LOCAL => Header::Local,
        _ => parse_block(block, family, transport)?,
    };
    Ok(Some((header, FIXED_LENGTH + length)))
}

/// The addresses and TLVs after the fixed part of version 2.
fn parse_block(block: &[u8], family: u8, transport: u8) -> Result<Header, ProxyProtocolError> {
    if family == FAMILY_UNSPECIFIED || transport == TRANSPORT_UNSPECIFIED {
        // How long addresses of no family are is not defined, so neither is where TLVs would begin.
        return Ok(Header::Unknown);
    }
    let (header, tlvs) = match family {
        FAMILY_INET => {
            let Some((&[a, b, c, d, e, f, g, h, ports @ ..], tlvs)) = block.split_first_chunk::<INET_LENGTH>() else {
                return Err(ProxyProtocolError::AddressesCut);
            };
            let (source_port, destination_port) = split_ports(ports);
            (proxied(([a, b, c, d], source_port), ([e, f, g, h], destination_port)), tlvs)
        }
        FAMILY_INET6 => {
            let Some((addresses, tlvs)) = block.split_first_chunk::<INET6_LENGTH>() else {
                return Err(ProxyProtocolError::AddressesCut);
            };
            (proxied_inet6(addresses), tlvs)
        }
        _ => match block.split_first_chunk::<UNIX_LENGTH>() {
            Some((_, tlvs)) => (Header::Unknown, tlvs),
            None => return Err(ProxyProtocolError::AddressesCut),
        },
    };
    check_tlvs(tlvs)?;
    match transport {
        TRANSPORT_STREAM => Ok(header),
        // UDP does not arrive over a TCP connection; unsupported transports count as UNSPEC (specification §2.2).
        _ => Ok(Header::Unknown),
    }
}

fn proxied_inet6(addresses: &[u8; INET6_LENGTH]) -> Header {
    let group = |index: usize| u16::from_be_bytes([addresses[2 * index], addresses[2 * index + 1]]);
    let source: [u16; 8] = core::array::from_fn(group);
    let destination: [u16; 8] = core::array::from_fn(|index| group(8 + index));
    proxied((source, group(16)), (destination, group(17)))
}

fn split_ports([a, b, c, d]: [u8; 4]) -> (u16, u16) {
    (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

fn proxied(source: impl Into<SocketAddr>, destination: impl Into<SocketAddr>) -> Header {
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    Header::Proxied { source: canonical(source.into()), destination: canonical(destination.into()) }
}

/// Each TLV is a type byte, a length of two bytes and the value; together they must fill the block.
fn check_tlvs(mut tlvs: &[u8]) -> Result<(), ProxyProtocolError> {
    while !tlvs.is_empty() {
        let Some((&[_, high, low], rest)) = tlvs.split_first_chunk() else {
            return Err(ProxyProtocolError::TlvCut);
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        tlvs = rest.get(length..).ok_or(ProxyProtocolError::TlvCut)?;
    }
    Ok(())
}

/// The most bytes a header may have, so that a peer cannot make the server buffer 64 KB before its first request.
///
/// Addresses need at most 232 bytes. The rest is for TLVs, where a client certificate's names, an AWS endpoint and a
/// connection id come to some hundred bytes; nginx has the same limit (`NGX_PROXY_PROTOCOL_MAX_HEADER`).
pub const MAX_HEADER_LENGTH: usize = 4096;

/// Specification §2.1: the worst case of a line, including CR LF.
const MAX_LINE_LENGTH: usize = 107;
const VERSION_1_START: &[u8] = b"PROXY ";

// Specification §2.2: the layout of version 2.
const VERSION_2_SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const FIXED_LENGTH: usize = 16;
const COMMAND_LOCAL: u8 = 0;
const COMMAND_PROXY: u8 = 1;
const FAMILY_UNSPECIFIED: u8 = 0;
const FAMILY_INET: u8 = 1;
const FAMILY_INET6: u8 = 2;
const FAMILY_UNIX: u8 = 3;
const TRANSPORT_UNSPECIFIED: u8 = 0;
const TRANSPORT_STREAM: u8 = 1;
const TRANSPORT_DATAGRAM: u8 = 2;
/// Two addresses of 4 bytes, two ports.
const INET_LENGTH: usize = 12;
/// Two addresses of 16 bytes, two ports.
const INET6_LENGTH: usize = 36;
/// Two paths of 108 bytes.
const UNIX_LENGTH: usize = 216;

#[cfg(test)]
mod tests;
