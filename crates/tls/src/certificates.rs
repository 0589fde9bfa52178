//! The certificates that this side presents. They are reloaded when their files change.

use std::{
    cell::RefCell,
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::Instant,
};

use rustls::{
    SignatureScheme,
    client::ResolvesClientCert,
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::{
    CertificateDemand, CertificateFiles, CertificateTable, Certificates, TlsSettingsError, UnknownNames,
    certificate_table::VALIDATION_PROTOCOL,
    client_hello::{self, FirstBytes},
    identity::Identity,
    names::Names,
    on_demand::OnDemandSource,
    time,
    watch::{Checks, FileWatch},
};

/// The certificates of a server, or the one of a client.
pub(crate) struct CertificateStore {
    provider: Arc<CryptoProvider>,
    /// The certificates in use. Locked for writing only to replace them.
    names: RwLock<Arc<Names>>,
    watched: Checks<Vec<WatchedFiles>>,
    has_files: bool,
    /// Those that change while the server runs.
    table: Option<CertificateTable>,
    unknown_names: UnknownNames,
}

/// The files of one certificate.
struct WatchedFiles {
    files: CertificateFiles,
    watch: FileWatch,
    /// The last valid one.
    identity: Identity,
}

impl CertificateStore {
    pub(crate) fn new(
        certificates: &Certificates,
        unknown_names: UnknownNames,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, TlsSettingsError> {
        let table = match certificates {
            Certificates::Managed { table, .. } => Some(table.clone()),
            Certificates::Files(files) if files.is_empty() => return Err(TlsSettingsError::NoCertificate),
            _ => None,
        };
        let files: Vec<_> =
            certificates.files().iter().map(|files| WatchedFiles::read(files, &provider)).collect::<Result<_, _>>()?;
        let mut identities: Vec<_> = files.iter().map(|files| files.identity.clone()).collect();
        if let Certificates::SelfSigned(one) = certificates {
            identities.push(Identity::new(one.certified_key(&provider)?)?);
        }
        Ok(Self {
            provider,
            names: RwLock::new(Arc::new(Names::new(&identities))),
            has_files: !files.is_empty(),
            watched: Checks::new(files),
            table,
            unknown_names,
        })
    }

    /// Checks the files, unless that was done within the last second. Handshakes at the same time use the current
    /// certificates.
    pub(crate) fn reload_if_due(&self, now: Instant) {
        if self.has_files {
            self.watched.run_if_due(now, |files| self.renew(files));
        }
    }

    fn choose(&self, name: Option<&str>, hello: &ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let schemes = hello.signature_schemes();
        // RFC 8737 §3: the only protocol that the client offers.
        let validates = hello.alpn().is_some_and(|mut offered| offered.all(|protocol| protocol == VALIDATION_PROTOCOL));
        if let Some(table) = self.table.as_ref().filter(|_| validates) {
            return table.challenge(name?);
        }
        let names = Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner));
        let of_table = || self.table.as_ref()?.of_name(name?);
        let named = name.and_then(|name| names.choose_named(name, schemes)).or_else(of_table);
        match self.unknown_names {
            UnknownNames::Refuse => named,
            UnknownNames::Default => {
                named.or_else(|| names.choose_default(schemes)).or_else(|| self.table.as_ref()?.default_key())
            }
        }
    }

    /// Obtains certificates for names that have none, if anything does.
    pub(crate) fn on_demand(&self) -> Option<OnDemandSource> {
        self.table.as_ref()?.on_demand()
    }

    /// Whether the handshake that begins with these bytes has to wait for a certificate from this source.
    pub(crate) fn demand(&self, source: &OnDemandSource, received: &[u8]) -> CertificateDemand {
        let name = match client_hello::read(received) {
            FirstBytes::Incomplete => return CertificateDemand::Unknown,
            FirstBytes::Hello { server_name: Some(name), validates: false } => name,
            FirstBytes::Hello { .. } | FirstBytes::Unreadable => return CertificateDemand::Nothing,
        };
        let of_files = self.names.read().unwrap_or_else(PoisonError::into_inner).has(&name);
        if of_files {
            return CertificateDemand::Nothing;
        }
        let has_certificate = self.table.as_ref().is_some_and(|table| table.of_name(&name).is_some());
        source.request(&name, has_certificate).map_or(CertificateDemand::Nothing, CertificateDemand::Pending)
    }

    /// Checks the files now.
    pub(crate) fn reload_now(&self) {
        self.watched.run_now(|files| self.renew(files));
    }

    fn renew(&self, files: &mut [WatchedFiles]) {
        let mut renewed = false;
        for files in &mut *files {
            renewed |= files.renew(&self.provider);
        }
        if renewed {
            let names = Arc::new(Names::new(files.iter().map(|files| &files.identity)));
            *self.names.write().unwrap_or_else(PoisonError::into_inner) = names;
        }
    }
}

impl WatchedFiles {
    fn read(files: &CertificateFiles, provider: &CryptoProvider) -> Result<Self, TlsSettingsError> {
        let (watch, identity) = FileWatch::new(files.paths(), || Identity::read(files, provider))?;
        Ok(Self { files: files.clone(), watch, identity })
    }

    /// Reloads the files if they have changed; returns whether there is a new identity.
    fn renew(&mut self, provider: &CryptoProvider) -> bool {
        let read = || Identity::read(&self.files, provider);
        let Some(identity) = self.watch.renew("the previous certificate stays in use", read) else { return false };
        if identity.key.cert == self.identity.key.cert && identity.key.ocsp == self.identity.key.ocsp {
            return false;
        }
        let file = self.files.certificate.display();
        match identity.date_problem() {
            Some(problem) => tracing::warn!("{file}: the new certificate is in use: {problem}"),
            None => tracing::info!("{file}: the new certificate is in use"),
        }
        self.identity = identity;
        true
    }
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.reload_if_due(time::now());
        let name = hello.server_name();
        let key = self.choose(name, &hello);
        let refused = key.is_none() && self.unknown_names == UnknownNames::Refuse;
        REQUEST.set(Request { name: name.map(Arc::from), refused });
        key
    }
}

impl ResolvesClientCert for CertificateStore {
    /// The only one, whichever authorities the server trusts: the server's alert says why it rejects it.
    fn resolve(&self, _authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.reload_if_due(time::now());
        let names = Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner));
        names.choose_default(schemes)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

impl fmt::Debug for CertificateStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CertificateStore").field("names", &self.names).finish_non_exhaustive()
    }
}

/// The latest request of a client for a certificate.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// The server name.
    pub(crate) name: Option<Arc<str>>,
    /// No certificate has it, and the client gets none.
    pub(crate) refused: bool,
}

/// The latest request. Taken right after the call that set it.
pub(crate) fn take_request() -> Request {
    REQUEST.take()
}

thread_local! {
    /// The library passes the name only to the resolver of certificates.
    static REQUEST: RefCell<Request> = const { RefCell::new(Request { name: None, refused: false }) };
}
