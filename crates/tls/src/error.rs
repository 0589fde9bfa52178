//! Errors of a session, and whose fault they are.

use std::{error::Error, fmt, sync::Arc};

use rustls::{AlertDescription, CertificateError};

use crate::rejection;

/// Why a TLS session failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TlsError {
    /// The peer's first bytes are not TLS.
    NotTls(UnexpectedProtocol),
    /// The handshake failed: the peer violated the protocol, or there is no common version, cipher suite or protocol.
    Handshake(rustls::Error),
    /// The peer's certificate was rejected.
    Certificate(CertificateError),
    /// No certificate has the server name that the client sent, or it sent none; it got no other certificate
    /// ([`UnknownNames::Refuse`](crate::UnknownNames)).
    UnknownName(Option<Arc<str>>),
    /// The peer ended the session with this alert.
    Alert(AlertDescription),
    /// The peer violated the protocol after the handshake; this alert was sent.
    Violation(AlertDescription),
    /// This side failed.
    Local(rustls::Error),
    /// The server name of a client is neither a DNS name nor an IP address.
    ServerName(String),
    /// The keys have encrypted as many records as is safe, and TLS 1.2 cannot change them.
    Exhausted,
    /// The session is not established yet, or over.
    NotEstablished,
    /// The client validated a name (tls-alpn-01): the session has no other purpose, and was closed.
    Validated,
}

/// The protocol that the peer's first byte indicates instead of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnexpectedProtocol {
    /// A client's request in plain HTTP.
    HttpRequest,
    /// A server's response in plain HTTP.
    HttpResponse,
    /// Something else.
    Unknown,
}

/// The side at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The peer's.
    Peer,
    /// Ours: settings, the machine, or a defect.
    Local,
    /// Neither's: the session ended as intended.
    None,
}

impl TlsError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NotTls(_)
            | Self::Handshake(_)
            | Self::Certificate(_)
            | Self::UnknownName(_)
            | Self::Alert(_)
            | Self::Violation(_) => Fault::Peer,
            Self::Local(_) | Self::ServerName(_) | Self::Exhausted | Self::NotEstablished => Fault::Local,
            Self::Validated => Fault::None,
        }
    }

    /// Whether the peer supports none of the offered application protocols (RFC 7301 §3.2).
    #[must_use]
    pub fn is_no_application_protocol(&self) -> bool {
        *self == Self::Alert(AlertDescription::NoApplicationProtocol)
    }

    /// The alert to send to the peer, after the handshake.
    pub(crate) fn alert(&self) -> Option<AlertDescription> {
        match self {
            Self::Violation(alert) => Some(*alert),
            Self::Local(_) | Self::ServerName(_) | Self::Exhausted | Self::NotEstablished => {
                Some(AlertDescription::InternalError)
            }
            // The peer knows already; and in a handshake the library sends the alert.
            Self::NotTls(_)
            | Self::Handshake(_)
            | Self::Certificate(_)
            | Self::UnknownName(_)
            | Self::Alert(_)
            | Self::Validated => None,
        }
    }

    /// The library's keys are not what this crate expects.
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
            Self::Handshake(error) => write!(formatter, "TLS handshake failed: {error}"),
            Self::UnknownName(Some(name)) => write!(formatter, "no certificate has the client's server name, {name}"),
            Self::UnknownName(None) => formatter.write_str("the client sent no server name, so it got no certificate"),
            Self::Alert(
                alert @ (AlertDescription::UnknownCA
                | AlertDescription::BadCertificate
                | AlertDescription::CertificateUnknown
                | AlertDescription::CertificateExpired),
            ) => write!(formatter, "the peer does not accept the certificate (alert {})", name(*alert)),
            Self::Alert(alert @ AlertDescription::NoApplicationProtocol) => {
                write!(formatter, "the peer supports none of the offered protocols (alert {})", name(*alert))
            }
            Self::Alert(alert @ AlertDescription::ProtocolVersion) => {
                write!(formatter, "the peer supports none of the offered TLS versions (alert {})", name(*alert))
            }
            Self::Alert(alert @ AlertDescription::CertificateRequired) => {
                write!(formatter, "the peer requires a certificate: configure one (alert {})", name(*alert))
            }
            Self::Alert(alert @ AlertDescription::UnrecognisedName) => {
                write!(formatter, "the peer has no certificate for the server name (alert {})", name(*alert))
            }
            Self::Alert(alert) => write!(formatter, "the peer ended the TLS session (alert {})", name(*alert)),
            Self::Violation(alert) => write!(formatter, "the peer violated the TLS protocol (alert {})", name(*alert)),
            Self::Local(error) => write!(formatter, "TLS failed on this side: {error}"),
            Self::ServerName(name) => {
                write!(formatter, "'{name}' is neither a host name nor an address: name a server")
            }
            Self::Exhausted => formatter.write_str("the keys of this TLS 1.2 connection are used up"),
            Self::NotEstablished => formatter.write_str("nothing can be sent outside an established TLS session"),
            Self::Validated => formatter.write_str("the client validated a name (tls-alpn-01)"),
        }
    }
}

impl Error for TlsError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Handshake(error) | Self::Local(error) => Some(error),
            _ => None,
        }
    }
}

/// An alert's name in IANA's registry.
fn name(alert: AlertDescription) -> String {
    // The library spells it otherwise.
    if alert == AlertDescription::UnrecognisedName {
        return "unrecognized_name".to_owned();
    }
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
