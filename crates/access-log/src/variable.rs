//! The variables that a template may name: nginx's variables of requests, which routes have as well, and those that are
//! known once the response is sent.

use std::{collections::BTreeSet, sync::Arc};

use serow_message::{
    AccessNote, CacheStatus, Extensions, LimitStatus, LogFields, RequestHead, RouteNote, Scheme, Served,
};
use serow_variables::{Name as RequestName, Part, Scope, Source, Variable as RequestVariable, near};

use super::{
    append::{attempt_time, boolean, client, decimal, field, number, optional, peer, peer_port},
    attempts,
    date::Date,
    escape, user,
};

/// A value of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    /// A value of the request.
    Request(RequestVariable),
    /// A value of the response, or of how it was sent.
    Named(Name),
    /// A field of the response, by its name in lower case.
    ResponseField(Box<str>),
    /// A field that a script added.
    ScriptField(Box<str>),
    /// A text that is the same for all requests.
    Constant(Box<str>),
    /// Nothing in this place, but in others with the same format.
    Missing,
}

/// Makes the names and their texts from one table.
macro_rules! names {
    ($($name:ident: $text:literal;)*) => {
        /// A value with a name of its own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name {
            $($name,)*
        }

        /// Each name with its text.
        const NAMES: &[(&str, Name)] = &[$(($text, Name::$name),)*];
    };
}

names! {
    PeerAddress: "realip_remote_addr";
    PeerPort: "realip_remote_port";
    TimeLocal: "time_local";
    TimeIso8601: "time_iso8601";
    Seconds: "msec";
    Status: "status";
    BodyBytesSent: "body_bytes_sent";
    BytesSent: "bytes_sent";
    RequestLength: "request_length";
    RequestTime: "request_time";
    UpstreamAddress: "upstream_addr";
    UpstreamStatus: "upstream_status";
    UpstreamResponseTime: "upstream_response_time";
    UpstreamConnectTime: "upstream_connect_time";
    UpstreamHeaderTime: "upstream_header_time";
    UpstreamQueueTime: "upstream_queue_time";
    UpstreamCacheStatus: "upstream_cache_status";
    Connection: "connection";
    ConnectionRequests: "connection_requests";
    Http2Stream: "http2_stream";
    Urgency: "urgency";
    Incremental: "incremental";
    RequestCompletion: "request_completion";
    Limit: "limit_name";
    LimitOutcome: "limit_status";
    Whole: "whole";
}

/// Names that have a value in other places with the same format, as the groups of a route among several; here they are
/// dashes.
#[derive(Clone, Copy, Debug)]
pub enum OtherNames<'a> {
    /// None.
    Nothing,
    /// These.
    Only(&'a BTreeSet<String>),
    /// Any name.
    Any,
}

impl<'a> OtherNames<'a> {
    fn contain(self, written: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Only(names) => names.contains(written) || names.contains(&written.to_ascii_lowercase()),
            Self::Any => true,
        }
    }

    /// The names, for suggestions.
    fn names(self) -> impl Iterator<Item = &'a str> {
        let names = match self {
            Self::Only(names) => Some(names),
            Self::Nothing | Self::Any => None,
        };
        names
            .into_iter()
            .flatten()
            .map(String::as_str)
            .filter(|name| !name.starts_with(|first: char| first.is_ascii_digit()))
    }
}

/// Why a name is none of a variable: what to say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unknown(pub(super) String);

impl Variable {
    /// Finds a variable by what stands behind the `$`: what a request has in this scope. Names of other places
    /// have no value here.
    pub(super) fn find(written: &str, scope: &Scope, others: OtherNames<'_>) -> Result<Self, Unknown> {
        let name = written.to_ascii_lowercase();
        if let Some((_, name)) = NAMES.iter().find(|(text, _)| *text == name) {
            return Ok(Self::Named(*name));
        }
        if let Some(name) = name.strip_prefix(RESPONSE_FIELDS).filter(|name| !name.is_empty()) {
            return match name.replace('_', "-") {
                name if ADDED.contains(&&*name) => {
                    Err(Unknown(format!("${written} is not known to the log, since {name} is added when all is sent")))
                }
                name => Ok(Self::ResponseField(name.into())),
            };
        }
        if let Some(name) = name.strip_prefix(SCRIPT_FIELDS).filter(|name| !name.is_empty()) {
            return Ok(Self::ScriptField(name.into()));
        }
        match scope.find(written) {
            Ok(Part::Variable(variable)) => Ok(Self::Request(variable)),
            Ok(Part::Text(text)) => Ok(Self::Constant(text)),
            Err(_) if others.contain(written) => Ok(Self::Missing),
            Err(error) if written.starts_with(|first: char| first.is_ascii_digit()) => Err(Unknown(error.to_string())),
            Err(_) => {
                let names = NAMES.iter().map(|(text, _)| *text).chain(scope.names()).chain(others.names());
                Err(Unknown(match near(&name, names) {
                    Some(near) => format!("there is no ${written}; did you mean ${near}?"),
                    None => format!("there is no ${written}; docs/logs.md has the names"),
                }))
            }
        }
    }

