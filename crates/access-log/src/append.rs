//! Appending the values of a request to its line, escaped.

use std::{io::Write, time::Duration};

use serow_message::{Attempt, Headers, Peer, Served};
use serow_variables::values;

use super::{attempts, escape};

/// Appends the address of the client.
pub(super) fn client(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.client {
        // Writing to memory does not fail.
        Some(address) => drop(write!(line, "{address}")),
        None => values::append_client(served.connection.peer(), line),
    }
}

/// Appends the address of the connection's peer, whoever the client is.
pub(super) fn peer(served: &Served<'_>, line: &mut Vec<u8>) {
    values::append_client(served.connection.peer(), line);
}

/// Appends the port of the connection's peer.
pub(super) fn peer_port(served: &Served<'_>, line: &mut Vec<u8>) {
    match served.connection.peer() {
        Peer::Tcp(address) => number(address.port().into(), line),
        Peer::Unix => line.push(b'-'),
    }
}

/// Appends the first line of the request.
pub(super) fn request_line(served: &Served<'_>, line: &mut Vec<u8>) {
    let Some(request) = served.request else { return line.push(b'-') };
    escape::text(request.method.as_str().as_bytes(), line);
    line.push(b' ');
    escape::text(request.target.as_str().as_bytes(), line);
    line.push(b' ');
    line.extend_from_slice(values::version(request.version).as_bytes());
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

pub(super) fn boolean(value: bool) -> &'static [u8] {
    if value { b"true" } else { b"false" }
}
