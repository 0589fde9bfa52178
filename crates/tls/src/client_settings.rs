//! TLS settings of a client.

use std::path::PathBuf;

use crate::{CertificateFiles, Protocol, TlsVersions};

/// TLS settings of a client.
#[derive(Clone, Debug, Default)]
pub struct TlsClientSettings {
    /// How servers' certificates are verified.
    pub trust: Trust,
    /// The application protocols to offer (ALPN), the most preferred first. A server that supports ALPN and none of
    /// these refuses the connection (RFC 7301 §3.2); without ALPN nothing is negotiated, and the caller decides. An
    /// empty list offers none.
    pub protocols: Vec<Protocol>,
    /// The allowed versions.
    pub versions: TlsVersions,
    /// The client's certificate, for servers that request one. Its OCSP response is not used: only servers staple.
    pub certificate: Option<CertificateFiles>,
    /// Whether later connections resume an earlier session.
    pub resumption: Resumption,
}

/// How a client verifies servers' certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// By the authorities that the system trusts.
    #[default]
    System,
    /// By the authorities in this file (PEM).
    File(PathBuf),
    /// Not at all: neither name, nor dates, nor signatures. An attacker on the path can read and change everything. For
    /// tests and measurements of one's own servers.
    Unchecked,
}

/// Whether later connections resume an earlier session, which saves the exchange of certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// They do, where the server allows it.
    #[default]
    On,
    /// Each makes a full handshake.
    Off,
}
