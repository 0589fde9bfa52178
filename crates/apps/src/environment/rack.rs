//! Requests for Ruby: values, each with a NUL behind it, which `String#unpack` takes apart in one call.
//!
//! Before them stands how many they are, in four digits; the first is the names of the header's variables with commas between them.
//! Requests with the same names are made by the same block of Ruby: a literal hash that was compiled when the first of them came.

use std::io::Write;

use super::{Facts, variable, write_text, write_values};

/// Behind the number: names, method, path, query, protocol, scheme, server's name and port, client's address and port, target,
/// length of the body, then the fields' values.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let fields = facts.fields_once();
    // Writing to memory does not fail.
    let _ = write!(packet, "{:04}", BEFORE_FIELDS + fields.len());
    for (place, (name, ..)) in fields.iter().enumerate() {
        if place > 0 {
            packet.push(b',');
        }
        variable::write(name, packet);
    }
    packet.push(0);
    // `OPTIONS *` asks for no path, and Rack has no other word for that.
    let path = if facts.path.starts_with('/') { facts.path } else { "" };
    for value in [facts.method, path, facts.query, facts.protocol, facts.scheme, facts.server_name] {
        packet.extend_from_slice(value.as_bytes());
        packet.push(0);
    }
    facts.server_port.write(packet);
    packet.push(0);
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
    }
    packet.push(0);
    for field in fields {
        write_values(facts, field, packet);
        packet.push(0);
    }
}

/// Values that each request has.
const BEFORE_FIELDS: usize = 12;
