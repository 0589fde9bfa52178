//! The certificates that this side presents. They are reloaded when their files change.

use std::{
    cell::RefCell,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock, TryLockError},
    time::{Duration, Instant, SystemTime},
};

use rustls::{
    SignatureScheme,
    client::ResolvesClientCert,
    crypto::CryptoProvider,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

use crate::{
    CertificateFiles, Certificates, TlsSettingsError,
    identity::{Identity, Versions},
    names::Names,
};

/// The certificates of a server, or the one of a client.
pub(crate) struct CertificateStore {
    provider: Arc<CryptoProvider>,
    /// The certificates in use. Locked for writing only to replace them.
    names: RwLock<Arc<Names>>,
    watch: Mutex<Watch>,
}

/// The state of the certificate files.
struct Watch {
    checked: Instant,
    files: Vec<WatchedFiles>,
}

/// The files of one certificate.
struct WatchedFiles {
    files: CertificateFiles,
    /// The versions from which the identity was read.
    versions: Versions,
    /// Changed so recently that another change might leave the same times.
    fresh: bool,
    /// The last valid one.
    identity: Identity,
    broken: Option<CertificateFileError>,
}

/// A change of the files that cannot be used.
struct CertificateFileError {
    versions: Versions,
    reported: bool,
}

impl CertificateStore {
    pub(crate) fn new(certificates: &Certificates, provider: Arc<CryptoProvider>) -> Result<Self, TlsSettingsError> {
        let (identities, files) = match certificates {
            Certificates::Files(files) if files.is_empty() => return Err(TlsSettingsError::NoCertificate),
            Certificates::Files(files) => {
                let watched: Vec<_> =
                    files.iter().map(|files| WatchedFiles::read(files, &provider)).collect::<Result<_, _>>()?;
                (watched.iter().map(|files| files.identity.clone()).collect(), watched)
            }
            Certificates::SelfSigned(one) => (vec![Identity::new(one.certified_key(&provider)?)?], Vec::new()),
        };
        Ok(Self {
            provider,
            names: RwLock::new(Arc::new(Names::new(&identities))),
            watch: Mutex::new(Watch { checked: Instant::now(), files }),
        })
    }

    /// Checks the files, unless that was done within the last second. Handshakes at the same time use the current
    /// certificates.
    pub(crate) fn reload_if_due(&self, now: Instant) {
        let mut watch = match self.watch.try_lock() {
            Ok(watch) => watch,
            Err(TryLockError::WouldBlock) => return,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        if !watch.files.is_empty() && now.saturating_duration_since(watch.checked) >= CHECK_INTERVAL {
            watch.checked = now;
            self.renew(&mut watch);
        }
    }

    /// Checks the files now.
    pub(crate) fn reload_now(&self) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        watch.checked = Instant::now();
        self.renew(&mut watch);
    }

    fn renew(&self, watch: &mut Watch) {
        let mut renewed = false;
        for files in &mut watch.files {
            renewed |= files.renew(&self.provider);
        }
        if renewed {
            let names = Arc::new(Names::new(watch.files.iter().map(|files| &files.identity)));
            *self.names.write().unwrap_or_else(PoisonError::into_inner) = names;
        }
    }
}

impl WatchedFiles {
    fn read(files: &CertificateFiles, provider: &CryptoProvider) -> Result<Self, TlsSettingsError> {
        let (versions, identity) = Identity::read(files, provider)?;
        Ok(Self { files: files.clone(), versions, fresh: is_fresh(&versions), identity, broken: None })
    }

    /// Reloads the files if they have changed; returns whether there is a new identity.
    fn renew(&mut self, provider: &CryptoProvider) -> bool {
        let now = Identity::versions(&self.files);
        if now == self.versions && !self.fresh {
            self.broken = None;
            return false;
        }
        match Identity::read(&self.files, provider) {
            Ok((versions, identity)) => {
                (self.versions, self.fresh, self.broken) = (versions, is_fresh(&versions), None);
                let is_new = identity.key.cert != self.identity.key.cert || identity.key.ocsp != self.identity.key.ocsp;
                if is_new {
                    let file = self.files.certificate.display();
                    match identity.date_problem() {
                        Some(problem) => tracing::warn!("{file}: the new certificate is in use: {problem}"),
                        None => tracing::info!("{file}: the new certificate is in use"),
                    }
                    self.identity = identity;
                }
                is_new
            }
            Err(error) => {
                self.note_broken(now, &error);
                false
            }
        }
    }

    /// A certificate is often written a moment before its key. If the second check finds the same versions, it is a
    /// mistake, and logged once.
    fn note_broken(&mut self, versions: Versions, error: &TlsSettingsError) {
        match &mut self.broken {
            Some(broken) if broken.versions == versions => {
                if !broken.reported {
                    broken.reported = true;
                    tracing::warn!("{error}; the previous certificate stays in use");
                }
            }
            _ => self.broken = Some(CertificateFileError { versions, reported: false }),
        }
    }
}

fn is_fresh(versions: &Versions) -> bool {
    let now = SystemTime::now();
    versions.iter().flatten().any(|version| version.is_fresh(now))
}

impl ResolvesServerCert for CertificateStore {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.reload_if_due(Instant::now());
        let name = hello.server_name();
        REQUESTED_NAME.set(name.map(Arc::from));
        let names = Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner));
        names.choose(name, hello.signature_schemes())
    }
}

impl ResolvesClientCert for CertificateStore {
    /// The only one, whichever authorities the server trusts: the server's alert says why it rejects it.
    fn resolve(&self, _authorities: &[&[u8]], schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.reload_if_due(Instant::now());
        let names = Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner));
        names.choose(None, schemes)
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

/// The server name that a client has just requested. Taken right after the call that set it.
pub(crate) fn take_requested_name() -> Option<Arc<str>> {
    REQUESTED_NAME.take()
}

thread_local! {
    /// The library passes the name only to the resolver of certificates.
    static REQUESTED_NAME: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
}

/// A check costs some microseconds for each file.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
