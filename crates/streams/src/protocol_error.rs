//! The error of a peer that violates the protocol.

use core::fmt;

use crate::StreamId;

/// The peer violated the protocol; `Code` is the type of error codes of the version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError<Code> {
    /// It ends the connection (RFC 9113 §5.4.1, RFC 9114 §8).
    Connection {
        /// For GOAWAY or CONNECTION_CLOSE.
        code: Code,
        /// For the log, GOAWAY's debug data, and the reason phrase of CONNECTION_CLOSE.
        reason: &'static str,
    },
    /// It ends one stream (RFC 9113 §5.4.2, RFC 9114 §8).
    Stream {
        /// Which.
        stream: StreamId,
        /// For RST_STREAM, or RESET_STREAM and STOP_SENDING.
        code: Code,
        /// For the log.
        reason: &'static str,
    },
}

impl<Code> ProtocolError<Code> {
    /// One that ends the connection.
    #[inline]
    pub const fn new(code: Code, reason: &'static str) -> Self {
        Self::Connection { code, reason }
    }
}

impl<Code: fmt::Display> fmt::Display for ProtocolError<Code> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection { code, reason } => write!(formatter, "{reason} ({code})"),
            Self::Stream { stream, code, reason } => write!(formatter, "{reason} (stream {stream}, {code})"),
        }
    }
}

impl<Code: fmt::Debug + fmt::Display> core::error::Error for ProtocolError<Code> {}
