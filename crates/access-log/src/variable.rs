//! What a template may name: nginx's variables as far as they mean something here, and a few of our own.

use serow::{Scheme, Served};

use super::{
    append::{
        attempt_time, boolean, client, client_port, decimal, encryption, field, host, number, optional, peer,
        peer_port, request_line, server_address, text, version,
    },
    attempts,
    date::Date,
    user,
};

/// A value of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Named(Name),
    /// A field of the request, and of the response, by its name in lower case.
    RequestField(Box<str>),
    ResponseField(Box<str>),
}

/// Makes the names and their texts from one table.
macro_rules! names {
    ($($name:ident: $text:literal $($other:literal)?;)*) => {
        /// A value with a name of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name {
            $($name,)*
        }

        /// Each name with its text; some have two.
        const NAMES: &[(&str, Name)] = &[$(($text, Name::$name), $(($other, Name::$name),)?)*];
    };
}

names! {
    RemoteAddress: "remote_addr";
    RemotePort: "remote_port";
    PeerAddress: "realip_remote_addr";
    PeerPort: "realip_remote_port";
    RemoteUser: "remote_user";
    TimeLocal: "time_local";
    TimeIso8601: "time_iso8601";
    Seconds: "msec";
    Request: "request";
    RequestMethod: "request_method";
    RequestUri: "request_uri";
    Uri: "uri";
    Arguments: "args" "query_string";
    ServerProtocol: "server_protocol";
    ServerAddress: "server_addr";
    ServerPort: "server_port";
    Scheme: "scheme";
    Host: "host";
    Status: "status";
    BodyBytesSent: "body_bytes_sent";
    BytesSent: "bytes_sent";
    RequestTime: "request_time";
    UpstreamAddress: "upstream_addr";
    UpstreamStatus: "upstream_status";
    UpstreamResponseTime: "upstream_response_time";
    UpstreamConnectTime: "upstream_connect_time";
    UpstreamHeaderTime: "upstream_header_time";
    Connection: "connection";
    ConnectionRequests: "connection_requests";
    TlsProtocol: "ssl_protocol";
    TlsCipher: "ssl_cipher";
    TlsHost: "ssl_server_name";
    Http2Stream: "http2_stream";
    Urgency: "urgency";
    Incremental: "incremental";
    Whole: "whole";
}

/// Why a name is none of a variable: what to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown(pub(super) String);

impl Variable {
    /// Finds a variable by what stands behind the `$`.
    pub(super) fn find(written: &str) -> Result<Self, Unknown> {
        let name = written.to_ascii_lowercase();
        if let Some((_, name)) = NAMES.iter().find(|(text, _)| *text == name) {
            return Ok(Self::Named(*name));
        }
        let field = |name: &str| name.replace('_', "-").into_boxed_str();
        if let Some(name) = name.strip_prefix(RESPONSE_FIELDS).filter(|name| !name.is_empty()) {
            return match field(name) {
                name if ADDED.contains(&&*name) => {
                    Err(Unknown(format!("${written} is not known to the log, since {name} is added when all is sent")))
                }
                name => Ok(Self::ResponseField(name)),
            };
        }
        match name.strip_prefix(REQUEST_FIELDS).filter(|name| !name.is_empty()) {
            Some(name) => Ok(Self::RequestField(field(name))),
            None => Err(Unknown(match near(&name, NAMES.iter().map(|(text, _)| *text)) {
                Some(near) => format!("there is no ${written}; did you mean ${near}?"),
                None => format!("there is no ${written}; docs/logs.md has the names"),
            })),
        }
    }

    /// Whether it needs the response's head.
    pub(super) fn reads_response(&self) -> bool {
        matches!(self, Self::ResponseField(_)) || self.reads_attempts()
    }

    /// Whether it needs the attempts on upstream servers.
    pub(super) fn reads_attempts(&self) -> bool {
        match self {
            Self::Named(name) => matches!(
                name,
                Name::UpstreamAddress
                    | Name::UpstreamStatus
                    | Name::UpstreamResponseTime
                    | Name::UpstreamConnectTime
                    | Name::UpstreamHeaderTime
            ),
            Self::RequestField(_) | Self::ResponseField(_) => false,
        }
    }

