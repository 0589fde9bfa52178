//! Requests for PHP: `$_SERVER` as an array that `unserialize` reads. Of the ways that are always there, that one is the
//! fastest, and its lengths make it safe for any bytes.

use std::io::Write;

use serow_gateway::decoded_path;

use super::{Facts, variable, write_text, write_values};

/// CGI's variables as php-fpm has them; the bridge adds those that are the same in all requests.
pub(super) fn write(facts: &Facts<'_>, packet: &mut Vec<u8>) {
    let fields = facts.fields_once();
    let given = [
        !facts.script_name.is_empty(),
        facts.scheme == "https",
        facts.local.is_some(),
        facts.user.is_some(),
        facts.content_length.is_some(),
    ];
    let count = FIXED + fields.len() + given.into_iter().filter(|is_given| *is_given).count();
    // Writing to memory does not fail.
    let _ = write!(packet, "a:{count}:{{");
    let mut array = Array { packet, text: Vec::with_capacity(128) };
    array.text("REQUEST_METHOD", facts.method.as_bytes());
    array.text("REQUEST_URI", facts.target.as_bytes());
    array.text("QUERY_STRING", facts.query.as_bytes());
    // `OPTIONS *` has no path.
    let path = if facts.path == "*" { "" } else { facts.path };
    array.text("PATH_INFO", &decoded_path(path));
    array.text("SERVER_PROTOCOL", facts.protocol.as_bytes());
    array.text("REQUEST_SCHEME", facts.scheme.as_bytes());
    array.text("SERVER_NAME", facts.server_name.as_bytes());
    array.value("SERVER_PORT", |text| facts.server_port.write(text));
    // It is always there (RFC 3875 §4.1.8), though clients at unix sockets have none.
    array.value("REMOTE_ADDR", |text| facts.client.address.iter().for_each(|address| write_text(address, text)));
    array.value("REMOTE_PORT", |text| write_text(facts.client.port, text));
    if !facts.script_name.is_empty() {
        array.text("SCRIPT_NAME", facts.script_name.as_bytes());
    }
    if facts.scheme == "https" {
        array.text("HTTPS", b"on");
    }
    if let Some(local) = facts.local {
        array.value("SERVER_ADDR", |text| write_text(local.ip().to_canonical(), text));
    }
    if let Some(user) = facts.user {
        array.text("REMOTE_USER", user.as_bytes());
    }
    if let Some(length) = facts.content_length {
        array.value("CONTENT_LENGTH", |text| write_text(length, text));
    }
    for field in fields {
        array.part(|text| variable::write(field.0, text));
        array.part(|text| write_values(facts, field, text));
    }
    packet.push(b'}');
}

/// An array that is written; `text` is the room for one string, whose length precedes it.
struct Array<'a> {
    packet: &'a mut Vec<u8>,
    text: Vec<u8>,
}

impl Array<'_> {
    fn text(&mut self, name: &str, value: &[u8]) {
        self.string(name.as_bytes());
        self.string(value);
    }

    fn value(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.string(name.as_bytes());
        self.part(write);
    }

    fn part(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        write(&mut text);
        self.string(&text);
        self.text = text;
    }

    fn string(&mut self, content: &[u8]) {
        let _ = write!(self.packet, "s:{}:\"", content.len());
        self.packet.extend_from_slice(content);
        self.packet.extend_from_slice(b"\";");
    }
}

/// Variables that each request has.
const FIXED: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_stand_behind_their_length_in_bytes() {
        let mut packet = Vec::new();
        let mut array = Array { packet: &mut packet, text: Vec::new() };
        array.text("NAME", b"a\"\0;\xff");
        array.value("", |text| write_text(81, text));
        array.part(|text| text.extend_from_slice("ä".as_bytes()));
        assert_eq!(packet, b"s:4:\"NAME\";s:5:\"a\"\0;\xff\";s:0:\"\";s:2:\"81\";s:2:\"\xc3\xa4\";");
    }
}
