//! The state that all connections of a server share: certificates, ticket keys, settings.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::{
    ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, aws_lc_rs},
    server::{
        NoServerSessionStorage, ProducesTickets, ResolvesServerCert, WebPkiClientVerifier, danger::ClientCertVerifier,
    },
};

use crate::{
    CertificateDemand, Certificates, ClientCertificates, TlsSettings, TlsSettingsError, TlsVersions, UnknownNames,
    certificate_table::VALIDATION_PROTOCOL,
    certificates::CertificateStore,
    client_verification::ClientVerification,
    provider::provider,
    tickets::SharedTickets,
    time,
    watch::{Checks, FileWatch},
};

/// The state that all connections of a server share. Clones share it too, ticket keys included: any worker resumes the
/// sessions of any other. Other acceptors do so with the same [`TlsSettings::ticket_secret`].
#[derive(Clone, Debug)]
pub struct TlsAcceptor {
    shared: Arc<AcceptorState>,
}

#[derive(Debug)]
struct AcceptorState {
    /// For the next handshakes. Locked for writing only to replace them.
    terms: RwLock<Terms>,
    certificates: Arc<CertificateStore>,
    /// Those with keys of a shared secret.
    tickets: Option<Arc<SharedTickets>>,
    clients: Option<Clients>,
    origin: Origin,
}

/// The author of the settings for rustls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// This crate.
    Ours,
    /// The program ([`Certificates::Rustls`]).
    Program,
}

/// The certificates of clients, where the server requests them.
#[derive(Debug)]
struct Clients {
    verification: ClientVerification,
    template: Template,
    files: Checks<FileWatch>,
}

/// The settings of a handshake.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) config: Arc<ServerConfig>,
    /// Verifies the certificates of clients, where the server requests them.
    pub(crate) client_verifier: Option<Arc<dyn ClientCertVerifier>>,
}

/// The library's settings, except the verifier of clients' certificates: it announces the authorities in the handshake,
/// so that others need other settings.
#[derive(Debug)]
struct Template {
    provider: Arc<CryptoProvider>,
    versions: Vec<&'static SupportedProtocolVersion>,
    resolver: Arc<dyn ResolvesServerCert>,
    protocols: Vec<Vec<u8>>,
    ticketer: Arc<dyn ProducesTickets>,
}

