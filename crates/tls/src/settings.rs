//! TLS settings of a server.

use std::path::PathBuf;

use crate::{Protocol, SelfSigned, TlsAcceptor, TlsSettingsError, identity::Identity, provider::provider};

/// TLS settings of a server.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The server's certificates.
    pub certificates: Certificates,
    /// The allowed versions.
    pub versions: TlsVersions,
    /// Whether clients present certificates.
    pub client_certificates: ClientCertificates,
    /// The supported application protocols (ALPN), the most preferred first. A client that offers protocols and none of
    /// these is refused (RFC 7301 §3.2); with one that offers none, nothing is negotiated, and the caller decides.
    pub protocols: Vec<Protocol>,
}

/// A server's certificates.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// Files. The first certificate is the default: for clients that send no server name, or an unknown one.
    Files(Vec<CertificateFiles>),
    /// A self-signed certificate, for development.
    SelfSigned(SelfSigned),
}

/// The files of one certificate, in PEM. They are reloaded when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, followed by its intermediate certificates.
    pub certificate: PathBuf,
    /// Its key; may be the same file.
    pub key: PathBuf,
    /// The OCSP response to staple, in DER.
    pub ocsp_response: Option<PathBuf>,
}

/// The allowed versions of TLS, from the lowest to the highest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsVersions {
    /// The lowest.
    pub lowest: TlsVersion,
    /// The highest.
    pub highest: TlsVersion,
}

/// A version of TLS. Older ones are broken (RFC 8996).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TlsVersion {
    /// RFC 5246
    Tls12,
    /// RFC 8446
    Tls13,
}

/// Whether clients present certificates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// The server does not request them.
    #[default]
    Off,
    /// They may. The server requests one and rejects those that no authority in this file (PEM) has issued.
    Optional(PathBuf),
    /// They must, with a certificate that an authority in this file (PEM) has issued.
    Required(PathBuf),
}

impl TlsSettings {
    /// TLS with the certificates of these files.
    #[must_use]
    pub fn files(files: Vec<CertificateFiles>) -> Self {
        Self::new(Certificates::Files(files))
    }

    /// TLS with a self-signed certificate for `localhost`, generated for this run.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn self_signed() -> Result<Self, TlsSettingsError> {
        Ok(Self::new(Certificates::SelfSigned(SelfSigned::new()?)))
    }

    /// Reads the files as a server does when it starts.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, or settings that contradict each other.
    pub fn check(&self) -> Result<(), TlsSettingsError> {
        TlsAcceptor::new(self.clone()).map(drop)
    }

    /// A sentence for each certificate of a file that has expired, or is not valid yet. A server starts with them
    /// nevertheless; [`Self::check`] reports files that cannot be read.
    #[must_use]
    pub fn date_problems(&self) -> Vec<String> {
        let Certificates::Files(files) = &self.certificates else { return Vec::new() };
        let problems = files.iter().filter_map(|files| {
            let (_, identity) = Identity::read(files, &provider()).ok()?;
            Some(format!("{}: {}", files.certificate.display(), identity.date_problem()?))
        });
        problems.collect()
    }

    /// SHA-256 of the self-signed certificate, to compare it with what a browser shows.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        match &self.certificates {
            Certificates::SelfSigned(one) => Some(one.fingerprint()),
            Certificates::Files(_) => None,
        }
    }

    fn new(certificates: Certificates) -> Self {
        Self {
            certificates,
            versions: TlsVersions::default(),
            client_certificates: ClientCertificates::Off,
            protocols: vec![Protocol::Http2, Protocol::Http1],
        }
    }
}

impl Default for TlsVersions {
    fn default() -> Self {
        Self { lowest: TlsVersion::Tls12, highest: TlsVersion::Tls13 }
    }
}
