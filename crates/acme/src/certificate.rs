//! The task of one certificate: it orders, installs and renews.

mod description;
mod ordering;

use std::{
    cell::{Cell, RefCell},
    iter,
    time::{Duration, SystemTime},
};

use serow_tls::CertificateTable;
use tokio::{sync::Notify, time::sleep};

use crate::{
    AcmeSettings, Authority, CertificateAction, CertificateRequest,
    issued::{self, IssuedCertificate},
    manager::ManagerState,
    state::{AuthorityRole, CertificateState, CertificateStep, Failures},
    storage::Storage,
};

/// A certificate that the manager maintains.
pub(crate) struct MaintainedCertificate {
    request: CertificateRequest,
    first: Source,
    fallback: Option<Source>,
    table: CertificateTable,
    /// Whether it is the first: clients without a server name get it.
    is_first: bool,
    /// Where the certificate is stored, whoever issued it.
    key: String,
    state: RefCell<CertificateState>,
    /// The certificate in use.
    issued: RefCell<Option<IssuedCertificate>>,
    /// Another process has changed something, or someone gave a command.
    woken: Notify,
    is_revocation_requested: Cell<bool>,
    /// When the last order ended, successfully or not.
    last_order_end: Cell<Option<SystemTime>>,
}

/// An authority that can issue the certificate.
struct Source {
    directory: String,
    profile: Option<String>,
    chain: Option<String>,
    /// Where an order that was begun there is stored: its URL must never be sent to another authority.
    order_key: String,
    failures_key: String,
}

impl Source {
    fn new(authority: &Authority, id: &str) -> Self {
        let folder = authority.folder();
        Self {
            directory: authority.directory.clone(),
            profile: authority.profile.clone(),
            chain: authority.chain.clone(),
            order_key: format!("{folder}/orders/{id}.pem.json"),
            failures_key: format!("{folder}/failures/{id}.pem.json"),
        }
    }
}

impl MaintainedCertificate {
    pub(crate) fn new(request: &CertificateRequest, settings: &AcmeSettings) -> Self {
        let id = request.id(settings.authority.profile.as_deref());
        let state = CertificateState::new(issued::spread(id.as_bytes())).with_fallback(settings.fallback.is_some());
        Self {
            request: request.clone(),
            first: Source::new(&settings.authority, &id),
            fallback: settings.fallback.as_ref().map(|authority| Source::new(authority, &id)),
            table: settings.table.clone(),
            is_first: settings.certificates.first() == Some(request),
            key: format!("{}/certificates/{id}.pem", settings.authority.folder()),
            state: RefCell::new(state),
            issued: RefCell::default(),
            woken: Notify::new(),
            is_revocation_requested: Cell::new(false),
            last_order_end: Cell::new(None),
        }
    }

    /// The process has just started: see [`CertificateState::of_fresh_process`].
    pub(crate) fn of_fresh_process(self) -> Self {
        Self { state: RefCell::new(self.state.into_inner().of_fresh_process()), ..self }
    }

    /// Installs the certificate of the copy on this machine, if none is in use yet.
    pub(crate) fn load_copy(&self, storage: &Storage) {
        if !self.is_installed()
            && let Some(issued) = storage.read_copy(&self.key).and_then(|pem| self.parse(&pem))
        {
            self.install(issued);
        }
    }

    /// Installs the stored certificate, if it is another one than the one in use, and remembers stored failures.
    pub(crate) async fn load(&self, storage: &Storage, now: SystemTime) {
        self.load_copy(storage);
        let stored = match storage.read(&self.key).await {
            Ok(stored) => stored,
            Err(error) if error.is_interruption() => return,
            Err(error) => return tracing::warn!("{error}"),
        };
        if !self.is_in_use(stored.as_deref()) {
            let parsed = stored.as_ref().and_then(|pem| self.parse(pem));
            match self.lost(parsed.as_ref(), now).filter(|_| storage.may_lose_values()) {
                Some(pem) => self.restore(storage, stored.as_deref(), &pem).await,
                None => {
                    if let Some(issued) = parsed {
                        storage.keep_copy(&self.key, Some(issued.pem.as_bytes()));
                        // Another process has ordered it.
                        self.last_order_end.set(self.is_installed().then_some(now));
                        self.install(issued);
                    }
                }
            }
        }
        for role in self.roles() {
            let Ok(failures) = storage.read(&self.source(role).failures_key).await else { return };
            let failures: Option<Failures> = failures.and_then(|text| serde_json::from_slice(&text).ok());
            self.state.borrow_mut().remember(now, role, failures);
        }
    }

    /// The authorities that there are.
    fn roles(&self) -> impl Iterator<Item = AuthorityRole> {
        iter::once(AuthorityRole::First).chain(self.fallback.as_ref().map(|_| AuthorityRole::Fallback))
    }

    fn source(&self, role: AuthorityRole) -> &Source {
        match role {
            AuthorityRole::First => &self.first,
            AuthorityRole::Fallback => self.fallback.as_ref().unwrap_or(&self.first),
        }
    }

