//! Requests for Ruby: values with NULs between them, which `String#split` takes apart in one call.
//!
//! The first value is the ticket, the second the names of the header's variables with commas between them. Requests with the same names are
//! made by the same block of Ruby: a literal hash that was compiled when the first of them came.

use super::{Facts, variable, write_text, write_values};

/// Behind the ticket: names, method, path, query, protocol, scheme, server's name and port, client's address and port, target,
/// length of the body, then the fields' values.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    packet.push(0);
    let fields = facts.fields_once();
    for (place, (name, ..)) in fields.iter().enumerate() {
        if place > 0 {
            packet.push(b',');
        }
        variable::write(name, packet);
    }
    // `OPTIONS *` asks for no path, and Rack has no other word for that.
    let path = if facts.path.starts_with('/') { facts.path } else { "" };
    for value in [facts.method, path, facts.query, facts.protocol, facts.scheme, facts.server_name] {
        packet.push(0);
        packet.extend_from_slice(value.as_bytes());
    }
    packet.push(0);
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
    for field in fields {
        packet.push(0);
        write_values(facts, field, packet);
    }
}