impl TlsAcceptor {
    /// Reads the files. From here on handshakes check them, at most once a second, and reload those that have changed.
    /// If a new file cannot be used, the error log says so and the previous content stays in use.
    ///
    /// # Errors
    ///
    /// A file that cannot be used, or settings that contradict each other.
    pub fn new(settings: TlsSettings) -> Result<Self, TlsSettingsError> {
        let provider = Arc::new(provider());
        let certificates =
            Arc::new(CertificateStore::new(&settings.certificates, settings.unknown_names, Arc::clone(&provider))?);
        if let Certificates::Rustls(config) = &settings.certificates {
            let terms = RwLock::new(foreign_terms(&settings, config)?);
            let shared = AcceptorState { terms, certificates, tickets: None, clients: None, origin: Origin::Program };
            return Ok(Self { shared: Arc::new(shared) });
        }
        let tickets = match (&settings.ticket_secret, &settings.shared_secret) {
            (Some(path), _) => Some(SharedTickets::new(path, &settings.client_certificates)?),
            (None, Some(secret)) if settings.client_certificates == ClientCertificates::Off => {
                Some(SharedTickets::of_memory(secret))
            }
            (None, _) => None,
        };
        let tickets = tickets.map(Arc::new);
        let template = Template::new(&settings, Arc::clone(&provider), &certificates, tickets.as_ref())?;
        let (terms, clients) = match ClientVerification::of(&settings)? {
            None => (template.terms(None)?, None),
            Some(verification) => {
                let (watch, verifier) = FileWatch::new(verification.paths(), || verification.read(&provider))?;
                let terms = template.terms(Some(verifier))?;
                (terms, Some(Clients { verification, template, files: Checks::new(watch) }))
            }
        };
        let shared = AcceptorState { terms: RwLock::new(terms), certificates, tickets, clients, origin: Origin::Ours };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Checks the files now, and reloads those that have changed.
    pub fn reload_changed_files(&self) {
        let shared = &*self.shared;
        shared.certificates.reload_now();
        if let Some(tickets) = &shared.tickets {
            tickets.reload_now();
        }
        if let Some(clients) = &shared.clients {
            clients.files.run_now(|watch| shared.renew_clients(clients, watch));
        }
    }

    /// Whether certificates are obtained when a client requests their name: then [`Self::demand`] has to see the first
    /// bytes of a client before [`TlsSession::accept`](crate::TlsSession::accept).
    #[must_use]
    pub fn obtains_on_demand(&self) -> bool {
        self.shared.certificates.on_demand().is_some()
    }

    /// Whether the handshake that begins with these bytes has to wait for a certificate.
    #[must_use]
    pub fn demand(&self, received: &[u8]) -> CertificateDemand {
        match self.shared.certificates.on_demand() {
            Some(source) => self.shared.certificates.demand(&source, received),
            None => CertificateDemand::Nothing,
        }
    }

    /// The settings for the next handshake of a QUIC connection; the same object until something has changed.
    #[must_use]
    pub fn quic_settings(&self) -> Arc<ServerConfig> {
        self.terms().config
    }

    /// Whether a server may answer requests before the handshake is complete (RFC 8470). Not where clients are asked for
    /// certificates: they prove that they have the key only at its end. The settings of a program may ask for them.
    #[must_use]
    pub fn allows_early_data(&self) -> bool {
        self.shared.clients.is_none() && self.shared.origin == Origin::Ours
    }

    /// Returns the settings of the next handshake. Files are checked first, if that is due; the certificates are
    /// checked when the client's server name is known.
    pub(crate) fn terms(&self) -> Terms {
        let shared = &*self.shared;
        if let Some(tickets) = &shared.tickets {
            tickets.reload_if_due(time::now());
        }
        if let Some(clients) = &shared.clients {
            clients.files.run_if_due(time::now(), |watch| shared.renew_clients(clients, watch));
        }
        shared.terms.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl AcceptorState {
    /// Reloads the files about clients if they have changed.
    fn renew_clients(&self, clients: &Clients, watch: &mut FileWatch) {
        let Clients { verification, template, .. } = clients;
        let renewed = watch.renew("the previous authorities and revocation lists stay in use", || {
            let (versions, verifier) = verification.read(&template.provider)?;
            Ok((versions, template.terms(Some(verifier))?))
        });
        if let Some(terms) = renewed {
            *self.terms.write().unwrap_or_else(PoisonError::into_inner) = terms;
        }
    }
}

impl Template {
    fn new(
        settings: &TlsSettings,
        provider: Arc<CryptoProvider>,
        certificates: &Arc<CertificateStore>,
        tickets: Option<&Arc<SharedTickets>>,
    ) -> Result<Self, TlsSettingsError> {
        let resolver = match &settings.certificates {
            Certificates::Resolver(resolver) => Arc::clone(resolver),
            _ => Arc::clone(certificates) as _,
        };
        let mut protocols: Vec<_> = settings.protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
        if matches!(settings.certificates, Certificates::Managed { .. }) {
            protocols.push(VALIDATION_PROTOCOL.to_vec());
        }
        let ticketer = match tickets {
            Some(tickets) => Arc::clone(tickets) as _,
            None => aws_lc_rs::Ticketer::new()?,
        };
        Ok(Self { provider, versions: settings.versions.supported()?, resolver, protocols, ticketer })
    }

    /// The settings with this verifier of clients' certificates.
    fn terms(&self, client_verifier: Option<Arc<dyn ClientCertVerifier>>) -> Result<Terms, TlsSettingsError> {
        let verifier = client_verifier.clone().unwrap_or_else(WebPkiClientVerifier::no_client_auth);
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&self.versions)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::clone(&self.resolver));
        config.alpn_protocols.clone_from(&self.protocols);
        // Tickets alone: the client keeps the state of a session, in both versions.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.ticketer = Arc::clone(&self.ticketer);
        config.send_tls13_tickets = TICKETS;
        // `traffic.rs` takes over the keys.
        config.enable_secret_extraction = true;
        Ok(Terms { config: Arc::new(config), client_verifier })
    }
}

/// The program's settings of rustls, with the changes that this crate needs.
fn foreign_terms(settings: &TlsSettings, config: &ServerConfig) -> Result<Terms, TlsSettingsError> {
    let is_contradicted = settings.client_certificates != ClientCertificates::Off
        || !settings.client_revocation_lists.is_empty()
        || settings.ticket_secret.is_some()
        || settings.versions != TlsVersions::default()
        || settings.unknown_names != UnknownNames::default();
    if is_contradicted {
        return Err(TlsSettingsError::SettingsOfRustls);
    }
    // `traffic.rs` reads and writes the records, and would neither read early data nor keep to another length.
    if config.max_early_data_size > 0 {
        return Err(TlsSettingsError::UnsupportedOfRustls("max_early_data_size"));
    }
    if config.max_fragment_size.is_some() {
        return Err(TlsSettingsError::UnsupportedOfRustls("max_fragment_size"));
    }
    let mut config = config.clone();
    let is_spoken = |name: &[u8]| settings.protocols.iter().any(|spoken| spoken.name() == name);
    if let Some(name) = config.alpn_protocols.iter().find(|name| !is_spoken(name) && **name != VALIDATION_PROTOCOL) {
        return Err(TlsSettingsError::ProtocolOfRustls(String::from_utf8_lossy(name).into_owned()));
    }
    if config.alpn_protocols.is_empty() {
        config.alpn_protocols = settings.protocols.iter().map(|protocol| protocol.name().to_vec()).collect();
    }
    // `traffic.rs` takes over the keys.
    config.enable_secret_extraction = true;
    Ok(Terms { config: Arc::new(config), client_verifier: None })
}

/// Tickets after a handshake of TLS 1.3: browsers open a second connection at times, and a ticket is used once (RFC
/// 8446 §C.4). OpenSSL, nginx and rustls send 2.
const TICKETS: usize = 2;
