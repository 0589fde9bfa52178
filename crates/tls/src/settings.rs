//! What a user sets for a server.

use std::path::PathBuf;

use crate::{Protocol, SelfSigned, TlsAcceptor, TlsSettingsError, identity::Identity, provider::provider};

/// How a server speaks TLS.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// With what the server shows who it is.
    pub certificates: Certificates,
    /// The versions that are spoken.
    pub versions: TlsVersions,
    /// Whether clients show who they are.
    pub client_certificates: ClientCertificates,
    /// What is spoken inside, the most preferred first. With a client that offers protocols and none of these there is
    /// no connection (RFC 7301 §3.2); one that offers none gets whatever the caller speaks without an agreement.
    pub protocols: Vec<Protocol>,
}

/// With what a server shows who it is.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// Files. The first are for clients that name no server, or one that no certificate is for.
    Files(Vec<CertificateFiles>),
    /// A certificate that nobody trusts, for development.
    SelfSigned(SelfSigned),
}

/// The files of one certificate, in PEM. They are read anew when they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The certificate, and behind it those that lead to an authority.
    pub certificate: PathBuf,
    /// Its key; may be the same file.
    pub key: PathBuf,
    /// What the authority says of the certificate's validity (an OCSP response in DER), to be handed to clients.
    pub ocsp_response: Option<PathBuf>,
}

/// The versions of TLS that are spoken, from the lowest to the highest.
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

/// Whether clients show who they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClientCertificates {
    /// They are not asked.
    #[default]
    Off,
    /// They may, with a certificate of one of the authorities in this file (PEM). A wrong one is refused.
    Optional(PathBuf),
    /// They must, with a certificate of one of the authorities in this file (PEM).
    Required(PathBuf),
}

impl TlsSettings {
    /// TLS with the certificates of these files.
    #[must_use]
    pub fn files(files: Vec<CertificateFiles>) -> Self {
        Self::new(Certificates::Files(files))
    }

    /// TLS with a certificate for `localhost`, made for this one run.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn self_signed() -> Result<Self, TlsSettingsError> {
        Ok(Self::new(Certificates::SelfSigned(SelfSigned::new()?)))
    }

    /// Reads the files as a server does when it begins.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, or settings that contradict each other.
    pub fn check(&self) -> Result<(), TlsSettingsError> {
        TlsAcceptor::new(self.clone()).map(drop)
    }

    /// A sentence for each certificate of a file that has expired, or is not valid yet. A server starts with such ones all
    /// the same; files that cannot be read are [`Self::check`]'s to tell.
    #[must_use]
    pub fn date_problems(&self) -> Vec<String> {
        let Certificates::Files(files) = &self.certificates else { return Vec::new() };
        let problems = files.iter().filter_map(|files| {
            let (_, identity) = Identity::read(files, &provider()).ok()?;
            Some(format!("{}: {}", files.certificate.display(), identity.date_problem()?))
        });
        problems.collect()
    }

    /// SHA-256 of the certificate that was made for this run, for whoever wants to compare it with what a browser shows.
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