    /// The issuer of the certificate in use: none if it is a fallback that the settings do not have any more.
    fn issuer(&self) -> Option<AuthorityRole> {
        let issued = self.issued.borrow();
        match (issued.as_ref()?.fallback.as_deref(), &self.fallback) {
            (None, _) => Some(AuthorityRole::First),
            (Some(directory), Some(fallback)) => (directory == fallback.directory).then_some(AuthorityRole::Fallback),
            (Some(_), None) => None,
        }
    }

    fn is_in_use(&self, stored: Option<&[u8]>) -> bool {
        self.issued.borrow().as_ref().map(|issued| issued.pem.as_bytes()) == stored
    }

    /// The stored certificate, if it can be used.
    fn parse(&self, pem: &[u8]) -> Option<IssuedCertificate> {
        let pem = String::from_utf8(pem.to_vec()).ok()?;
        match IssuedCertificate::parse(pem) {
            Ok(issued) if issued.covers(&self.request.names) => return Some(issued),
            Ok(_) => tracing::warn!("{}: the certificate is for other names: another one is ordered", self.key),
            Err(problem) => tracing::warn!("{}: {problem}: another one is ordered", self.key),
        }
        None
    }

    /// The certificate in use, if the store has lost it: it is valid, and the store has none or an older one.
    fn lost(&self, stored: Option<&IssuedCertificate>, now: SystemTime) -> Option<String> {
        let issued = self.issued.borrow();
        let issued = issued.as_ref().filter(|issued| issued.validity.contains(now))?;
        stored.is_none_or(|stored| issued.is_newer_than(stored)).then(|| issued.pem.clone())
    }

    /// Writes back what the store has lost. Another process may do the same: the newest certificate remains.
    async fn restore(&self, storage: &Storage, stored: Option<&[u8]>, pem: &str) {
        match storage.restore(&self.key, stored, pem.as_bytes()).await {
            Ok(true) => {
                tracing::info!("{self}: the certificate in use was written back to the store, which had lost it")
            }
            // The watch brings what another process has written.
            Ok(false) => {}
            Err(error) if error.is_interruption() => {}
            Err(error) => tracing::warn!("{error}"),
        }
    }

    /// Orders and renews without end.
    pub(crate) async fn maintain(&self, shared: &ManagerState, number: usize) {
        loop {
            shared.reports.update(number, self.report());
            let now = (shared.now)();
            match self.next(now) {
                CertificateStep::Order(role) => self.order(shared, role).await,
                CertificateStep::AskRenewalWindow => self.ask(shared, now).await,
                CertificateStep::WaitUntil(time) => self.wait(time.duration_since(now).unwrap_or_default()).await,
            }
        }
    }

    /// Waits for this time, or until something has changed.
    pub(crate) async fn wait(&self, time: Duration) {
        tokio::select! {
            // The clock may be set meanwhile.
            () = sleep(time.min(MAX_SLEEP)) => {}
            // It is loaded.
            () = self.woken.notified() => {}
        }
    }

    /// Returns the step that is due now, or the wait until the next one.
    pub(crate) fn next(&self, now: SystemTime) -> CertificateStep {
        self.state.borrow().next(now)
    }

    /// Whether someone wants a new certificate now.
    pub(crate) fn is_renewal_requested(&self) -> bool {
        self.state.borrow().is_renewal_requested()
    }

    /// Whether the certificate in use is valid.
    pub(crate) fn is_valid(&self, now: SystemTime) -> bool {
        self.state.borrow().validity().is_some_and(|validity| validity.contains(now))
    }

    /// How long the certificate in use is still valid; nothing where there is none.
    pub(crate) fn rest(&self, now: SystemTime) -> Option<Duration> {
        self.state.borrow().validity()?.not_after.duration_since(now).ok()
    }

    /// Clients do not get the certificate any more.
    pub(crate) fn uninstall(&self) {
        self.table.remove(&self.names());
    }

    fn install(&self, issued: IssuedCertificate) {
        self.table.install(&self.names(), &issued.server);
        if self.is_first {
            self.table.set_default(&issued.server);
        }
        self.state.borrow_mut().installed(issued.validity, issued.order, issued.spread());
        *self.issued.borrow_mut() = Some(issued);
    }

    /// Loads what another process has changed.
    pub(crate) async fn reload(&self, shared: &ManagerState) {
        self.load(&shared.answers.storage, (shared.now)()).await;
        self.woken.notify_one();
    }

    /// Someone has given a command.
    pub(crate) fn request(&self, action: CertificateAction) {
        self.is_revocation_requested.set(action == CertificateAction::Revoke);
        self.state.borrow_mut().request_renewal();
        self.woken.notify_one();
    }

    fn names(&self) -> Vec<String> {
        self.request.names.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.request.names.iter().any(|own| own.to_string().eq_ignore_ascii_case(name))
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.issued.borrow().is_some()
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

/// The clock may be set, or the machine suspended: so the time is looked at again.
const MAX_SLEEP: Duration = Duration::from_secs(3600);