    /// Whether it needs the response's head.
    pub(super) fn reads_response(&self) -> bool {
        let is_of_response =
            matches!(self, Self::ResponseField(_) | Self::ScriptField(_) | Self::Named(Name::UpstreamCacheStatus));
        is_of_response || self.reads_attempts()
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
                    | Name::UpstreamQueueTime
            ),
            Self::Request(_) | Self::ResponseField(_) | Self::ScriptField(_) | Self::Constant(_) | Self::Missing => {
                false
            }
        }
    }

    /// Whether it has a value in other places only.
    pub(super) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }

    /// Whether it needs what the path of the route matched.
    pub(super) fn reads_captures(&self) -> bool {
        matches!(self, Self::Request(variable) if variable.is_capture())
    }

    /// Appends the value; a dash where there is none.
    pub(super) fn write(&self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        match self {
            Self::Named(name) => name.write(served, date, line),
            Self::Request(variable) => write_of_request(variable, served, line),
            Self::ResponseField(name) => field(served.response, name, line),
            Self::ScriptField(name) => match served.extensions.and_then(|all| all.get::<LogFields>()?.get(name)) {
                Some(text) => escape::text(text.as_bytes(), line),
                None => line.push(b'-'),
            },
            Self::Constant(text) => escape::text(text.as_bytes(), line),
            Self::Missing => line.push(b'-'),
        }
    }
}

impl Name {
    fn write(self, served: &Served<'_>, date: &mut Date, line: &mut Vec<u8>) {
        match self {
            Self::PeerAddress => peer(served, line),
            Self::PeerPort => peer_port(served, line),
            Self::TimeLocal => line.extend_from_slice(date.common(served.began)),
            Self::TimeIso8601 => {
                line.extend_from_slice(date.rfc_3339(served.began).0);
                line.extend_from_slice(b"+00:00");
            }
            Self::Seconds => {
                let (seconds, milliseconds) = date.unix(served.began);
                decimal(seconds, milliseconds, line);
            }
            Self::Status => line.extend_from_slice(served.status.as_str().as_bytes()),
            Self::BodyBytesSent => number(served.body_bytes, line),
            Self::BytesSent => number(served.head_bytes + served.body_bytes, line),
            Self::RequestLength => match served.request {
                Some(head) => number(head_length(head) + served.request_body_bytes, line),
                None => line.push(b'-'),
            },
            Self::RequestTime => decimal(served.took.as_secs(), served.took.subsec_millis(), line),
            Self::UpstreamAddress => attempts::write(served, line, attempts::server),
            Self::UpstreamStatus => attempts::write(served, line, attempts::status),
            Self::UpstreamResponseTime => attempt_time(served, line, |attempt| attempt.response_time),
            Self::UpstreamConnectTime => attempt_time(served, line, |attempt| attempt.connect_time),
            Self::UpstreamHeaderTime => attempt_time(served, line, |attempt| attempt.header_time),
            Self::UpstreamQueueTime => attempt_time(served, line, |attempt| attempt.queue_time),
            Self::UpstreamCacheStatus => match served.extensions.and_then(Extensions::get::<CacheStatus>) {
                Some(status) => line.extend_from_slice(status.nginx_word().as_bytes()),
                None => line.push(b'-'),
            },
            Self::Connection => number(served.connection_number, line),
            Self::ConnectionRequests => number(served.request_number, line),
            Self::Http2Stream => optional(served.stream.map(|stream| stream.number), line),
            Self::Urgency => optional(served.stream.map(|stream| stream.priority.urgency), line),
            Self::Incremental => match served.stream {
                Some(stream) => line.extend_from_slice(boolean(stream.priority.incremental)),
                None => line.push(b'-'),
            },
            Self::RequestCompletion => line.extend_from_slice(if served.whole { b"OK" } else { b"-" }),
            Self::Limit => limit(served, line, |(name, _)| name),
            Self::LimitOutcome => limit(served, line, |(_, status)| status.name()),
            Self::Whole => line.extend_from_slice(boolean(served.whole)),
        }
    }
}

