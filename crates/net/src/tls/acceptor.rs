//! What all connections share: certificates, tickets' keys, what is allowed.

use std::sync::Arc;

use rustls::{
    ServerConfig, SupportedProtocolVersion,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::NoServerSessionStorage,
    version::{TLS12, TLS13},
};

use super::{Certificates, TlsSettings, TlsSettingsError, TlsVersion, TlsVersions};

/// What all connections share. Clones share it too.
#[derive(Clone, Debug)]
pub struct TlsAcceptor {
    pub(super) config: Arc<ServerConfig>,
}

impl TlsAcceptor {
    /// Reads the certificates.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, or settings that contradict each other.
    pub fn new(settings: TlsSettings) -> Result<Self, TlsSettingsError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider).with_protocol_versions(&settings.versions.supported())?;
        // SKELETON: one certificate, from files.
        let Certificates::Files(files) = &settings.certificates else { return Err(TlsSettingsError::NoCertificate) };
        let files = files.first().ok_or(TlsSettingsError::NoCertificate)?;
        let refused =
            |error: rustls::pki_types::pem::Error| TlsSettingsError::Refused(rustls::Error::General(error.to_string()));
        let chain = CertificateDer::pem_file_iter(&files.certificate)
            .map_err(refused)?
            .collect::<Result<Vec<_>, _>>()
            .map_err(refused)?;
        let key = PrivateKeyDer::from_pem_file(&files.key).map_err(refused)?;
        let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
        config.alpn_protocols = settings.protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = aws_lc_rs::Ticketer::new()?;
        config.send_tls13_tickets = TICKETS;
        Ok(Self { config: Arc::new(config) })
    }
}

impl TlsVersions {
    fn supported(self) -> Vec<&'static SupportedProtocolVersion> {
        let all = [(TlsVersion::Tls12, &TLS12), (TlsVersion::Tls13, &TLS13)];
        let allowed = all.into_iter().filter(|(version, _)| (self.lowest..=self.highest).contains(version));
        allowed.map(|(_, supported)| supported).collect()
    }
}

/// Tickets after a handshake of TLS 1.3: browsers open a second connection at times, and a ticket is used once (RFC 8446
/// §C.4). OpenSSL, nginx and rustls send 2.
const TICKETS: usize = 2;
