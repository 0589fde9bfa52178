//! Why `serow bench` failed.

use std::{error::Error, fmt, io, path::PathBuf};

use serow_client::{DialError, Origin, OriginError, TlsSettingsError};
use serow_load::{BatchError, Errors, script::ScriptError};

use crate::command_error::CommandError;

/// Why `serow bench` failed.
#[derive(Debug)]
pub(crate) enum BenchError {
    /// The URL is invalid.
    Url(OriginError),
    /// A line of the list of URLs is wrong; its number, and what is wrong.
    UrlLine(PathBuf, usize, String),
    /// A file that an option names cannot be read.
    File(&'static str, PathBuf, io::Error),
    /// The host has no address.
    Host(String, io::Error),
    /// No connection can be opened.
    Connect(String, DialError),
    /// HTTP/3 was asked for, and there can be none.
    Http3,
    /// The TLS settings are invalid.
    Tls(TlsSettingsError),
    /// The request cannot be sent.
    Request(BatchError),
    /// The script cannot be read.
    Script(ScriptError),
    /// Two URLs of the list are of different servers.
    Servers(PathBuf, usize, Box<(Origin, Origin)>),
    /// The system allows fewer descriptors than connections.
    Descriptors {
        /// The number of the command line.
        connections: usize,
        /// The number that the system allows.
        limit: usize,
    },
    /// The run could not go on.
    Run(serow_load::LoadError),
    /// The page cannot be written.
    Page(PathBuf, io::Error),
    /// Requests failed, and that was to be an error.
    Errors(Errors),
}

impl fmt::Display for BenchError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(formatter),
            Self::UrlLine(path, line, problem) => write!(formatter, "{} line {line}: {problem}", path.display()),
            Self::File(option, path, error) => {
                write!(formatter, "{option}: cannot read {}: {error}; name another file", path.display())
            }
            Self::Host(host, error) => write!(formatter, "cannot find the host {host}: {error}; check its spelling"),
            Self::Connect(place, error) => write!(formatter, "cannot connect to {place}: {}", advice(error)),
            Self::Http3 => formatter
                .write_str("--http3 needs an https:// URL and no --unix: QUIC runs over UDP and is always encrypted"),
            Self::Tls(error) => error.fmt(formatter),
            Self::Request(error) => error.fmt(formatter),
            Self::Script(error) => error.fmt(formatter),
            Self::Servers(path, line, servers) => write!(
                formatter,
                "{} line {line}: {} is another server than {}; a run has one",
                path.display(),
                servers.1,
                servers.0
            ),
            Self::Descriptors { connections, limit } => write!(
                formatter,
                "{connections} connections are more than the {limit} open files that the system allows this process; \
                 ask for fewer, or raise the limit: ulimit -n"
            ),
            Self::Run(failure) => failure.fmt(formatter),
            Self::Page(path, error) => {
                write!(formatter, "--html: cannot write {}: {error}; name another file", path.display())
            }
            Self::Errors(errors) => write!(formatter, "{} (--fail-on-error)", kinds(*errors)),
        }
    }
}

/// The error, and a remedy.
fn advice(error: &DialError) -> String {
    match error {
        DialError::Connect(cause) if cause.kind() == io::ErrorKind::ConnectionRefused => {
            "connection refused; is the server running, and listening there?".to_owned()
        }
        DialError::Connect(cause) if cause.kind() == io::ErrorKind::NotFound => {
            "there is no such socket; is the server running, and listening there?".to_owned()
        }
        DialError::Connect(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
            "permission denied; use an account that may write to the socket".to_owned()
        }
        DialError::Certificate(_) => {
            format!("{error}; -k goes on without checking the certificate, --ca FILE trusts another authority")
        }
        DialError::Protocol(_) => format!("{error}; leave out --http2 to speak HTTP/1.1"),
        DialError::NoHttp3 => format!("{error}; leave out --http3 to speak HTTP/1.1"),
        DialError::NoAnswer(_) => {
            format!("{error}; does the server speak HTTP/3 at this port, and do firewalls let UDP through?")
        }
        _ => error.to_string(),
    }
}

/// How many of which kind.
fn kinds(errors: Errors) -> String {
    let kinds = [
        (errors.connect, "could not connect"),
        (errors.read, "ended before the response was whole"),
        (errors.write, "could not be sent"),
        (errors.timeout, "timed out"),
        (errors.protocol, "received a response that is not HTTP"),
        (errors.status, "had a status of 400 or above"),
    ];
    let kinds: Vec<_> =
        kinds.iter().filter(|(count, _)| *count > 0).map(|(count, kind)| format!("{count} {kind}")).collect();
    if kinds.is_empty() {
        "no request was answered".to_owned()
    } else {
        format!("requests failed: {}", kinds.join(", "))
    }
}

impl Error for BenchError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File(_, _, error) | Self::Host(_, error) | Self::Page(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<BenchError> for CommandError {
    fn from(error: BenchError) -> Self {
        Self::Failed(Box::new(error))
    }
}
