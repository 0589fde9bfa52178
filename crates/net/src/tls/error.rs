//! What goes wrong, and whose fault it is.

use std::{error::Error, fmt};

/// Why a connection's TLS ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TlsError {
    /// The peer begins with something else than TLS.
    NotTls {
        /// Whether it looks like a request in plain HTTP.
        http: bool,
    },
    /// The peer broke the protocol, or nothing could be agreed upon.
    Peer(rustls::Error),
    /// Something on this side fails.
    Server(rustls::Error),
    /// The caller wanted to send before the handshake was complete, or after the end.
    NotEstablished,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The peer's.
    Peer,
    /// The server's: its settings, its machine, or a defect.
    Server,
}

impl TlsError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NotTls { .. } | Self::Peer(_) => Fault::Peer,
            Self::Server(_) | Self::NotEstablished => Fault::Server,
        }
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        use rustls::Error as E;
        match error {
            E::EncryptError
            | E::FailedToGetCurrentTime
            | E::FailedToGetRandomBytes
            | E::General(_)
            | E::BadMaxFragmentSize
            | E::InconsistentKeys(_) => Self::Server(error),
            _ => Self::Peer(error),
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTls { http: true } => formatter.write_str("the peer speaks HTTP, not TLS"),
            Self::NotTls { http: false } => formatter.write_str("the peer does not speak TLS"),
            Self::Peer(error) => write!(formatter, "no TLS with the peer: {error}"),
            Self::Server(error) => write!(formatter, "TLS fails on this side: {error}"),
            Self::NotEstablished => formatter.write_str("nothing can be sent outside an established TLS session"),
        }
    }
}

impl Error for TlsError {}

/// Why settings cannot be used, in one line that says what to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TlsSettingsError {
    /// No certificate is named.
    NoCertificate,
    /// The library refuses.
    Refused(rustls::Error),
}

impl From<rustls::Error> for TlsSettingsError {
    fn from(error: rustls::Error) -> Self {
        Self::Refused(error)
    }
}

impl fmt::Display for TlsSettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCertificate => formatter.write_str("TLS needs a certificate: name one"),
            Self::Refused(error) => write!(formatter, "TLS cannot be set up: {error}"),
        }
    }
}

impl Error for TlsSettingsError {}