/// Bytes of a head as HTTP/1.1 writes it, whichever version has carried it: compressed heads of HTTP/2 say nothing about the
/// request.
fn head_length(head: &RequestHead) -> u64 {
    let line = head.method.as_str().len() + head.target.as_str().len() + "  HTTP/1.1\r\n".len();
    let fields = head.headers.iter_known().map(|(name, _, value)| name.len() + value.len() + ": \r\n".len());
    (line + fields.sum::<usize>() + "\r\n".len()) as u64
}

/// Appends what the strictest limit of the request says; a dash without a limit.
fn limit(served: &Served<'_>, line: &mut Vec<u8>, value: impl FnOnce(&(Arc<str>, LimitStatus)) -> &str) {
    let append = |access: &AccessNote| match &access.limit {
        Some(limit) => line.extend_from_slice(value(limit).as_bytes()),
        None => line.push(b'-'),
    };
    match served.note {
        Some(note) => note.with_access(append),
        None => append(&AccessNote::default()),
    }
}

/// Appends a value of the request, escaped.
fn write_of_request(variable: &RequestVariable, served: &Served<'_>, line: &mut Vec<u8>) {
    // A trusted proxy names the client and its scheme, but not its port.
    match variable {
        RequestVariable::Named(name @ (RequestName::Scheme | RequestName::Https)) => match served.client_scheme {
            Some(Scheme::Https) if *name == RequestName::Scheme => return line.extend_from_slice(b"https"),
            Some(Scheme::Https) => return line.extend_from_slice(b"on"),
            Some(Scheme::Http) if *name == RequestName::Scheme => return line.extend_from_slice(b"http"),
            Some(Scheme::Http) => return line.push(b'-'),
            None => {}
        },
        RequestVariable::Named(RequestName::RemoteAddress) if served.client.is_some() => return client(served, line),
        RequestVariable::Named(RequestName::RemoteUser) => {
            return user::write(served, line);
        }
        RequestVariable::Named(RequestName::RemotePort) if served.client.is_some() => return line.push(b'-'),
        _ => {}
    }
    let claims = match variable {
        RequestVariable::Claim(_) => served.note.and_then(RouteNote::claims),
        _ => None,
    };
    let start = line.len();
    let found = match served.request {
        _ if variable.is_capture() => append_capture(variable, served, line),
        Some(head) => {
            let id = served.note.and_then(RouteNote::id);
            let source = Source { claims: claims.as_ref(), id, ..Source::of_head(head, served.connection) };
            variable.append(&source, line)
        }
        // Bytes that did not become a request have a connection all the same.
        None => match variable {
            RequestVariable::Named(name) => name.append_of_connection(served.connection, line),
            _ => false,
        },
    };
    match found {
        true => escape::behind(start, false, line),
        false => line.push(b'-'),
    }
}

/// Appends what the path of the route matched.
fn append_capture(variable: &RequestVariable, served: &Served<'_>, line: &mut Vec<u8>) -> bool {
    let (RequestVariable::Capture(number), Some(note)) = (variable, served.note) else { return false };
    note.with_captures(|captures| match captures.get(*number) {
        Some(capture) if !capture.is_empty() => {
            line.extend_from_slice(capture);
            true
        }
        _ => false,
    })
}

const RESPONSE_FIELDS: &str = "sent_http_";

const SCRIPT_FIELDS: &str = "script_";

/// Fields of a response that no handler sets.
const ADDED: [&str; 5] = ["date", "content-length", "connection", "transfer-encoding", "keep-alive"];

#[cfg(test)]
mod tests {
    use serow_variables::LOG_ONLY;

    use super::NAMES;

    #[test]
    fn texts_elsewhere_know_the_names_of_the_log() {
        let names = NAMES.iter().map(|(name, _)| *name).filter(|name| !name.starts_with("upstream_"));
        assert_eq!(names.collect::<Vec<_>>(), LOG_ONLY);
    }
}
