//! What goes wrong, and whose fault it is.

use std::{error::Error, fmt};

use rustls::{AlertDescription, CertificateError};

use crate::rejection;

/// Why a connection's TLS ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TlsError {
    /// The peer begins with something else than TLS.
    NotTls(UnexpectedProtocol),
    /// The peer broke the protocol in the handshake, or nothing could be agreed upon.
    Handshake(rustls::Error),
    /// The peer's certificate is not believed.
    Certificate(CertificateError),
    /// The peer ended the session with this alert.
    Alert(AlertDescription),
    /// The peer broke the protocol after the handshake, and was told so with this alert.
    Violation(AlertDescription),
    /// Something on this side fails.
    Local(rustls::Error),
    /// What a client was told to connect to is neither a name of DNS nor an address.
    ServerName(String),
    /// TLS 1.2 allows no more records with the same keys, and has no way to change them.
    Exhausted,
    /// The caller wanted something of a session that is not complete, or over.
    NotEstablished,
}

/// What a peer begins with that does not speak TLS, as far as its first byte tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnexpectedProtocol {
    /// A client, with a request in plain HTTP.
    HttpRequest,
    /// A server, with a response in plain HTTP.
    HttpResponse,
    /// Anything.
    Unknown,
}

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The peer's.
    Peer,
    /// Ours: settings, the machine, or a defect.
    Local,
}

impl TlsError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NotTls(_) | Self::Handshake(_) | Self::Certificate(_) | Self::Alert(_) | Self::Violation(_) => {
                Fault::Peer
            }
            Self::Local(_) | Self::ServerName(_) | Self::Exhausted | Self::NotEstablished => Fault::Local,
        }
    }

    /// Whether the peer agrees to none of the protocols that it was offered (RFC 7301 §3.2).
    #[must_use]
    pub fn is_no_application_protocol(&self) -> bool {
        *self == Self::Alert(AlertDescription::NoApplicationProtocol)
    }

    /// What tells the peer, after the handshake.
    pub(crate) fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::Violation(alert) => Some(*alert),
            Self::Local(_) | Self::ServerName(_) | Self::Exhausted | Self::NotEstablished => {
                Some(AlertDescription::InternalError)
            }
            // Whoever spoke last knows; and in a handshake the library tells.
            Self::NotTls(_) | Self::Handshake(_) | Self::Certificate(_) | Self::Alert(_) => None,
        }
    }

    /// The library does not give what it must give.
    pub(crate) fn unusable_keys() -> Self {
        Self::Local(rustls::Error::General("the keys of the session cannot be used".to_owned()))
    }
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        use rustls::Error as Kind;
        match error {
            Kind::AlertReceived(alert) => Self::Alert(alert),
            Kind::InvalidCertificate(error) => Self::Certificate(error),
            Kind::EncryptError
            | Kind::FailedToGetCurrentTime
            | Kind::FailedToGetRandomBytes
            | Kind::HandshakeNotComplete
            | Kind::BadMaxFragmentSize
            | Kind::InconsistentKeys(_) => Self::Local(error),
            _ => Self::Handshake(error),
        }
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTls(UnexpectedProtocol::HttpRequest) => formatter.write_str("the peer speaks HTTP, not TLS"),
            Self::NotTls(UnexpectedProtocol::HttpResponse) => {
                formatter.write_str("the peer speaks HTTP, not TLS: use http://, or its port for https")
            }
            Self::NotTls(UnexpectedProtocol::Unknown) => formatter.write_str("the peer does not speak TLS"),
            Self::Certificate(error) => write!(formatter, "the peer's certificate {}", rejection::reason(error)),
            Self::Handshake(error) => write!(formatter, "no TLS with the peer: {error}"),
            Self::Alert(
                alert @ (AlertDescription::UnknownCA
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateExpired),
            ) => write!(formatter, "the peer does not accept the certificate (alert {})", name(*alert)),
            Self::Alert(alert @ AlertDescription::NoApplicationProtocol) => {
                write!(formatter, "the peer speaks none of the protocols it was offered (alert {})", name(*alert))
            }
            Self::Alert(alert @ AlertDescription::ProtocolVersion) => {
                write!(formatter, "the peer speaks none of the versions of TLS it was offered (alert {})", name(*alert))
            }
            Self::Alert(alert @ AlertDescription::CertificateRequired) => {
                write!(formatter, "the peer wants to see a certificate: name one (alert {})", name(*alert))
            }
            Self::Alert(alert) => write!(formatter, "the peer ended TLS (alert {})", name(*alert)),
            Self::Violation(alert) => write!(formatter, "the peer broke TLS (alert {})", name(*alert)),
            Self::Local(error) => write!(formatter, "TLS fails on this side: {error}"),
            Self::ServerName(name) => {
                write!(formatter, "'{name}' is neither a host's name nor an address: name a server")
            }
            Self::Exhausted => formatter.write_str("TLS 1.2 has no keys for more on this connection"),
            Self::NotEstablished => formatter.write_str("nothing can be sent outside an established TLS session"),
        }
    }
}

impl Error for TlsError {}

/// An alert's name in IANA's registry.
fn name(alert: AlertDescription) -> String {
    let mut name = String::new();
    let mut after_small = false;
    for character in alert.as_str().unwrap_or("Unknown").chars() {
        if character.is_ascii_uppercase() && after_small {
            name.push('_');
        }
        after_small = character.is_ascii_lowercase();
        name.push(character.to_ascii_lowercase());
    }
    name
}
