//! Appending the values of a request to its line, escaped.

use std::{io::Write, time::Duration};

use serow::{Encryption, Headers, KnownHeader, Peer, RequestHead, Served, Version};
use serow_gateway::Attempt;

use super::{attempts, escape};

/// Appends the address of the client.
pub(super) fn client(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.client {
        // Writing to memory does not fail.
        Some(address) => drop(write!(line, "{address}")),
        None => peer(served, line),
    }
}

/// Appends the port of the client; proxies in front do not name it.
pub(super) fn client_port(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.client {
        Some(_) => line.push(b'-'),
        None => peer_port(served, line),
    }
}

/// Appends the address of the connection's peer, whoever the client is.
pub(super) fn peer(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.connection.peer() {
        // A client of IPv4 is shown as one, also where it reached a socket of IPv6. Writing to memory does not fail.
        Peer::Tcp(address) => drop(write!(line, "{}", address.ip().to_canonical())),
        Peer::Unix => line.extend_from_slice(UNIX),
    }
}

/// Appends the port of the connection's peer.
pub(super) fn peer_port(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.connection.peer() {
        Peer::Tcp(address) => number(address.port().into(), line),
        Peer::Unix => line.push(b'-'),
    }
}

/// Appends the address that the client connected to.
pub(super) fn server_address(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.connection.local() {
        // Writing to memory does not fail.
        Some(address) => drop(write!(line, "{}", address.ip())),
        None => line.extend_from_slice(UNIX),
    }
}

/// Appends the first line of the request.
pub(super) fn request_line(served: &Served<'_>, line: &mut Vec<u8>) {
    let Some(request) = served.request else { return line.push(b'-') };
    escape::text(request.method.as_str().as_bytes(), line);
    line.push(b' ');
    escape::text(request.target.as_str().as_bytes(), line);
    line.push(b' ');
    line.extend_from_slice(version(request.version).as_bytes());
}

/// The version as it stands in a request.
pub(super) fn version(version: Version) -> &'static str {
    match version {
        Version::HTTP_10 => "HTTP/1.0",
        Version::HTTP_11 => "HTTP/1.1",
        Version::HTTP_2 => "HTTP/2.0",
        Version::HTTP_3 => "HTTP/3.0",
        _ => "HTTP/0.9",
    }
}

/// Appends a number.
pub(super) fn number(number: u64, line: &mut Vec<u8>) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a number with zeros in front, so that it has so many digits.
pub(super) fn digits(number: u32, digits: usize, line: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    let text = buffer.format(number);
    line.resize(line.len() + digits.saturating_sub(text.len()), b'0');
    line.extend_from_slice(text.as_bytes());
}

/// Appends seconds with their thousandths.
pub(super) fn decimal(seconds: u64, milliseconds: u32, line: &mut Vec<u8>) {
    number(seconds, line);
    line.push(b'.');
    digits(milliseconds, 3, line);
}

/// Appends a time of each server that the request was sent to, in seconds.
pub(super) fn attempt_time(served: &Served<'_>, line: &mut Vec<u8>, time: impl Fn(&Attempt) -> Option<Duration>) {
    attempts::write(served, line, |attempt, line| match time(attempt) {
        Some(time) => decimal(time.as_secs(), time.subsec_millis(), line),
        None => line.push(b'-'),
    });
}

/// Appends a text that may be missing.
pub(super) fn text(text: Option<&str>, line: &mut Vec<u8>) {
    escape::text(text.unwrap_or("-").as_bytes(), line);
}

pub(super) fn optional(value: Option<impl Into<u64>>, line: &mut Vec<u8>) {
    match value {
        Some(value) => number(value.into(), line),
        None => line.push(b'-'),
    }
}

/// Appends the values of a field; several lines are one, as in RFC 9110 §5.3.
pub(super) fn field(headers: Option<&Headers>, name: &str, line: &mut Vec<u8>) {
    let mut values = headers.into_iter().flat_map(|headers| headers.get_all(name));
    escape::text(values.next().unwrap_or(b"-"), line);
    for value in values {
        line.extend_from_slice(b", ");
        escape::text(value, line);
    }
}

/// Appends the host of the request, in lower case and without its port.
pub(super) fn host(request: Option<&RequestHead>, line: &mut Vec<u8>) {
    let Some(host) = request.and_then(authority) else { return line.push(b'-') };
    let before = line.len();
    escape::text(without_port(host), line);
    if line.len() == before {
        line.push(b'-');
    }
    line[before..].make_ascii_lowercase();
}

/// Host and port of the request (RFC 9112 §3.2.2).
fn authority(request: &RequestHead) -> Option<&[u8]> {
    request.target.authority().map(str::as_bytes).or_else(|| request.headers.get(KnownHeader::Host))
}

fn without_port(authority: &[u8]) -> &[u8] {
    let behind_address = authority.iter().rposition(|&byte| byte == b']').map_or(0, |place| place + 1);
    let port = authority[behind_address..].iter().position(|&byte| byte == b':');
    port.map_or(authority, |place| &authority[..behind_address + place])
}

pub(super) fn encryption<'a>(served: &Served<'a>) -> Option<&'a Encryption> {
    served.connection.encryption()
}

pub(super) fn boolean(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}

/// In the place of an address, as in nginx.
const UNIX: &[u8] = b"unix:";
