//! Header fields that describe the client to servers: `X-Forwarded-*` and `Forwarded`.

use std::{
    io::Write,
    net::{IpAddr, Ipv6Addr},
};

use serow_message::{Connection, ConstantField, Headers, KnownHeader, KnownNames, Peer, Scheme, TrustedProxies};
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
            (values.x_proto, values.x_host) = match trusted {
                true => self.told(headers, connection),
                false => (Some(connection.scheme()), ForwardedHost::OfRequest),
            };
        }
        if standard {
            let host = headers.get(KnownHeader::Host).unwrap_or_default();
            values.forwarded = element(before, peer, connection.scheme(), host);
        }
        values
    }

    /// X-Forwarded-Proto and X-Forwarded-Host after those of a trusted proxy. Of a list, servers take the first element,
    /// which may be the client's own word: they get the one that counts.
    fn told(&self, before: &Headers, connection: &Connection) -> (Option<Scheme>, ForwardedHost) {
        let is_kept = |name| before.contains(name) && before.list(name).nth(1).is_none();
        let scheme = || self.trusted.client_scheme(before, connection);
        let host = match is_kept(KnownHeader::XForwardedHost) {
            true => ForwardedHost::Kept,
            false => match self.trusted.named_host(before, connection) {
                Some(host) => ForwardedHost::Named(host.into()),
                None => ForwardedHost::OfRequest,
            },
        };
        let scheme = (!is_kept(KnownHeader::XForwardedProto)).then(scheme);
        (scheme, host)
    }
}

/// The fields to add to one request.
#[derive(Debug, Default)]
pub struct ForwardedValues {
    trusted: bool,
    standard: bool,
    /// Empty values are not added.
    x_for: Text,
    x_proto: Option<Scheme>,
    x_host: ForwardedHost,
    forwarded: Text,
}

/// The value of X-Forwarded-Host.
#[derive(Debug, Default)]
enum ForwardedHost {
    /// As the request has it, or none.
    #[default]
    Kept,
    /// The host that the request is for.
    OfRequest,
    /// The one of several that counts.
    Named(Box<str>),
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
            Some(known) => self.replaced().contains(known),
            None => self.replaces_other(name),
        }
    }

    /// The well-known names that it [replaces](Self::replaces).
    #[inline]
    pub fn replaced(&self) -> KnownNames {
        const OF_UNTRUSTED: KnownNames = KnownNames::of(&[
            KnownHeader::XForwardedFor,
            KnownHeader::XForwardedProto,
            KnownHeader::XForwardedHost,
            KnownHeader::Forwarded,
        ]);
        const X_FOR: KnownNames = KnownNames::of(&[KnownHeader::XForwardedFor]);
        const FORWARDED: KnownNames = KnownNames::of(&[KnownHeader::Forwarded]);
        const X_PROTO: KnownNames = KnownNames::of(&[KnownHeader::XForwardedProto]);
        const X_HOST: KnownNames = KnownNames::of(&[KnownHeader::XForwardedHost]);
        if !self.trusted {
            return OF_UNTRUSTED;
        }
        let x_for = if self.x_for.is_empty() { KnownNames::default() } else { X_FOR };
        let forwarded = if self.standard { FORWARDED } else { KnownNames::default() };
        let x_proto = if self.x_proto.is_none() { KnownNames::default() } else { X_PROTO };
        let x_host = if matches!(self.x_host, ForwardedHost::Kept) { KnownNames::default() } else { X_HOST };
        x_for.and(forwarded).and(x_proto).and(x_host)
    }

    /// Whether it replaces fields with this name, which is not well-known.
    #[inline]
    pub fn replaces_other(&self, name: &[u8]) -> bool {
        !self.trusted && TrustedProxies::is_client_field(name, None)
    }

    /// Adds the fields to a request, whose `Host` is still the client's.
    pub fn append_to(&self, headers: &mut Headers) {
        // Their values are parts of received fields, or built here, and so valid.
        if !self.x_for.is_empty() {
            let _ = headers.append(KnownHeader::XForwardedFor, &self.x_for);
        }
        match self.x_proto {
            Some(Scheme::Http) => headers.append_constant(&X_PROTO_HTTP),
            Some(Scheme::Https) => headers.append_constant(&X_PROTO_HTTPS),
            None => {}
        }
        match &self.x_host {
            ForwardedHost::Kept => {}
            ForwardedHost::OfRequest => headers.append_copy(KnownHeader::XForwardedHost, KnownHeader::Host),
            ForwardedHost::Named(host) => drop(headers.append(KnownHeader::XForwardedHost, &**host)),
        }
        if !self.forwarded.is_empty() {
            let _ = headers.append(KnownHeader::Forwarded, &self.forwarded);
        }
    }
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
    if !headers.contains(name) {
        return value;
    }
    for line in headers.get_all(name).filter(|line| !line.is_empty()) {
        value.extend_from_slice(line);
        value.extend_from_slice(b", ");
    }
    value
}

fn write_address(address: IpAddr, output: &mut Text) {
    match address {
        // From a table: the formatting of the standard library costs a thousand instructions.
        IpAddr::V4(address) => {
            let mut text = [0; MAX_V4_LENGTH + 1];
            let mut end = 0;
            for octet in address.octets() {
                let (digits, length) = OCTETS[usize::from(octet)];
                if let Some(place) = text.get_mut(end..).and_then(<[u8]>::first_chunk_mut) {
                    *place = digits;
                }
                end += length;
            }
            // Without the last dot.
            output.extend_from_slice(&text[..end - 1]);
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

const X_PROTO_HTTP: ConstantField = ConstantField::new(KnownHeader::XForwardedProto, "x-forwarded-proto: http\r\n");
const X_PROTO_HTTPS: ConstantField = ConstantField::new(KnownHeader::XForwardedProto, "x-forwarded-proto: https\r\n");

/// The digits of each octet and a dot, and how many bytes these are.
static OCTETS: [([u8; 4], usize); 256] = {
    let mut octets = [([b'.'; 4], 0); 256];
    let mut octet = 0;
    while octet < 256 {
        let (digits, number) = (&mut octets[octet], octet as u8);
        if octet >= 100 {
            digits.0[digits.1] = b'0' + number / 100;
            digits.1 += 1;
        }
        if octet >= 10 {
            digits.0[digits.1] = b'0' + number / 10 % 10;
            digits.1 += 1;
        }
        digits.0[digits.1] = b'0' + number % 10;
        digits.1 += 2;
        octet += 1;
    }
    octets
};

/// `255.255.255.255`
const MAX_V4_LENGTH: usize = 15;

/// RFC 4291 §2.2: eight groups of four digits, and an IPv4 address in the last two.
const MAX_V6_LENGTH: usize = 45;

#[cfg(test)]
mod tests;
