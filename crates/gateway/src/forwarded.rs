//! Header fields that describe the client to servers: `X-Forwarded-*` and `Forwarded`.

use std::{
    io::Write,
    net::{IpAddr, Ipv6Addr},
};

use serow_message::{Connection, Headers, KnownHeader, Peer, Scheme, TrustedProxies};
use smallvec::SmallVec;

/// How servers learn about the client, and which proxies in front of us are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forwarded {
    /// The fields to write.
    pub fields: ForwardedFields,
    /// Proxies in front of us whose `X-Forwarded-*` and `Forwarded` fields are kept; those of all other peers are
    /// dropped.
    pub trusted: TrustedProxies,
}

/// Which fields describe the client to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedFields {
    /// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
    #[default]
    X,
    /// Forwarded (RFC 7239).
    Standard,
    /// All of these.
    Both,
    /// None; those of a trusted proxy are passed on.
    Off,
}

impl Forwarded {
    /// The fields to add to a request with these headers, whose `Host` is still the client's. Remove the fields that
    /// [`ForwardedValues::replaces`] before writing the request.
    pub fn values(&self, headers: &Headers, connection: &Connection) -> ForwardedValues {
        let peer = connection.peer();
        let trusted = self.trusted.contains(peer);
        let (x, standard) = match self.fields {
            ForwardedFields::X => (true, false),
            ForwardedFields::Standard => (false, true),
            ForwardedFields::Both => (true, true),
            ForwardedFields::Off => (false, false),
        };
        let before = if trusted { headers } else { &NOTHING };
        let mut values = ForwardedValues { trusted, standard, ..ForwardedValues::default() };
        if x {
            values.x_for = x_for(before, peer);
            values.x_proto = (!before.contains(KnownHeader::XForwardedProto)).then(|| proto(connection.scheme()));
            if !before.contains(KnownHeader::XForwardedHost) {
                values.x_host = headers.get(KnownHeader::Host).unwrap_or_default().into();
            }
        }
        if standard {
            let host = headers.get(KnownHeader::Host).unwrap_or_default();
            values.forwarded = element(before, peer, connection.scheme(), host);
        }
        values
    }
}

/// The fields to add to one request.
#[derive(Debug, Default)]
pub struct ForwardedValues {
    trusted: bool,
    standard: bool,
    /// Empty values are not added.
    x_for: Text,
    x_proto: Option<&'static str>,
    x_host: Text,
    forwarded: Text,
}

/// The value of a field; those of most requests need no allocation.
type Text = SmallVec<[u8; 64]>;

impl ForwardedValues {
    /// Whether the peer is believed.
    pub fn trusted(&self) -> bool {
        self.trusted
    }

    /// Whether this field of the request is replaced or dropped. For an untrusted peer that applies to all fields of
    /// this kind, also to those that are not written here, since servers trust what they receive from us.
    #[inline]
    pub fn replaces(&self, name: &[u8], known: Option<KnownHeader>) -> bool {
        match known {
            Some(KnownHeader::XForwardedFor) => !self.trusted || !self.x_for.is_empty(),
            Some(KnownHeader::Forwarded) => !self.trusted || self.standard,
            _ => !self.trusted && TrustedProxies::is_client_field(name, known),
        }
    }

    /// The fields to add. Their values are parts of received fields, or built here.
    pub fn fields(&self) -> [(KnownHeader, Option<&[u8]>); 4] {
        [
            (KnownHeader::XForwardedFor, said(&self.x_for)),
            (KnownHeader::XForwardedProto, self.x_proto.map(str::as_bytes)),
            (KnownHeader::XForwardedHost, said(&self.x_host)),
            (KnownHeader::Forwarded, said(&self.forwarded)),
        ]
    }
}

fn said(text: &Text) -> Option<&[u8]> {
    (!text.is_empty()).then_some(&text[..])
}

/// X-Forwarded-For: the previous value and the peer. Programs expect addresses only, so a peer at a unix socket, which
/// is a proxy on this machine, is not added.
fn x_for(before: &Headers, peer: Peer) -> Text {
    let Peer::Tcp(address) = peer else { return Text::new() };
    let mut value = joined(before, KnownHeader::XForwardedFor);
    write_address(address.ip().to_canonical(), &mut value);
    value
}

/// The element for this hop in Forwarded, after the previous ones (RFC 7239 §4). The client's port is private, and
/// `Via` names this proxy.
fn element(before: &Headers, peer: Peer, scheme: Scheme, host: &[u8]) -> Text {
    let mut value = joined(before, KnownHeader::Forwarded);
    value.extend_from_slice(b"for=");
    match peer {
        Peer::Tcp(address) => match address.ip().to_canonical() {
            // RFC 7239 §6: colons and brackets are invalid in a token.
            address @ IpAddr::V6(_) => {
                value.extend_from_slice(b"\"[");
                write_address(address, &mut value);
                value.extend_from_slice(b"]\"");
            }
            address @ IpAddr::V4(_) => write_address(address, &mut value),
        },
        Peer::Unix => value.extend_from_slice(b"unknown"),
    }
    value.extend_from_slice(b";proto=");
    value.extend_from_slice(proto(scheme).as_bytes());
    if !host.is_empty() {
        value.extend_from_slice(b";host=");
        let is_token = host.iter().copied().all(serow_message::is_token_byte);
        // No host that was let in has a quotation mark or a backslash in it.
        let quote: &[u8] = if is_token { b"" } else { b"\"" };
        for part in [quote, host, quote] {
            value.extend_from_slice(part);
        }
    }
    value
}

/// All lines of a field as one list, followed by a comma if it is not empty.
fn joined(headers: &Headers, name: KnownHeader) -> Text {
    let mut value = Text::new();
    for line in headers.get_all(name).filter(|line| !line.is_empty()) {
        value.extend_from_slice(line);
        value.extend_from_slice(b", ");
    }
    value
}

fn write_address(address: IpAddr, output: &mut Text) {
    match address {
        // Digit by digit: the formatting of the standard library costs a thousand instructions.
        IpAddr::V4(address) => {
            let mut text = [0; MAX_V4_LENGTH];
            let mut length = 0;
            let mut push = |byte| {
                text[length] = byte;
                length += 1;
            };
            for (place, octet) in address.octets().into_iter().enumerate() {
                if place > 0 {
                    push(b'.');
                }
                if octet >= 100 {
                    push(b'0' + octet / 100);
                }
                if octet >= 10 {
                    push(b'0' + octet / 10 % 10);
                }
                push(b'0' + octet % 10);
            }
            output.extend_from_slice(&text[..length]);
        }
        IpAddr::V6(address) => write_v6(address, output),
    }
}

fn write_v6(address: Ipv6Addr, output: &mut Text) {
    let mut text = [0; MAX_V6_LENGTH];
    let mut rest = &mut text[..];
    // There is room for all of it.
    let _ = write!(rest, "{address}");
    let length = MAX_V6_LENGTH - rest.len();
    output.extend_from_slice(&text[..length]);
}

fn proto(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    }
}

/// The headers of an untrusted peer count as empty.
static NOTHING: Headers = Headers::new();

/// `255.255.255.255`
const MAX_V4_LENGTH: usize = 15;

/// RFC 4291 §2.2: eight groups of four digits, and an IPv4 address in the last two.
const MAX_V6_LENGTH: usize = 45;

#[cfg(test)]
mod tests;
