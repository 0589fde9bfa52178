//! The names of variables and their values. The access log has these, and more that are known once all is sent.

use std::io::Write;

use serow_message::{Connection, Encryption, HandshakeStage, KnownHeader, Peer, RequestId, Scheme, Version};

use crate::{source::Source, values};

/// Makes the names and their texts from one table.
macro_rules! names {
    ($($(#[$documentation:meta])* $name:ident: $text:literal $($other:literal)?;)*) => {
        /// A value of a request with a name of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Name {
            $($(#[$documentation])* $name,)*
        }

        /// Each name with its text; some have two.
        const NAMES: &[(&str, Name)] = &[$(($text, Name::$name), $(($other, Name::$name),)?)*];
    };
}

names! {
    /// The address of the client.
    RemoteAddress: "remote_addr";
    /// The port of the client.
    RemotePort: "remote_port";
    /// The user of Basic authentication, unchecked.
    RemoteUser: "remote_user";
    /// The request line.
    Request: "request";
    /// The method.
    RequestMethod: "request_method";
    /// The target, as it came.
    RequestUri: "request_uri";
    /// The path.
    Uri: "uri" "document_uri";
    /// The query.
    Arguments: "args" "query_string";
    /// The id of the request: 32 hexadecimal digits.
    RequestId: "request_id";
    /// A question mark, if there is a query.
    IsArguments: "is_args";
    /// The version of HTTP.
    ServerProtocol: "server_protocol";
    /// The address that the client connected to.
    ServerAddress: "server_addr";
    /// The port that the client connected to.
    ServerPort: "server_port";
    /// The size of the request's body, as the client gives it.
    ContentLength: "content_length";
    /// The media type of the request's body.
    ContentType: "content_type";
    /// `h2` over HTTP/2 with TLS, `h2c` without TLS, nothing over HTTP/1.
    Http2: "http2";
    /// `h3` over HTTP/3, nothing over others.
    Http3: "http3";
    /// http or https.
    Scheme: "scheme";
    /// `on` with TLS, nothing without.
    Https: "https";
    /// The host without its port and without a dot at its end, in lower case.
    Host: "host";
    /// The version of TLS.
    TlsProtocol: "ssl_protocol";
    /// The cipher suite.
    TlsCipher: "ssl_cipher";
    /// The name that the client sent in the TLS handshake.
    TlsHost: "ssl_server_name";
    /// `1` for a request in early data (0-RTT), nothing after the handshake.
    TlsEarlyData: "ssl_early_data";
}

impl Name {
    /// The name with this text, which is in lower case. Once `$request_id` is found, requests get an id.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let name = NAMES.iter().find(|(name, _)| *name == text).map(|(_, name)| *name)?;
        if name == Self::RequestId {
            RequestId::want();
        }
        Some(name)
    }

    /// All names.
    pub fn all() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Appends the value as it came, without any escaping; `false` if there is none.
    pub fn append(self, source: &Source<'_>, output: &mut Vec<u8>) -> bool {
        let mut text = |text: Option<&[u8]>| {
            output.extend_from_slice(text.unwrap_or_default());
            text.is_some()
        };
        match self {
            Self::RequestMethod => text(Some(source.method.as_str().as_bytes())),
            Self::RequestUri => text(Some(source.target.as_str().as_bytes())),
            Self::Uri => text(Some(source.path)),
            Self::Arguments => text(query(source).map(str::as_bytes)),
            Self::IsArguments => text(query(source).map(|_| &b"?"[..])),
            Self::ServerProtocol => text(Some(values::version(source.version).as_bytes())),
            Self::ContentLength => text(source.headers.get(KnownHeader::ContentLength)),
            Self::ContentType => text(source.headers.get(KnownHeader::ContentType)),
            Self::Http2 => text(http2(source).map(str::as_bytes)),
            Self::Http3 => text((source.version == Version::HTTP_3).then_some(b"h3")),
            Self::RemoteUser => match source.user {
                Some(user) => {
                    output.extend_from_slice(user.0.as_bytes());
                    true
                }
                None => values::append_user(source.headers, output),
            },
            Self::Request => {
                request_line(source, output);
                true
            }
            Self::Host => {
                let host = values::host(source.target, source.headers);
                output.extend(host.unwrap_or_default().iter().map(u8::to_ascii_lowercase));
                host.is_some()
            }
            Self::RemoteAddress => {
                values::append_client(source.peer(), output);
                true
            }
            Self::RemotePort => port(remote_port(source.peer()), output),
            Self::RequestId => {
                // Writing to memory does not fail.
                source.id.is_some_and(|id| write!(output, "{id}").is_ok())
            }
            Self::Scheme => text(Some(scheme(source.scheme()).as_bytes())),
            Self::Https => text(https(source.scheme())),
            of_connection => of_connection.append_of_connection(source.connection, output),
        }
    }

    /// The same of a connection alone, for the log of bytes that did not become a request.
    pub fn append_of_connection(self, connection: &Connection, output: &mut Vec<u8>) -> bool {
        let tls = connection.encryption();
        let mut text = |text: Option<&[u8]>| {
            output.extend_from_slice(text.unwrap_or_default());
            text.is_some()
        };
        match self {
            Self::Scheme => text(Some(scheme(connection.scheme()).as_bytes())),
            Self::Https => text(https(connection.scheme())),
            Self::TlsProtocol => text(tls.map(|tls| tls.version.as_bytes())),
            Self::TlsCipher => text(tls.map(|tls| tls.cipher_suite.as_bytes())),
            Self::TlsHost => text(tls.and_then(server_name)),
            Self::TlsEarlyData => text(tls.and_then(early_data)),
            Self::RemoteAddress => {
                values::append_client(connection.peer(), output);
                true
            }
            Self::ServerAddress => {
                values::append_server(connection.local(), output);
                true
            }
            Self::RemotePort => port(remote_port(connection.peer()), output),
            Self::ServerPort => port(connection.local().map(|address| address.port()), output),
            _ => false,
        }
    }
}

/// As in nginx, a question mark with nothing behind it begins no query.
fn query<'a>(source: &Source<'a>) -> Option<&'a str> {
    source.query.filter(|query| !query.is_empty())
}

