//! The state that all connections of a client share: trusted authorities, sessions to resume, offered protocols.

use std::sync::Arc;

use rustls::{ClientConfig, client};

use crate::{
    Certificates, Protocol, Resumption, TlsClientSettings, TlsError, TlsSettingsError, UnknownNames,
    certificates::CertificateStore,
    provider::provider,
    verifier::{Verifier, verifier},
};

/// The state that all connections of a client share. Clones share it too, including the sessions to resume, which are
/// behind a lock: threads that make thousands of connections a second should have a connector each.
#[derive(Clone, Debug)]
pub struct TlsConnector {
    pub(crate) config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
}

impl TlsConnector {
    /// Reads the authorities and the certificate. The certificate is reloaded when its files change, as a server's is;
    /// the authorities are not.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, a system without authorities, or settings that contradict each other.
    pub fn new(settings: TlsClientSettings) -> Result<Self, TlsSettingsError> {
        let provider = Arc::new(provider());
        let verifier = verifier(&settings.trust, &provider)?;
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&settings.versions.supported()?)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as _);
        let mut config = match settings.certificate {
            None => builder.with_no_client_auth(),
            Some(files) => {
                let certificates =
                    CertificateStore::new(&Certificates::Files(vec![files]), UnknownNames::Default, provider)?;
                builder.with_client_cert_resolver(Arc::new(certificates))
            }
        };
        config.alpn_protocols = settings.protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
        config.resumption = match settings.resumption {
            Resumption::On => client::Resumption::in_memory_sessions(SERVERS),
            Resumption::Off => client::Resumption::disabled(),
        };
        // `traffic.rs` takes over the keys.
        config.enable_secret_extraction = true;
        Ok(Self { config: Arc::new(config), verifier })
    }

    /// Why the certificate of a server was rejected last, over any of the connections: for QUIC, whose library passes on
    /// no more of it than an alert. Connections to one server are rejected for one reason.
    #[must_use]
    pub fn last_rejection(&self) -> Option<TlsError> {
        self.verifier.last_rejection().map(TlsError::Certificate)
    }

    /// The settings for a handshake of QUIC.
    #[must_use]
    pub fn quic_settings(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.config)
    }

    /// A connector like this one that offers only these protocols. They share their sessions.
    #[must_use]
    pub fn offering(&self, protocols: &[Protocol]) -> Self {
        let mut config = ClientConfig::clone(&self.config);
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
        Self { config: Arc::new(config), verifier: Arc::clone(&self.verifier) }
    }
}

/// Servers whose sessions are kept; with more of them, the least recently used is forgotten. The number is rustls'
/// default.
const SERVERS: usize = 256;
