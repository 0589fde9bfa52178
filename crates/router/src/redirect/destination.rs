//! Filling in a destination.

use serow_message::{
    TargetForm,
    percent::{encode_path, encode_query_part},
};
use serow_variables::{Encoding, Name, Source, Variable};

use super::{
    Destination, Kind,
    parts::{AddressPart, Part},
};
use crate::url::{append_decoded, append_url};

impl Destination {
    /// The address, or nothing where it takes the host of a request that has none.
    pub(super) fn fill(&self, source: &Source<'_>, host: Option<&[u8]>) -> Option<Vec<u8>> {
        let mut address = Vec::with_capacity(self.text.len() + source.path.len() + 32);
        let mut captures = source.captures.iter();
        let mut before_last = 0;
        for part in &self.parts {
            before_last = address.len();
            match part {
                Part::Text(text) => address.extend_from_slice(text.as_bytes()),
                Part::Star(place) => encode(captures.next().copied().unwrap_or_default(), *place, &mut address),
                Part::Host => address.extend_from_slice(host?),
                Part::Path(place) => encode(source.path, *place, &mut address),
                Part::Query => copy_query(source.query.unwrap_or_default(), &mut address),
                Part::Variable(variable, place) => append_variable(variable, *place, source, &mut address),
                Part::KeptQuery => {
                    if let Some(query) = source.query {
                        address.push(b'?');
                        copy_query(query, &mut address);
                    }
                }
            }
        }
        let ends_with_query = matches!(
            self.parts.last(),
            Some(Part::Query | Part::Variable(Variable::Named(Name::Arguments), AddressPart::Query))
        );
        // A request without a query leaves nothing behind `?$args` and `?page=1&$args`.
        if ends_with_query && address.len() == before_last && matches!(address.last(), Some(b'?' | b'&')) {
            address.pop();
        }
        if self.kind == Kind::Path {
            // RFC 3986 §4.2: two slashes would begin a host, which is the client's to say nowhere. A backslash, which
            // browsers take for a slash, is encoded.
            let slashes = address.iter().take_while(|&&byte| byte == b'/').count();
            address.drain(..slashes.saturating_sub(1));
        }
        Some(address)
    }
}

/// Appends the value of a variable, encoded as its place demands.
fn append_variable(variable: &Variable, place: AddressPart, source: &Source<'_>, address: &mut Vec<u8>) {
    let mut value = Vec::new();
    match variable {
        // A path and a query, also where the client sent a whole URL, whose host is none of ours.
        Variable::Named(Name::RequestUri) => {
            if source.target.form() == TargetForm::Asterisk {
                value.push(b'/');
            } else {
                value.extend_from_slice(source.target.path_bytes());
            }
            if let Some(query) = source.target.query() {
                value.push(b'?');
                value.extend_from_slice(query.as_bytes());
            }
            append_url(&value, address);
        }
        Variable::Argument(_) if place == AddressPart::Path => {
            let mut decoded = Vec::new();
            variable.append(source, &mut value);
            append_decoded(&value, &mut decoded);
            encode(&decoded, place, address);
        }
        _ => {
            variable.append(source, &mut value);
            match variable.encoding() {
                Encoding::Plain => encode(&value, place, address),
                Encoding::Encoded | Encoding::Trusted => append_url(&value, address),
            }
        }
    }
}

fn encode(text: &[u8], place: AddressPart, address: &mut Vec<u8>) {
    match place {
        AddressPart::Path => encode_path(text, address),
        AddressPart::Query => encode_query_part(text, address),
    }
}

/// Copies a query, which a [`Target`](serow_message::Target) keeps free of spaces and control characters; an address is
/// ASCII, so all else is encoded.
fn copy_query(query: &str, address: &mut Vec<u8>) {
    for byte in query.bytes() {
        match byte.is_ascii() {
            true => address.push(byte),
            false => address.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}
