//! The values of a request that the access log writes as well.

use std::{
    io::Write,
    net::{IpAddr, SocketAddr},
};

use serow_message::{Headers, KnownHeader, Peer, Target, Version};

pub use crate::user::append_user;

/// Appends the address of the client; `unix:`, as in nginx, of one at a unix socket.
pub fn append_client(peer: Peer, output: &mut Vec<u8>) {
    match peer {
        // A client of IPv4 is shown as one, also where it reached a socket of IPv6.
        Peer::Tcp(address) => append_address(address.ip().to_canonical(), output),
        Peer::Unix => output.extend_from_slice(UNIX),
    }
}

/// Appends the address that the client connected to.
pub fn append_server(local: Option<SocketAddr>, output: &mut Vec<u8>) {
    match local {
        Some(address) => append_address(address.ip(), output),
        None => output.extend_from_slice(UNIX),
    }
}

fn append_address(address: IpAddr, output: &mut Vec<u8>) {
    // Writing to memory does not fail.
    drop(write!(output, "{address}"));
}

/// The version as it is written in a request line.
#[must_use]
pub fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_11 => "HTTP/1.1",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/0.9",
    }
}

/// The host of the request without its port, as it was written, except for the dot at the end of an absolute name, as
/// in nginx; `None` if it is empty or missing.
#[must_use]
pub fn host<'a>(target: &'a Target, headers: &'a Headers) -> Option<&'a [u8]> {
    // RFC 9112 §3.2.2: an absolute target takes precedence.
    let authority = target.authority().map(str::as_bytes).or_else(|| headers.get(KnownHeader::Host))?;
    let behind_address = authority.iter().rposition(|&byte| byte == b']').map_or(0, |place| place + 1);
    let port = authority[behind_address..].iter().position(|&byte| byte == b':');
    let host = port.map_or(authority, |place| &authority[..behind_address + place]);
    let host = host.strip_suffix(b".").unwrap_or(host);
    Some(host).filter(|host| !host.is_empty())
}

/// The value of an argument of a query, as it was written. Names are compared as nginx does, without regard to case.
#[must_use]
pub fn argument<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|argument| {
        let (written, value) = argument.split_once('=').unwrap_or((argument, ""));
        written.eq_ignore_ascii_case(name).then_some(value)
    })
}

/// The values of a cookie, as they were written (RFC 6265 §5.4). Case matters, unless it is ignored, as nginx does.
pub fn cookies<'a>(headers: &'a Headers, name: &'a str, ignore_case: bool) -> impl Iterator<Item = &'a [u8]> {
    let pairs = headers.get_all(KnownHeader::Cookie).flat_map(|field| field.split(|&byte| byte == b';'));
    pairs.filter_map(move |pair| {
        let place = pair.iter().position(|&byte| byte == b'=')?;
        let (written, value) = (pair[..place].trim_ascii(), pair[place + 1..].trim_ascii());
        let is_named = written == name.as_bytes() || ignore_case && written.eq_ignore_ascii_case(name.as_bytes());
        is_named.then_some(value)
    })
}

/// In the place of an address, as in nginx.
const UNIX: &[u8] = b"unix:";