fn http2(source: &Source<'_>) -> Option<&'static str> {
    (source.version == Version::HTTP_2).then(|| match source.connection.scheme() {
        Scheme::Https => "h2",
        Scheme::Http => "h2c",
    })
}

fn scheme(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    }
}

fn https(scheme: Scheme) -> Option<&'static [u8]> {
    (scheme == Scheme::Https).then_some(b"on")
}

fn server_name(tls: &Encryption) -> Option<&[u8]> {
    tls.server_name.as_deref().map(str::as_bytes)
}

fn early_data(tls: &Encryption) -> Option<&[u8]> {
    (tls.stage == HandshakeStage::EarlyData).then_some(b"1")
}

/// The port of the client; proxies do not name it.
fn remote_port(peer: Peer) -> Option<u16> {
    match peer {
        Peer::Tcp(address) => Some(address.port()).filter(|port| *port != 0),
        Peer::Unix => None,
    }
}

fn port(port: Option<u16>, output: &mut Vec<u8>) -> bool {
    if let Some(port) = port {
        output.extend_from_slice(itoa::Buffer::new().format(port).as_bytes());
    }
    port.is_some()
}

fn request_line(source: &Source<'_>, output: &mut Vec<u8>) {
    let version = values::version(source.version);
    for (number, part) in [source.method.as_str(), source.target.as_str(), version].into_iter().enumerate() {
        if number > 0 {
            output.push(b' ');
        }
        output.extend_from_slice(part.as_bytes());
    }
}

/// Names with a part of their own: that of a field, a cookie, an argument of the query, a claim of a token.
#[derive(Clone, Copy)]
pub(crate) enum NameFamily {
    Field,
    Cookie,
    Argument,
    Claim,
}

impl NameFamily {
    /// The family of a name in lower case, and its part, which is not empty.
    pub(crate) fn split(name: &str) -> Option<(Self, &str)> {
        let families =
            [("http_", Self::Field), ("cookie_", Self::Cookie), ("arg_", Self::Argument), ("jwt_claim_", Self::Claim)];
        let split = families.into_iter().find_map(|(prefix, family)| Some((family, name.strip_prefix(prefix)?)));
        split.filter(|(_, part)| !part.is_empty())
    }
}