    /// Appends the value; a dash where there is none.
    pub(super) fn write(&self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        match self {
            Self::Named(name) => name.write(served, date, line),
            Self::RequestField(name) => field(served.request.map(|request| &request.headers), name, line),
            Self::ResponseField(name) => field(served.response, name, line),
        }
    }
}

impl Name {
    fn write(self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        match self {
            Self::RemoteAddress => client(served, line),
            Self::RemotePort => client_port(served, line),
            Self::PeerAddress => peer(served, line),
            Self::PeerPort => peer_port(served, line),
            Self::RemoteUser => user::write(served.request.map(|request| &request.headers), line),
            Self::TimeLocal => line.extend_from_slice(date.common(served.began)),
            Self::TimeIso8601 => {
                line.extend_from_slice(date.rfc_3339(served.began).0);
                line.extend_from_slice(b"+00:00");
            }
            Self::Seconds => {
                let (seconds, milliseconds) = date.unix(served.began);
                decimal(seconds, milliseconds, line);
            }
            Self::Request => request_line(served, line),
            Self::RequestMethod => text(served.request.map(|request| request.method.as_str()), line),
            Self::RequestUri => text(served.request.map(|request| request.target.as_str()), line),
            Self::Uri => text(served.request.map(|request| request.target.path()), line),
            // As in nginx, a question mark with nothing behind it begins none.
            Self::Arguments => {
                let query = served.request.and_then(|request| request.target.query());
                text(query.filter(|query| !query.is_empty()), line);
            }
            Self::ServerProtocol => text(served.request.map(|request| version(request.version)), line),
            Self::ServerAddress => server_address(served, line),
            Self::ServerPort => optional(served.connection.local().map(|address| address.port()), line),
            Self::Scheme => line.extend_from_slice(match served.connection.scheme() {
                Scheme::Http => b"http",
                Scheme::Https => b"https",
            }),
            Self::Host => host(served.request, line),
            Self::Status => line.extend_from_slice(served.status.as_str().as_bytes()),
            Self::BodyBytesSent => number(served.body_bytes, line),
            Self::BytesSent => number(served.head_bytes + served.body_bytes, line),
            Self::RequestTime => decimal(served.took.as_secs(), served.took.subsec_millis(), line),
            Self::UpstreamAddress => attempts::write(served, line, attempts::server),
            Self::UpstreamStatus => attempts::write(served, line, attempts::status),
            Self::UpstreamResponseTime => attempt_time(served, line, |attempt| attempt.response_time),
            Self::UpstreamConnectTime => attempt_time(served, line, |attempt| attempt.connect_time),
            Self::UpstreamHeaderTime => attempt_time(served, line, |attempt| attempt.header_time),
            Self::Connection => number(served.connection_number, line),
            Self::ConnectionRequests => number(served.request_number, line),
            Self::TlsProtocol => text(encryption(served).map(|tls| tls.version), line),
            Self::TlsCipher => text(encryption(served).map(|tls| tls.cipher_suite), line),
            Self::TlsHost => text(encryption(served).and_then(|tls| tls.server_name.as_deref()), line),
            Self::Http2Stream => optional(served.stream.map(|stream| stream.number), line),
            Self::Urgency => optional(served.stream.map(|stream| stream.priority.urgency), line),
            Self::Incremental => match served.stream {
                Some(stream) => line.extend_from_slice(boolean(stream.priority.incremental)),
                None => line.push(b'-'),
            },
            Self::Whole => line.extend_from_slice(boolean(served.whole)),
        }
    }
}

/// The name that was meant, if one is near.
pub(super) fn near<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.map(|name| (strsim::osa_distance(written, name), name));
    distances.filter(|(distance, _)| *distance <= SLIPS).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

const REQUEST_FIELDS: &str = "http_";
const RESPONSE_FIELDS: &str = "sent_http_";

/// Fields of a response that no handler sets.
const ADDED: [&str; 5] = ["date", "content-length", "connection", "transfer-encoding", "keep-alive"];

/// Letters that are wrong, missing, too many or in the wrong order: with three, nginx's other variables would be taken
/// for ours.
const SLIPS: usize = 2;
