//! Requests for Ruby: values, each followed by NUL, which `String#unpack` splits in one call.
//!
//! First comes the number of values, in a byte, and after the values the request's shape: the part that is the same in
//! most requests, and the names of the header's variables, separated by commas. All requests of one shape are built by
//! the same block of Ruby, a literal hash that is compiled for the shape; no strings are allocated for the constant
//! parts, nor for the shape itself, which is identified by its digest.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
};

use super::{Facts, variable, write_text, write_values};

/// The shape's digest, path, query, server's name, client's address and port, target, the fields' values; then the
/// shape.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let mut fields = facts.fields_once();
    fields.truncate(MAX_FIELDS);
    let given = [!facts.script_name.is_empty(), facts.content_length.is_some(), facts.user.is_some()];
    let count = BEFORE_FIELDS + fields.len() + given.into_iter().filter(|is_given| *is_given).count();
    packet.push(u8::try_from(count).unwrap_or(u8::MAX));
    let digest_at = packet.len();
    packet.extend_from_slice(&[b'0'; DIGEST_LENGTH]);
    packet.push(0);
    // `OPTIONS *` has no path, and Rack has no other value for that.
    let path = if facts.path == "*" { "" } else { facts.path };
    for value in [path, facts.query, facts.server_name] {
        packet.extend_from_slice(value.as_bytes());
        packet.push(0);
    }
    if let Some(address) = facts.client.address {
        write_text(address, packet);
    }
    packet.push(0);
    write_text(facts.client.port, packet);
    packet.push(0);
    packet.extend_from_slice(facts.target.as_bytes());
    packet.push(0);
    if !facts.script_name.is_empty() {
        packet.extend_from_slice(facts.script_name.as_bytes());
        packet.push(0);
    }
    if let Some(length) = facts.content_length {
        write_text(length, packet);
        packet.push(0);
    }
    // A name without control characters.
    if let Some(user) = facts.user {
        packet.extend_from_slice(user.as_bytes());
        packet.push(0);
    }
    for field in &fields {
        write_values(facts, *field, packet);
        packet.push(0);
    }
    let shape_at = packet.len();
    write_shape(facts, fields.iter().map(|(name, ..)| *name), packet);
    let digest = digest(&packet[shape_at..]);
    packet[digest_at..][..DIGEST_LENGTH].copy_from_slice(&digest);
}

/// Method, protocol, scheme, port, names. Tokens contain no characters that are special in Ruby strings (RFC 9110
/// §5.6.2).
fn write_shape<'a>(facts: &Facts<'_>, names: impl Iterator<Item = &'a [u8]>, packet: &mut Vec<u8>) {
    for constant in [facts.method, facts.protocol, facts.scheme] {
        packet.extend_from_slice(constant.as_bytes());
        packet.push(b',');
    }
    facts.server_port.write(packet);
    if !facts.script_name.is_empty() {
        packet.extend_from_slice(b",SCRIPT_NAME");
    }
    if facts.content_length.is_some() {
        packet.extend_from_slice(b",CONTENT_LENGTH");
    }
    if facts.user.is_some() {
        packet.extend_from_slice(b",REMOTE_USER");
    }
    for name in names {
        packet.push(b',');
        variable::write(name, packet);
    }
}

/// The digest by which workers identify a shape, in hexadecimal. Its key is secret (SipHash), or clients could produce
/// collisions.
fn digest(shape: &[u8]) -> [u8; DIGEST_LENGTH] {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let digest = KEY.hash_one(shape);
    std::array::from_fn(|place| b"0123456789abcdef"[(digest >> (4 * place)) as usize & 15])
}

/// The digest and the values that each request has.
const BEFORE_FIELDS: usize = 7;
/// Servers accept at most 128 fields. One byte counts them, the values before them, the mount path, the body's
/// length and the user.
const MAX_FIELDS: usize = u8::MAX as usize - BEFORE_FIELDS - 3;
/// Ruby keeps texts of up to 23 bytes without allocating them.
const DIGEST_LENGTH: usize = 16;
