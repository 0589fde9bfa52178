//! The parameters that a handshake negotiated, for logs and handlers.

use std::sync::Arc;

use crate::TlsVersion;

/// The parameters that a handshake negotiated. Clones are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsDescription {
    pub(crate) version: TlsVersion,
    pub(crate) cipher_suite: &'static str,
    pub(crate) server_name: Option<Arc<str>>,
    pub(crate) client_certificate: Option<Arc<[u8]>>,
    pub(crate) resumed: bool,
}

impl TlsDescription {
    /// The version of TLS.
    #[must_use]
    pub fn version(&self) -> TlsVersion {
        self.version
    }

    /// The name of the cipher suite in IANA's registry.
    #[must_use]
    pub fn cipher_suite(&self) -> &'static str {
        self.cipher_suite
    }

    /// The server name that the client requested (SNI, RFC 6066 §3), in lower case; none where it requested an address.
    #[must_use]
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }

    /// The client's verified certificate in DER. Only on a server.
    #[must_use]
    pub fn client_certificate(&self) -> Option<&[u8]> {
        self.client_certificate.as_deref()
    }

    /// Whether an earlier session was resumed, without a new exchange of certificates.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        self.resumed
    }
}
