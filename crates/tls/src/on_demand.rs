//! Certificates that are obtained when a client requests their name.

use std::{fmt, pin::Pin, sync::Arc};

/// Obtains certificates for names that clients request, and installs them in the
/// [`CertificateTable`](crate::CertificateTable). Called on the threads of the server, so it must not wait.
pub trait OnDemandCertificates: Send + Sync {
    /// A client requests this name, in lower case, which the client chose; the table has a certificate for it, or has
    /// none. Returns what to wait for before the handshake goes on, if that may bring a certificate.
    fn request(&self, name: &str, has_certificate: bool) -> Option<CertificatePending>;
}

/// Ready when there is a certificate, or there will not be one soon.
pub type CertificatePending = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Whether a handshake has to wait for a certificate.
pub enum CertificateDemand {
    /// The bytes do not show it yet: look again when there are more.
    Unknown,
    /// It does not.
    Nothing,
    /// It does.
    Pending(CertificatePending),
}

pub(crate) type OnDemandSource = Arc<dyn OnDemandCertificates>;

impl fmt::Debug for CertificateDemand {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unknown => "Unknown",
            Self::Nothing => "Nothing",
            Self::Pending(_) => "Pending",
        })
    }
}
