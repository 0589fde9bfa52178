//! What all connections of a server share: certificates, ticket keys, settings.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    server::{NoServerSessionStorage, WebPkiClientVerifier, danger::ClientCertVerifier},
};

use crate::{
    ClientCertificates, TlsSettings, TlsSettingsError, authorities, certificates::CertificateStore, provider::provider,
};

/// What all connections of a server share. Clones share it too, ticket keys included: any worker resumes the sessions
/// of any other.
#[derive(Clone, Debug)]
pub struct TlsAcceptor {
    pub(crate) config: Arc<ServerConfig>,
    certificates: Arc<CertificateStore>,
    /// Verifies the certificates of clients, where the server requests them.
    pub(crate) client_verifier: Option<Arc<dyn ClientCertVerifier>>,
}

impl TlsAcceptor {
    /// Reads the certificates. From here on handshakes check their files, at most once a second, and reload those that
    /// have changed. If a new file cannot be used, the error log says so and the previous certificate stays in use.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, or settings that contradict each other.
    pub fn new(settings: TlsSettings) -> Result<Self, TlsSettingsError> {
        let provider = Arc::new(provider());
        let certificates = Arc::new(CertificateStore::new(&settings.certificates, Arc::clone(&provider))?);
        let verifier = verifier(&settings.client_certificates, &provider)?;
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&settings.versions.supported()?)?
            .with_client_cert_verifier(Arc::clone(&verifier))
            .with_cert_resolver(Arc::clone(&certificates) as _);
        config.alpn_protocols = settings.protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
        // Tickets alone: the client keeps the state of a session, in both versions.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = aws_lc_rs::Ticketer::new()?;
        config.send_tls13_tickets = TICKETS;
        // `traffic.rs` takes over the keys.
        config.enable_secret_extraction = true;
        let client_verifier = verifier.offer_client_auth().then_some(verifier);
        Ok(Self { config: Arc::new(config), certificates, client_verifier })
    }

    /// Checks the certificate files now, and reloads those that have changed.
    pub fn reload_changed_files(&self) {
        self.certificates.reload_now();
    }
}

fn verifier(
    certificates: &ClientCertificates,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsSettingsError> {
    let (path, required) = match certificates {
        ClientCertificates::Off => return Ok(WebPkiClientVerifier::no_client_auth()),
        ClientCertificates::Optional(path) => (path, false),
        ClientCertificates::Required(path) => (path, true),
    };
    let builder =
        WebPkiClientVerifier::builder_with_provider(Arc::new(authorities::of_file(path)?), Arc::clone(provider));
    let builder = if required { builder } else { builder.allow_unauthenticated() };
    builder.build().map_err(|error| TlsSettingsError::Authorities(path.clone(), error.to_string()))
}

/// Tickets after a handshake of TLS 1.3: browsers open a second connection at times, and a ticket is used once (RFC
/// 8446 §C.4). OpenSSL, nginx and rustls send 2.
const TICKETS: usize = 2;
