//! Requests as applications see them, laid out for the language that unpacks them.
//!
//! This module determines the values that all interfaces inherit from CGI (RFC 3875); each language has a module that
//! encodes them.
//!
//! Fields with an underscore in their names are dropped: `X_User` and `X-User` would be the same variable, and a
//! trusted proxy may vouch for one of them. `Proxy` is dropped, since libraries take HTTP_PROXY for a setting of their
//! own. Fields in which untrusted peers describe the client (X-Forwarded-For and the like) are dropped as well.

mod asgi;
mod client;
mod marshal;
mod php;
mod psgi;
mod rack;
mod variable;
mod wsgi;

use std::{borrow::Cow, fmt::Write, net::SocketAddr};

use serow_gateway::{TrustedProxies, host_and_port};
use serow_message::{
    Headers, KnownHeader, Request, Scheme, User, Version,
    percent::{self, Octet},
};
use smallvec::SmallVec;

use self::client::Client;
use crate::{
    messages::{self, PLAIN, TICKET_LENGTH, WEBSOCKET, WITH_BODY, WITH_FILE, WITH_STREAM},
    pool::Ticket,
    program::Interface,
    request_start,
    settings::ApplicationSettings,
    upload::Upload,
};

/// Encodes a request as a packet. A body in a file is not part of it.
pub(crate) fn encode_request(
    settings: &ApplicationSettings,
    request: &Request,
    upload: &Upload,
    thread: usize,
    ticket: Ticket,
) -> Vec<u8> {
    let mut packet = Vec::with_capacity(1024);
    let kind = match upload {
        Upload::Nothing => PLAIN,
        Upload::Memory(_) => WITH_BODY,
        Upload::File(_) => WITH_FILE,
        Upload::Later => WITH_STREAM,
        Upload::WebSocket => WEBSOCKET,
    };
    messages::write_ticket(kind, thread, ticket, &mut packet);
    let has_length = matches!(kind, WITH_BODY | WITH_FILE);
    if has_length {
        packet.extend_from_slice(b"00000000");
    }
    // Shares the memory of the received target.
    let origin = request.target.clone().into_origin_form(false);
    let facts = Facts::of(request, origin.as_str(), settings, upload);
    match settings.program.interface {
        Interface::Rack => rack::write(&facts, &mut packet),
        Interface::Psgi => psgi::write(&facts, &mut packet),
        Interface::Wsgi => wsgi::write(&facts, &mut packet),
        Interface::Asgi => asgi::write(&facts, upload, &mut packet),
        Interface::PhpWorker => php::write(&facts, &mut packet),
    }
    if has_length {
        let length = packet.len() - TICKET_LENGTH - LENGTH_DIGITS;
        let digits = format!("{length:08}");
        packet[TICKET_LENGTH..TICKET_LENGTH + LENGTH_DIGITS].copy_from_slice(&digits.as_bytes()[..LENGTH_DIGITS]);
    }
    if let Upload::Memory(bytes) = upload {
        packet.extend_from_slice(bytes);
    }
    packet
}

/// The digits before a request with a body: the length of the request without it.
const LENGTH_DIGITS: usize = 8;

/// The values for applications besides the header fields.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) method: &'a str,
    /// Encoded, as it was received, behind the path at which the application is mounted.
    pub(crate) whole_path: Cow<'a, str>,
    /// The path at which the application is mounted.
    pub(crate) script_name: &'a str,
    /// The rest of the path.
    pub(crate) path: &'a str,
    pub(crate) query: &'a str,
    /// Path and query, as received.
    pub(crate) target: &'a str,
    pub(crate) protocol: &'static str,
    pub(crate) scheme: &'static str,
    pub(crate) server_name: &'a str,
    pub(crate) server_port: Port<'a>,
    pub(crate) client: Client,
    pub(crate) content_length: Option<u64>,
    /// The server's address of the client's connection; `None` for unix sockets.
    pub(crate) local: Option<SocketAddr>,
    /// The host, where it is a part of the target.
    pub(crate) authority: Option<&'a str>,
    pub(crate) headers: &'a Headers,
    /// The user whom the server has authenticated.
    pub(crate) user: Option<&'a str>,
    /// Whether X-Request-Start is ours, or of a trusted proxy.
    pub(crate) has_request_start: bool,
    /// Whether a name occurs twice.
    pub(crate) has_repeated: bool,
}

/// Name, which well-known name that is, and value.
type Field<'a> = (&'a [u8], Option<KnownHeader>, &'a [u8]);

/// Browsers send some fifteen; more are allocated.
type Fields<'a> = SmallVec<[Field<'a>; 20]>;

/// A port as text or number, as received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port<'a> {
    Text(&'a str),
    Number(u16),
}

impl<'a> Facts<'a> {
    /// `origin` is the target without scheme and host.
    fn of(request: &'a Request, origin: &'a str, settings: &'a ApplicationSettings, upload: &Upload) -> Self {
        let connection = request.connection();
        let client = Client::of(request, &settings.run.trusted);
        let (scheme, default_port) = match client.scheme {
            Scheme::Http => ("http", 80),
            Scheme::Https => ("https", 443),
        };
        let host = request.host();
        let (server_name, port) = host_and_port(host.unwrap_or_default());
        let local = connection.local();
        let server_port = match (port, host, local) {
            (Some(port), ..) => Port::Text(port),
            (None, None, Some(local)) => Port::Number(local.port()),
            (None, ..) => Port::Number(default_port),
        };
        let MountedPath { whole, root, rest } = MountedPath::of(request.target.path(), &settings.root_path);
        Self {
            method: request.method.as_str(),
            whole_path: whole,
            script_name: root,
            path: rest,
            query: request.target.query().unwrap_or_default(),
            target: origin,
            protocol: match request.version {
                Version::HTTP_10 => "HTTP/1.0",
                Version::HTTP_2 => "HTTP/2",
                Version::HTTP_3 => "HTTP/3",
                _ => "HTTP/1.1",
            },
            scheme,
            server_name: if server_name.is_empty() { "localhost" } else { server_name },
            server_port,
            client,
            // A chunked body has a length by now, because it was buffered.
            content_length: match upload {
                Upload::Nothing => request.headers.contains(KnownHeader::ContentLength).then_some(0),
                _ => Some(upload.length()),
            },
            local,
            authority: request.target.authority(),
            headers: &request.headers,
            user: request.extensions.get::<User>().map(|user| &*user.0),
            has_request_start: settings.request_start,
            has_repeated: has_repeated(&request.headers),
        }
    }

