//! Errors of FastCGI's peers and of lists of variables.

use alloc::string::{String, ToString};
use core::{error::Error, fmt};

use crate::{ProtocolStatus, RecordType};

/// The peer violated FastCGI: the application's fault where [`WebServer`](crate::WebServer) returns it, the web server's
/// where [`Application`](crate::Application) does. The connection has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// A record has this version instead of 1: the peer does not speak FastCGI.
    Version(u8),
    /// A record has this type, which is unknown, or must not come here or from this role.
    UnexpectedRecord(u8),
    /// A record belongs to the request with this id, which was not sent over this connection.
    OtherRequest(u16),
    /// A record of this type has a content of another length than it must have.
    RecordLength(u8),
    /// A name-value pair is malformed, or its name is not that of a variable.
    Pair,
    /// The variables of a request are longer than the application allows.
    ParamsTooLong,
    /// The application has refused the request (FastCGI 1.0 §5.5).
    Refused(ProtocolStatus),
    /// Bytes came after the end of the request.
    AfterEnd,
    /// The connection ended before the request did: as after a crash of the application.
    Incomplete,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Version(version) => {
                write!(formatter, "the peer sent a record of version {version}; does it speak FastCGI?")
            }
            Self::UnexpectedRecord(number) => match RecordType::of_number(number) {
                Some(known) => write!(formatter, "the peer sent an unexpected FastCGI record ({known:?})"),
                None => write!(formatter, "the peer sent a FastCGI record of the unknown type {number}"),
            },
            Self::OtherRequest(id) => write!(formatter, "the peer sent a FastCGI record of another request ({id})"),
            Self::RecordLength(number) => {
                write!(formatter, "the peer sent a FastCGI record of type {number} with an invalid length")
            }
            Self::Pair => formatter.write_str("the peer sent a malformed FastCGI name-value pair"),
            Self::ParamsTooLong => formatter.write_str("the variables of the FastCGI request are too long"),
            Self::Refused(status) => write!(formatter, "the application refused the FastCGI request: {status}"),
            Self::AfterEnd => formatter.write_str("the peer sent bytes after the end of the FastCGI request"),
            Self::Incomplete => formatter.write_str("the connection closed before the end of the FastCGI request"),
        }
    }
}

impl Error for ProtocolError {}

/// A request cannot be sent to an application, because of its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariablesError {
    /// This is not the name of a variable: it is empty, or has a `=`.
    Name(String),
    /// The name or the value of this variable has a NUL byte. A client that sent it receives 400.
    Nul(String),
    /// This variable is longer than [`MAX_PAIR_LENGTH`](crate::MAX_PAIR_LENGTH). A client that sent it receives 431.
    TooLong {
        /// The name.
        name: String,
        /// Bytes of name, value and their lengths.
        length: usize,
    },
    /// All variables together have so many bytes, more than a uwsgi packet has room for. The client receives 431.
    PacketTooLong(usize),
}

impl VariablesError {
    pub(crate) fn name(name: &[u8]) -> Self {
        Self::Name(excerpt(name))
    }

    pub(crate) fn nul(name: &[u8]) -> Self {
        Self::Nul(excerpt(name))
    }

    pub(crate) fn too_long(name: &[u8], length: usize) -> Self {
        Self::TooLong { name: excerpt(name), length }
    }
}

/// The beginning of a name, as it can be logged.
fn excerpt(name: &[u8]) -> String {
    name[..name.len().min(MAX_EXCERPT)].escape_ascii().to_string()
}

/// A client may choose names as long as a head, which would fill logs.
const MAX_EXCERPT: usize = 64;

impl fmt::Display for VariablesError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "`{name}` is not the name of a CGI variable"),
            Self::Nul(name) => write!(formatter, "the CGI variable {name} has a NUL byte"),
            Self::TooLong { name, length } => {
                write!(formatter, "the CGI variable {name} has {length} bytes, too many for a FastCGI record")
            }
            Self::PacketTooLong(length) => {
                write!(formatter, "the CGI variables have {length} bytes, too many for a uwsgi packet")
            }
        }
    }
}

impl Error for VariablesError {}
