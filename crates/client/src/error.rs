//! The error of a connection that cannot be used any more.

use std::{error::Error, fmt, io};

/// The error of a connection that cannot be used any more.
#[derive(Debug)]
pub enum ClientError {
    /// Receiving failed.
    Lost(io::Error),
    /// Sending failed.
    Unsent(io::Error),
    /// The server closed the connection; if a response was due, before it was complete.
    Closed,
    /// The server closed the connection without close_notify, so that a response delimited by the end of the connection
    /// may be truncated (RFC 9112 §9.8).
    Truncated,
    /// The server violated HTTP/1.1.
    Http1(serow_http1::ProtocolError),
    /// The server violated HTTP/2.
    Http2(serow_http2::ProtocolError),
    /// The server violated HTTP/3.
    Http3(serow_http3::ProtocolError),
    /// The server violated FastCGI.
    Fastcgi(serow_fastcgi::ProtocolError),
    /// The response of a script is not one.
    Cgi(serow_fastcgi::CgiError),
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

impl From<serow_fastcgi::ProtocolError> for ClientError {
    fn from(error: serow_fastcgi::ProtocolError) -> Self {
        if error == serow_fastcgi::ProtocolError::Incomplete { Self::Closed } else { Self::Fastcgi(error) }
    }
}

impl From<serow_fastcgi::CgiError> for ClientError {
    fn from(error: serow_fastcgi::CgiError) -> Self {
        Self::Cgi(error)
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(formatter, "receiving failed: {error}"),
            Self::Unsent(error) => write!(formatter, "sending failed: {error}"),
            Self::Closed => formatter.write_str("the server closed the connection"),
            Self::Truncated => {
                formatter.write_str("the server ended TLS without close_notify: the response may be truncated")
            }
            Self::Http1(error) => write!(formatter, "the server violates HTTP/1.1: {error}"),
            Self::Http2(error) => write!(formatter, "the server violates HTTP/2: {error}"),
            Self::Http3(error) => write!(formatter, "the server violates HTTP/3: {error}"),
            Self::Fastcgi(error) => write!(formatter, "the server violates FastCGI: {error}"),
            Self::Cgi(error) => error.fmt(formatter),
        }
    }
}

impl Error for ClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Lost(error) | Self::Unsent(error) => Some(error),
            Self::Http1(error) => Some(error),
            Self::Http2(error) => Some(error),
            Self::Http3(error) => Some(error),
            Self::Fastcgi(error) => Some(error),
            Self::Cgi(error) => Some(error),
            Self::Closed | Self::Truncated => None,
        }
    }
}
