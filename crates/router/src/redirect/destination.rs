//! Filling in a destination.

use serow_message::percent::{encode_path, encode_query_part};

use super::{
    Destination, Kind,
    parts::{Part, Place},
};

/// What a request has to be filled in.
#[derive(Debug)]
pub(super) struct Filling<'request> {
    /// The host it is for, if it says so.
    pub(super) host: Option<&'request [u8]>,
    /// Its clean path.
    pub(super) path: &'request [u8],
    /// What the stars of the path stand for.
    pub(super) captures: &'request [&'request [u8]],
    /// Its query, as it came.
    pub(super) query: Option<&'request str>,
}

impl Destination {
    /// The address, or nothing where it takes the host of a request that has none.
    pub(super) fn fill(&self, filling: &Filling<'_>) -> Option<Vec<u8>> {
        let mut address = Vec::with_capacity(self.text.len() + filling.path.len() + 32);
        let mut captures = filling.captures.iter();
        for part in &self.parts {
            match part {
                Part::Text(text) => address.extend_from_slice(text.as_bytes()),
                Part::Star(place) => encode(captures.next().copied().unwrap_or_default(), *place, &mut address),
                Part::Host => address.extend_from_slice(filling.host?),
                Part::Path(place) => encode(filling.path, *place, &mut address),
                Part::Query => copy_query(filling.query.unwrap_or_default(), &mut address),
                Part::KeptQuery => {
                    if let Some(query) = filling.query {
                        address.push(b'?');
                        copy_query(query, &mut address);
                    }
                }
            }
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

fn encode(text: &[u8], place: Place, address: &mut Vec<u8>) {
    match place {
        Place::Path => encode_path(text, address),
        Place::Query => encode_query_part(text, address),
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
