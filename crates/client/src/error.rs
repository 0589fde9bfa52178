//! Why a connection is of no more use.

use std::{error::Error, fmt, io};

/// Why a connection is of no more use.
#[derive(Debug)]
pub enum ClientError {
    /// It failed while something was received.
    Lost(io::Error),
    /// It failed while something was sent.
    Unsent(io::Error),
    /// The server closed it; where a response was due, before that was whole.
    Closed,
    /// The server's side of TLS ended without the alert that says so, so that a response which lasts until
    /// then may be cut off (RFC 9112 §9.8).
    Truncated,
    /// The server broke the rules of HTTP/1.1.
    Http1(serow_http1::ProtocolError),
    /// The server broke the rules of HTTP/2.
    Http2(serow_http2::ProtocolError),
}

impl From<serow_http1::ProtocolError> for ClientError {
    fn from(error: serow_http1::ProtocolError) -> Self {
        // A message that the end of the connection cut off.
        if error == serow_http1::ProtocolError::Incomplete { Self::Closed } else { Self::Http1(error) }
    }
}

impl From<serow_http2::ProtocolError> for ClientError {
    fn from(error: serow_http2::ProtocolError) -> Self {
        Self::Http2(error)
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(formatter, "nothing more can be received: {error}"),
            Self::Unsent(error) => write!(formatter, "nothing more can be sent: {error}"),
            Self::Closed => formatter.write_str("the server closed the connection"),
            Self::Truncated => {
                formatter.write_str("the server ended TLS without close_notify: the response may be cut off")
            }
            Self::Http1(error) => write!(formatter, "the server does not keep to HTTP/1.1: {error}"),
            Self::Http2(error) => write!(formatter, "the server does not keep to HTTP/2: {error}"),
        }
    }
}

impl Error for ClientError {}
