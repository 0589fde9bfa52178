//! Requests for Ruby: values, each with a NUL behind it, which `String#unpack` takes apart in one call.
//!
//! Before them stands how many they are, in two bytes. The first is the request's shape: what is the same in most requests, and the
//! names of the header's variables, with commas between them. Requests of one shape are made by the same block of Ruby, a literal
//! hash that was compiled when the first of them came; no string is made for what the shape says.

use super::{Facts, variable, write_text, write_values};

/// Behind the number: the shape, path, query, server's name, client's address and port, target, then the fields' values.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let fields = facts.fields_once();
    let count = BEFORE_FIELDS + fields.len() + usize::from(facts.content_length.is_some());
    // A head is not long enough for more.
    packet.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes());
    for constant in [facts.method, facts.protocol, facts.scheme] {
        packet.extend_from_slice(constant.as_bytes());
        packet.push(b',');
    }
    facts.server_port.write(packet);
    if facts.content_length.is_some() {
        packet.extend_from_slice(b",CONTENT_LENGTH");
    }
    for (name, ..) in &fields {
        packet.push(b',');
        variable::write(name, packet);
    }
    packet.push(0);
    // `OPTIONS *` asks for no path, and Rack has no other word for that.
    let path = if facts.path.starts_with('/') { facts.path } else { "" };
    for value in [path, facts.query, facts.server_name] {
        packet.extend_from_slice(value.as_bytes());
        packet.push(0);
    }
    if let Some(address) = facts.remote_address {
        write_text(address, packet);
    }
    packet.push(0);
    write_text(facts.remote_port, packet);
    packet.push(0);
    packet.extend_from_slice(facts.target.as_bytes());
    packet.push(0);
    if let Some(length) = facts.content_length {
        write_text(length, packet);
        packet.push(0);
    }
    for field in fields {
        write_values(facts, field, packet);
        packet.push(0);
    }
}

/// The shape and the values that each request has.
const BEFORE_FIELDS: usize = 7;
