//! What a user sets for connections to servers.

use std::path::PathBuf;

use crate::{CertificateFiles, Protocol, TlsVersions};

/// How a client speaks TLS.
#[derive(Clone, Debug, Default)]
pub struct TlsClientSettings {
    /// Which servers are believed to be who they say they are.
    pub trust: Trust,
    /// What may be spoken inside, the most preferred first. With a server that knows ALPN and none of these there is no
    /// connection (RFC 7301 §3.2); one that does not know ALPN agrees to nothing, and the caller decides. Where this is
    /// empty, nothing is offered.
    pub protocols: Vec<Protocol>,
    /// The versions that are spoken.
    pub versions: TlsVersions,
    /// With what the client shows who it is, to servers that ask. An OCSP response with it is for servers only.
    pub certificate: Option<CertificateFiles>,
    /// Whether later connections go on with the session of an earlier one.
    pub resumption: Resumption,
}

/// Which servers are believed to be who they say they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those for whose name an authority vouches that the system believes.
    #[default]
    System,
    /// Those for whose name an authority in this file (PEM) vouches.
    File(PathBuf),
    /// Whoever answers: nothing is checked, no name, no date, no signature. Whoever stands in between can read and change
    /// everything. For tests and measurements of one's own servers.
    Unchecked,
}

/// Whether later connections go on with the session of an earlier one, which saves the exchange of certificates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// They do, where the server lets them.
    #[default]
    On,
    /// Each begins anew.
    Off,
}