    /// The fields that applications see, each name once. The length of the body is not among them, nor how it was sent.
    fn fields_once(&self) -> Fields<'a> {
        let mut once = Fields::new();
        for field in self.fields() {
            if !self.has_repeated || !once.iter().any(|(other, ..)| other.eq_ignore_ascii_case(field.0)) {
                once.push(field);
            }
        }
        once
    }

    /// The fields that applications see, in order.
    fn fields(&self) -> impl Iterator<Item = Field<'a>> {
        self.received().filter(|(name, known, _)| {
            !matches!(known, Some(KnownHeader::ContentLength | KnownHeader::TransferEncoding))
                && self.is_shown(name, *known)
        })
    }

    /// The fields of the request. A target that names the host takes precedence over `Host` (RFC 9112 §3.2.2, RFC 9113
    /// §8.3.1): the site was selected by it, and applications make links of this field.
    fn received(&self) -> impl Iterator<Item = Field<'a>> {
        let authority = self.authority;
        let host = authority.map(|host| (&b"host"[..], Some(KnownHeader::Host), host.as_bytes()));
        let others = self.headers.iter_known();
        let is_valid = move |known: Option<KnownHeader>| authority.is_none() || known != Some(KnownHeader::Host);
        host.into_iter().chain(others.filter(move |(_, known, _)| is_valid(*known)))
    }

    /// Whether applications see such a field.
    fn is_shown(&self, name: &[u8], known: Option<KnownHeader>) -> bool {
        let is_safe = known.is_some() || !name.contains(&b'_') && !name.eq_ignore_ascii_case(b"proxy");
        let is_ours = || self.has_request_start && name.eq_ignore_ascii_case(request_start::NAME.as_bytes());
        is_safe && (self.client.is_believed || !TrustedProxies::is_client_field(name, known) || is_ours())
    }
}

/// The path of a request to a mounted application.
struct MountedPath<'a> {
    whole: Cow<'a, str>,
    /// SCRIPT_NAME (RFC 3875 §4.1.13).
    root: &'a str,
    /// PATH_INFO (RFC 3875 §4.1.5), encoded.
    rest: &'a str,
}

impl<'a> MountedPath<'a> {
    /// A path that is not below the root comes from a proxy that has removed it: the application is mounted there all
    /// the same, and makes links with it.
    fn of(path: &'a str, root: &'a str) -> Self {
        let is_path = path.starts_with('/');
        match behind_root(path, root) {
            Some(rest) => Self { whole: path.into(), root, rest },
            None if is_path => Self { whole: [root, path].concat().into(), root, rest: path },
            // That of OPTIONS, `*`.
            None => Self { whole: path.into(), root: "", rest: path },
        }
    }
}

/// The part of a path behind a root. As the paths of routes, it is compared decoded, but for encoded slashes.
fn behind_root<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let mut place = 0;
    for expected in root.bytes() {
        place += match percent::decode(path.as_bytes().get(place..)?).next()?.ok()? {
            Octet::Plain(byte) if byte == expected => 1,
            Octet::Encoded(byte) if byte == expected && byte != b'/' => ENCODED,
            Octet::Plain(_) | Octet::Encoded(_) => return None,
        };
    }
    path.get(place..).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Bytes of `%2F`.
const ENCODED: usize = 3;

fn has_repeated(headers: &Headers) -> bool {
    let mut seen = 0_u64;
    let mut unknown: Vec<&[u8]> = Vec::new();
    headers.iter_known().any(|(name, known, _)| match known {
        Some(known) => {
            let bit = 1 << known as u8;
            let again = seen & bit != 0;
            seen |= bit;
            again
        }
        None => {
            let again = unknown.iter().any(|other| other.eq_ignore_ascii_case(name));
            unknown.push(name);
            again
        }
    })
}

/// Writes all values of a field as one (RFC 9110 §5.3; cookies: RFC 6265 §5.4).
fn write_values(facts: &Facts<'_>, (name, known, value): Field<'_>, output: &mut Vec<u8>) {
    // There is one host, which need not be that of the field.
    if !facts.has_repeated || known == Some(KnownHeader::Host) {
        output.extend_from_slice(value);
        return;
    }
    let separator: &[u8] = if known == Some(KnownHeader::Cookie) { b"; " } else { b", " };
    for (place, value) in facts.headers.get_all(name).enumerate() {
        if place > 0 {
            output.extend_from_slice(separator);
        }
        output.extend_from_slice(value);
    }
}

/// Writes a number or an address.
fn write_text(value: impl std::fmt::Display, output: &mut Vec<u8>) {
    let mut text = Text(output);
    // Writing to memory does not fail.
    let _ = write!(text, "{value}");
}

struct Text<'a>(&'a mut Vec<u8>);

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Port<'_> {
    fn write(self, output: &mut Vec<u8>) {
        match self {
            Self::Text(text) => output.extend_from_slice(text.as_bytes()),
            Self::Number(number) => write_text(number, output),
        }
    }
}
