//! Certificates that change while the server runs: those of a certificate manager.

use std::{
    collections::HashMap,
    fmt,
    path::Path,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use rustls::{
    pki_types::{CertificateDer, PrivateKeyDer},
    sign::CertifiedKey,
};

use crate::{
    OnDemandCertificates, TlsSettingsError, identity::Identity, names, on_demand::OnDemandSource, pem,
    provider::provider,
};

/// The certificates of a server that change while it runs. Clones share them; a change applies to the next handshake of
/// every worker.
///
/// ```
/// use serow_tls::{CertificateTable, Certificates, TlsSettings};
///
/// let table = CertificateTable::default();
/// let settings = TlsSettings::managed(Vec::new(), table.clone());
/// // Later, for each new certificate: table.install(&["example.com"], &certificate);
/// # assert!(matches!(settings.certificates, Certificates::Managed { .. }));
/// ```
#[derive(Clone, Default)]
pub struct CertificateTable {
    shared: Arc<RwLock<Entries>>,
}

/// A certificate chain with its key, ready for handshakes.
#[derive(Clone, Debug)]
pub struct ServerCertificate {
    key: Arc<CertifiedKey>,
}

/// The application protocol of handshakes that validate a name (RFC 8737 §3). No data is exchanged after them.
pub(crate) const VALIDATION_PROTOCOL: &[u8] = b"acme-tls/1";

/// Answers handshakes that validate a name (tls-alpn-01) from outside of the table, where another process began the
/// validation.
pub type ChallengeLookup = Arc<dyn Fn(&str) -> Option<ServerCertificate> + Send + Sync>;

#[derive(Default)]
struct Entries {
    /// By name, in lower case; the first label may be the wildcard `*`.
    names: HashMap<Box<str>, Arc<CertifiedKey>>,
    /// The certificates that validate names (RFC 8737 §3).
    challenges: HashMap<Box<str>, Arc<CertifiedKey>>,
    lookup: Option<ChallengeLookup>,
    /// Obtains certificates for other names.
    on_demand: Option<OnDemandSource>,
    /// For clients that send no server name, or an unknown one.
    default: Option<Arc<CertifiedKey>>,
}

impl ServerCertificate {
    /// A certificate, followed by its intermediate certificates, and its key, in PEM.
    ///
    /// # Errors
    ///
    /// When that is not PEM, cannot be used, or the key is not the certificate's.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsSettingsError> {
        let (chain, key) = of_pem(chain, key)?;
        Self::from_der(chain, key)
    }

    /// A certificate that validates a name (RFC 8737 §3), with its key, in PEM. It has a critical extension, which the
    /// parser of other certificates refuses, so whether the key is the certificate's is not checked.
    ///
    /// # Errors
    ///
    /// When that is not PEM, or the key cannot be used.
    pub fn for_validation(pem: &[u8]) -> Result<Self, TlsSettingsError> {
        let (chain, key) = of_pem(pem, pem)?;
        let key = provider().key_provider.load_private_key(key)?;
        Ok(Self { key: Arc::new(CertifiedKey::new(chain, key)) })
    }

    /// As [`Self::from_pem`], in DER.
    ///
    /// # Errors
    ///
    /// As [`Self::from_pem`].
    pub fn from_der(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Self, TlsSettingsError> {
        if chain.is_empty() {
            return Err(TlsSettingsError::CertificateMissing("the certificate".into()));
        }
        Ok(Self { key: Arc::new(CertifiedKey::from_der(chain, key, &provider())?) })
    }

    /// The chain, in DER.
    #[must_use]
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.key.cert
    }

    /// The names in the certificate, in lower case; `*.` is the wildcard for one label.
    pub(crate) fn names(&self) -> Result<Vec<String>, TlsSettingsError> {
        Ok(Identity::new(CertifiedKey::clone(&self.key))?.names)
    }
}

fn of_pem(
    chain: &[u8],
    key: &[u8],
) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), TlsSettingsError> {
    let (certificate, key_name) = (Path::new("the certificate"), Path::new("the key"));
    Ok((pem::chain(certificate, chain)?, pem::key(key_name, key)?))
}

impl CertificateTable {
    /// Uses this certificate for these names, in place of the previous ones. Names are compared in lower case; `*.` is
    /// the wildcard for one label. An address is a name for clients that send no server name.
    pub fn install<N: AsRef<str>>(&self, names: &[N], certificate: &ServerCertificate) {
        let mut entries = self.write();
        for name in names {
            entries.names.insert(lower_case(name), Arc::clone(&certificate.key));
        }
    }

    /// Has no certificate for these names any more.
    pub fn remove<N: AsRef<str>>(&self, names: &[N]) {
        let mut entries = self.write();
        for name in names {
            entries.names.remove(&lower_case(name));
        }
    }

    /// Uses this certificate for clients that send no server name, or an unknown one.
    pub fn set_default(&self, certificate: &ServerCertificate) {
        self.write().default = Some(Arc::clone(&certificate.key));
    }

    /// Presents this certificate to those who validate this name by tls-alpn-01 (RFC 8737 §3).
    pub fn add_challenge(&self, name: &str, certificate: &ServerCertificate) {
        self.write().challenges.insert(lower_case(&name), Arc::clone(&certificate.key));
    }

    /// Ends what [`Self::add_challenge`] began.
    pub fn remove_challenge(&self, name: &str) {
        self.write().challenges.remove(&lower_case(&name));
    }

    /// Asks this function for the certificates of validations that the table does not know.
    pub fn look_up_challenges(&self, lookup: ChallengeLookup) {
        self.write().lookup = Some(lookup);
    }

    /// Has this one obtain certificates for names that have none, when a client requests them. The server then looks at
    /// the name before each handshake.
    pub fn obtain_on_demand(&self, source: Arc<dyn OnDemandCertificates>) {
        self.write().on_demand = Some(source);
    }

    pub(crate) fn on_demand(&self) -> Option<OnDemandSource> {
        self.read().on_demand.clone()
    }

    /// The certificate that a client gets that requests this name.
    #[must_use]
    pub fn certificate(&self, name: &str) -> Option<ServerCertificate> {
        self.of_name(&lower_case(&name)).map(|key| ServerCertificate { key })
    }

    /// How many names have a certificate.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read().names.len()
    }

    /// Whether no name has a certificate.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The certificate for this name, in lower case, or for a wildcard above it.
    pub(crate) fn of_name(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        names::find(&self.read().names, name).cloned()
    }

    pub(crate) fn default_key(&self) -> Option<Arc<CertifiedKey>> {
        self.read().default.clone()
    }

    /// The certificate that validates this name.
    pub(crate) fn challenge(&self, name: &str) -> Option<Arc<CertifiedKey>> {
        let entries = self.read();
        if let Some(key) = entries.challenges.get(name) {
            return Some(Arc::clone(key));
        }
        let lookup = entries.lookup.clone();
        // It may read a file.
        drop(entries);
        lookup?(name).map(|certificate| certificate.key)
    }

    fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.shared.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.shared.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lower_case(name: &impl AsRef<str>) -> Box<str> {
    name.as_ref().to_ascii_lowercase().into_boxed_str()
}

impl fmt::Debug for CertificateTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CertificateTable").field("names", &self.len()).finish_non_exhaustive()
    }
}
