//! Requests for Perl: names and values, each preceded by its length in four bytes, which one `unpack` turns into a
//! hash.

use serow_gateway::decoded_path;

use super::{Facts, variable, write_text, write_values};

/// CGI's variables, and the only PSGI value that differs between requests; the bridge adds the others.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let mut pairs = Pairs(packet);
    pairs.text("REQUEST_METHOD", facts.method.as_bytes());
    // In PSGI, paths begin with a slash, except in `OPTIONS *`.
    let path = if facts.path == "*" { "" } else { facts.path };
    pairs.text("PATH_INFO", &decoded_path(path));
    if !facts.script_name.is_empty() {
        pairs.text("SCRIPT_NAME", facts.script_name.as_bytes());
    }
    pairs.text("QUERY_STRING", facts.query.as_bytes());
    pairs.text("REQUEST_URI", facts.target.as_bytes());
    pairs.text("SERVER_PROTOCOL", facts.protocol.as_bytes());
    pairs.text("psgi.url_scheme", facts.scheme.as_bytes());
    pairs.text("SERVER_NAME", facts.server_name.as_bytes());
    pairs.pair("SERVER_PORT", |output| facts.server_port.write(output));
    // It is always there (RFC 3875 §4.1.8), though clients at unix sockets have none.
    pairs.pair("REMOTE_ADDR", |output| facts.client.address.iter().for_each(|address| write_text(address, output)));
    pairs.pair("REMOTE_PORT", |output| write_text(facts.client.port, output));
    facts.user.iter().for_each(|user| pairs.text("REMOTE_USER", user.as_bytes()));
    if let Some(length) = facts.content_length {
        pairs.pair("CONTENT_LENGTH", |output| write_text(length, output));
    }
    for field in facts.fields_once() {
        pairs.part(|output| variable::write(field.0, output));
        pairs.part(|output| write_values(facts, field, output));
    }
}

/// A packet to which names and values are written.
struct Pairs<'a>(&'a mut Vec<u8>);

impl Pairs<'_> {
    fn text(&mut self, name: &str, value: &[u8]) {
        self.pair(name, |output| output.extend_from_slice(value));
    }

    fn pair(&mut self, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
        self.part(|output| output.extend_from_slice(name.as_bytes()));
        self.part(value);
    }

    /// Writes a name or a value after its length, which always fits.
    fn part(&mut self, content: impl FnOnce(&mut Vec<u8>)) {
        let length_at = self.0.len();
        let start = length_at + LENGTH_BYTES;
        self.0.resize(start, 0);
        content(self.0);
        let length = u32::try_from(self.0.len() - start).unwrap_or(u32::MAX);
        self.0[length_at..start].copy_from_slice(&length.to_be_bytes());
    }
}

/// Before each name and each value.
const LENGTH_BYTES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_behind_their_length() {
        let mut packet = b"r!00000000".to_vec();
        let mut pairs = Pairs(&mut packet);
        pairs.text("NAME", b"value");
        pairs.pair("", |_| {});
        assert_eq!(packet, b"r!00000000\0\0\0\x04NAME\0\0\0\x05value\0\0\0\0\0\0\0\0");
        packet.clear();
        Pairs(&mut packet).part(|output| output.extend_from_slice(&[b'x'; 70_000]));
        assert_eq!((packet.len(), &packet[..4]), (4 + 70_000, &70_000_u32.to_be_bytes()[..]));
    }
}
