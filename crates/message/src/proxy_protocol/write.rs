//! Writing PROXY headers.

use alloc::vec::Vec;
use core::{
    fmt::{self, Write},
    net::{IpAddr, Ipv6Addr, SocketAddr},
};

use crate::proxy_protocol::{
    COMMAND_LOCAL, COMMAND_PROXY, FAMILY_INET, FAMILY_INET6, FAMILY_UNSPECIFIED, Header, INET_LENGTH, INET6_LENGTH,
    TRANSPORT_STREAM, TRANSPORT_UNSPECIFIED, VERSION_2_SIGNATURE,
};

/// Writes the line of version 1. Without TCP addresses it is `PROXY UNKNOWN`; version 1 does not distinguish
/// [`Header::Local`] from [`Header::Unknown`].
///
/// ```
/// # use serow_message::proxy_protocol::{Header, write_version_1};
/// let header = Header::Proxied { source: ([192, 0, 2, 1], 56324).into(), destination: ([192, 0, 2, 2], 443).into() };
/// let mut output = Vec::new();
/// write_version_1(&header, &mut output);
/// assert_eq!(output, b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n");
/// ```
pub fn write_version_1(header: &Header, output: &mut Vec<u8>) {
    let Header::Proxied { source, destination } = *header else {
        return output.extend_from_slice(b"PROXY UNKNOWN\r\n");
    };
    let (source, destination) = of_one_family(source, destination);
    let family = if source.is_ipv4() { "TCP4" } else { "TCP6" };
    let addresses = (source.ip(), destination.ip());
    let ports = (source.port(), destination.port());
    // Writing to memory does not fail.
    let _ = write!(Text(output), "PROXY {family} {} {} {} {}\r\n", addresses.0, addresses.1, ports.0, ports.1);
}

/// Writes the binary header of version 2, without extensions.
pub fn write_version_2(header: &Header, output: &mut Vec<u8>) {
    output.extend_from_slice(VERSION_2_SIGNATURE);
    let Header::Proxied { source, destination } = *header else {
        let command = if *header == Header::Local { COMMAND_LOCAL } else { COMMAND_PROXY };
        return write_fixed(command, FAMILY_UNSPECIFIED << 4 | TRANSPORT_UNSPECIFIED, 0, output);
    };
    let (source, destination) = of_one_family(source, destination);
    let (family, length) = if source.is_ipv4() { (FAMILY_INET, INET_LENGTH) } else { (FAMILY_INET6, INET6_LENGTH) };
    write_fixed(COMMAND_PROXY, family << 4 | TRANSPORT_STREAM, length as u8, output);
    for address in [source.ip(), destination.ip()] {
        match address {
            IpAddr::V4(address) => output.extend_from_slice(&address.octets()),
            IpAddr::V6(address) => output.extend_from_slice(&address.octets()),
        }
    }
    for port in [source.port(), destination.port()] {
        output.extend_from_slice(&port.to_be_bytes());
    }
}

/// The bytes between the signature and the addresses (specification §2.2).
fn write_fixed(command: u8, family_and_transport: u8, length: u8, output: &mut Vec<u8>) {
    output.extend_from_slice(&[VERSION << 4 | command, family_and_transport, 0, length]);
}

/// A header has two addresses of one family: if the families differ, the IPv4 address becomes an IPv4-mapped one.
fn of_one_family(source: SocketAddr, destination: SocketAddr) -> (SocketAddr, SocketAddr) {
    if source.is_ipv4() == destination.is_ipv4() {
        return (source, destination);
    }
    let wide = |address: SocketAddr| {
        let ip: Ipv6Addr = match address.ip() {
            IpAddr::V4(address) => address.to_ipv6_mapped(),
            IpAddr::V6(address) => address,
        };
        SocketAddr::new(ip.into(), address.port())
    };
    (wide(source), wide(destination))
}

/// Text that is appended to bytes.
struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

const VERSION: u8 = 2;
