//! TLS settings of a server.

use std::{path::PathBuf, sync::Arc};

use rustls::{ServerConfig, server::ResolvesServerCert};

use crate::{
    CertificateTable, Protocol, SelfSigned, ServerCertificate, SharedSecret, TlsAcceptor, TlsSettingsError,
    identity::Identity, provider::provider,
};

/// TLS settings of a server.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    /// The server's certificates.
    pub certificates: Certificates,
    /// The allowed versions.
    pub versions: TlsVersions,
    /// Whether clients present certificates.
    pub client_certificates: ClientCertificates,
    /// Certificate revocation lists (RFC 5280 §5) for the certificates of clients, in PEM or DER. With any, all
    /// certificates of a client's chain need a list that has not expired; a client without such lists is refused.
    pub client_revocation_lists: Vec<PathBuf>,
    /// The supported application protocols (ALPN), the most preferred first. A client that offers protocols and none of
    /// these is refused (RFC 7301 §3.2); with one that offers none, nothing is negotiated, and the caller decides.
    pub protocols: Vec<Protocol>,
    /// A file with a secret of at least 32 bytes, which only its owner and group may read. The keys of session tickets
    /// are derived from it and the time, so that all processes and machines with the same file resume each other's
    /// sessions. It is read again when it changes; tickets of the previous secret are accepted until they expire.
    /// Without a file, each acceptor has random keys.
    pub ticket_secret: Option<PathBuf>,
    /// Where there is no such file, and clients present no certificates: a secret that the processes of a server share, so
    /// that a new one resumes the sessions of the one before.
    pub shared_secret: Option<SharedSecret>,
    /// The answer to a client whose server name no certificate has.
    pub unknown_names: UnknownNames,
}

/// A server's certificates.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// Files. The first certificate is the default: for clients that send no server name, or an unknown one.
    Files(Vec<CertificateFiles>),
    /// A self-signed certificate, for development.
    SelfSigned(SelfSigned),
    /// Certificates that change while the server runs, and certificates of files beside them. Where both have a name,
    /// the client gets the certificate of the file; a client that sends no server name or an unknown one gets the first
    /// file, and without files the table's default.
    Managed {
        /// Files.
        files: Vec<CertificateFiles>,
        /// Those that change.
        table: CertificateTable,
    },
    /// The program selects a certificate for each handshake.
    Resolver(Arc<dyn ResolvesServerCert>),
    /// The program's own settings of rustls, which also decide about versions, clients' certificates and tickets:
    /// [`TlsSettings::rustls`].
    Rustls(Arc<ServerConfig>),
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

/// The answer to a client that sends no server name, or one that no certificate has. A [`Certificates::Resolver`]
/// decides itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownNames {
    /// The default certificate.
    #[default]
    Default,
    /// The alert `unrecognized_name` (RFC 6066 §3).
    Refuse,
}

/// Whether clients present certificates. The file is read again when it changes.
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

    /// TLS with the certificates of these files, and those of a table.
    #[must_use]
    pub fn managed(files: Vec<CertificateFiles>, table: CertificateTable) -> Self {
        Self::new(Certificates::Managed { files, table })
    }

    /// TLS with one certificate in memory, for clients of any name: the certificate, followed by its intermediate
    /// certificates, and its key, in PEM. To replace it while the server runs, or for several, use [`Self::managed`].
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    /// # let (chain, key) = (issued.cert.pem(), issued.signing_key.serialize_pem());
    /// // From a store of secrets, for one:
    /// let settings = serow_tls::TlsSettings::pem(chain.as_bytes(), key.as_bytes())?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When that is not PEM, cannot be used, or the key is not the certificate's.
    pub fn pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsSettingsError> {
        let certificate = ServerCertificate::from_pem(chain, key)?;
        let table = CertificateTable::default();
        table.install(&certificate.names()?, &certificate);
        table.set_default(&certificate);
        Ok(Self::managed(Vec::new(), table))
    }

    /// TLS with the program's own settings of rustls. If they name no application protocols, [`Self::protocols`] apply;
    /// they may name none that the server does not speak. Other settings of handshakes in this structure must keep
    /// their defaults. Early data (`max_early_data_size`) and another length of records (`max_fragment_size`) are
    /// refused: [`TlsSettingsError::UnsupportedOfRustls`].
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    /// # let (chain, key) = (vec![issued.cert.der().clone()], issued.signing_key.serialize_der());
    /// # let key = rustls::pki_types::PrivateKeyDer::try_from(key)?;
    /// let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key)?;
    /// let settings = serow_tls::TlsSettings::rustls(Arc::new(config));
    /// settings.check()?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn rustls(config: Arc<ServerConfig>) -> Self {
        Self::new(Certificates::Rustls(config))
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
        let problems = self.certificates.files().iter().filter_map(|files| {
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
            _ => None,
        }
    }

    fn new(certificates: Certificates) -> Self {
        Self {
            certificates,
            versions: TlsVersions::default(),
            client_certificates: ClientCertificates::Off,
            client_revocation_lists: Vec::new(),
            protocols: vec![Protocol::Http2, Protocol::Http1],
            ticket_secret: None,
            shared_secret: None,
            unknown_names: UnknownNames::Default,
        }
    }
}

impl Certificates {
    /// The certificates of files among them.
    pub(crate) fn files(&self) -> &[CertificateFiles] {
        match self {
            Self::Files(files) | Self::Managed { files, .. } => files,
            Self::SelfSigned(_) | Self::Resolver(_) | Self::Rustls(_) => &[],
        }
    }
}

impl CertificateFiles {
    /// The paths, in the order in which the files are read.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        [&self.certificate, &self.key].into_iter().chain(&self.ocsp_response).cloned().collect()
    }
}

impl Default for TlsVersions {
    fn default() -> Self {
        Self { lowest: TlsVersion::Tls12, highest: TlsVersion::Tls13 }
    }
}
