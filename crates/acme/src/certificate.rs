//! The task of one certificate: it orders, installs and renews.

use std::{
    cell::{Cell, RefCell},
    fmt, iter,
    time::{Duration, SystemTime},
};

use instant_acme::{RevocationReason, RevocationRequest};
use serow_tls::CertificateTable;
use tokio::{sync::Notify, time::sleep};

use crate::{
    AcmeSettings, Authority, CertificateAction, CertificateReport, CertificateRequest,
    authority::LOCK_INTERVAL,
    failure::{Failure, FailureKind, StaleState},
    issued::{self, IssuedCertificate},
    manager::Shared,
    order::{self, OrderContext},
    response_notes,
    state::{AuthorityRole, CertificateState, Failures, Step},
    storage::{Lease, Storage},
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
        }
    }

    /// Installs the stored certificate, if it is another one than the one in use, and remembers stored failures.
    pub(crate) async fn load(&self, storage: &Storage, now: SystemTime) {
        let stored = match storage.read(&self.key).await {
            Ok(stored) => stored,
            Err(error) if error.is_interruption() => return,
            Err(error) => return tracing::warn!("{error}"),
        };
        if !self.is_in_use(stored.as_deref()) {
            let parsed = stored.as_ref().and_then(|pem| self.parse(pem));
            match self.lost(parsed.as_ref(), now).filter(|_| storage.may_lose_values()) {
                Some(pem) => self.restore(storage, stored.as_deref(), &pem).await,
                None => parsed.into_iter().for_each(|issued| self.install(issued)),
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
    pub(crate) async fn maintain(&self, shared: &Shared, number: usize) {
        loop {
            shared.reports.update(number, self.report());
            let now = (shared.now)();
            match self.next(now) {
                Step::Order(role) => self.order(shared, role).await,
                Step::AskRenewalWindow => self.ask(shared, now).await,
                Step::WaitUntil(time) => self.wait(time.duration_since(now).unwrap_or_default()).await,
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

    /// What is to be done now.
    pub(crate) fn next(&self, now: SystemTime) -> Step {
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

    pub(crate) async fn ask(&self, shared: &Shared, now: SystemTime) {
        let identifier = self.issued.borrow().as_ref().and_then(IssuedCertificate::identifier);
        let (window, again) = match (identifier, self.issuer()) {
            // Only the one that has issued a certificate knows when it is to be replaced.
            (Some(identifier), Some(role)) => shared.authorities.of(role).renewal_window(&identifier).await,
            _ => (None, Duration::MAX),
        };
        self.state.borrow_mut().asked(now, window, again);
    }

    pub(crate) async fn order(&self, shared: &Shared, role: AuthorityRole) {
        let authority = shared.authorities.of(role);
        let _permit = tokio::select! {
            // The semaphore is never closed.
            permit = authority.orders.acquire() => permit,
            // Another process may have ordered it meanwhile.
            () = self.woken.notified() => return,
        };
        let storage = &shared.answers.storage;
        let lease = match storage.lock(&self.lock_name()).await {
            Ok(lease) => lease,
            Err(error) if error.is_interruption() => return sleep(LOCK_INTERVAL).await,
            Err(error) => return self.note_failure(shared, role, &Failure::from(error), None).await,
        };
        let Some(lease) = lease else {
            // Another process orders it.
            return tokio::select! {
                () = sleep(LOCK_INTERVAL) => self.load(storage, (shared.now)()).await,
                () = self.woken.notified() => {}
            };
        };
        // It may have been ordered before the lock was free.
        let is_requested = self.is_renewal_requested();
        self.load(storage, (shared.now)()).await;
        if self.next((shared.now)()) != Step::Order(role) && !is_requested {
            return;
        }
        let outcome = response_notes::scope(async {
            let outcome = self.obtain(shared, role, &lease).await;
            outcome.map_err(|failure| Failure { retry_after: response_notes::retry_after(), ..failure })
        });
        let outcome = match outcome.await {
            Ok(issued) => self.keep(shared, &lease, issued).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = outcome {
            if failure.kind == FailureKind::Interrupted {
                tracing::debug!("{self}: the order is interrupted: {failure}");
                return sleep(LOCK_INTERVAL).await;
            }
            if self.is_useless_after(role, &failure) {
                self.remove(storage, &lease, &self.source(role).order_key).await;
            }
            authority.reconsider(&failure).await;
            self.note_failure(shared, role, &failure, Some(&lease)).await;
        }
    }

    /// Obtains a certificate from this authority. If the names cannot be validated in one way, it tries the next one at
    /// once, with another order: an authority may not reach one of the ports.
    async fn obtain(&self, shared: &Shared, role: AuthorityRole, lease: &Lease) -> Result<IssuedCertificate, Failure> {
        self.revoke(shared).await?;
        let account = shared.authorities.of(role).account().await?;
        let source = self.source(role);
        let is_issuer = self.issuer() == Some(role);
        let replaced = self.issued.borrow().as_ref().filter(|_| is_issuer).and_then(IssuedCertificate::identifier);
        let mut context = OrderContext {
            account: &account,
            request: &self.request,
            profile: source.profile.as_deref(),
            chain: source.chain.as_deref(),
            fallback: (role == AuthorityRole::Fallback).then_some(&source.directory),
            storage: &shared.answers.storage,
            lease,
            key: &source.order_key,
            answers: &shared.answers,
            replaces: replaced,
            way: 0,
        };
        let ways = self.request.names.iter().map(|name| shared.answers.settings.methods(name).len()).max().unwrap_or(1);
        loop {
            match context.obtain().await {
                Err(failure) if failure.kind == FailureKind::Refused && context.way + 1 < ways => {
                    tracing::info!("{self}: {failure}; another challenge is tried");
                    self.remove(&shared.answers.storage, lease, &source.order_key).await;
                    context.way += 1;
                }
                outcome => return outcome,
            }
        }
    }

    /// Whether the stored order is of no use after this failure.
    fn is_useless_after(&self, role: AuthorityRole, failure: &Failure) -> bool {
        match failure.stale {
            Some(StaleState::Order) => true,
            Some(StaleState::SuspectOrder) => self
                .state
                .borrow()
                .failures(role)
                .is_some_and(|failures| failures.kind == failure.kind && failures.count_of_kind >= MAX_SUSPICIONS),
            Some(StaleState::Account) | None => false,
        }
    }

    /// Stores and installs a new certificate.
    async fn keep(&self, shared: &Shared, lease: &Lease, issued: IssuedCertificate) -> Result<(), Failure> {
        let storage = &shared.answers.storage;
        let now = (shared.now)();
        let clock = order::check_clock(&issued, now);
        // One that clients accept stays. Without one, the clock of this machine may be the wrong one.
        if self.is_valid(now) {
            clock.clone()?;
        }
        // Until it is stored, the order is: then it is not ordered again after a crash.
        if let Err(error) = storage.write(lease, &self.key, issued.pem.as_bytes()).await {
            // When the store can be used again, the certificate is missing there, and is written back.
            if error.is_interruption() && storage.may_lose_values() {
                self.install(issued);
            }
            return Err(error.into());
        }
        tracing::info!("{self}: a new certificate by {} is in use", issued.issuer);
        self.install(issued);
        for role in self.roles() {
            // An order that another authority has not finished would be for a key that is never used.
            self.remove(storage, lease, &self.source(role).order_key).await;
            self.remove(storage, lease, &self.source(role).failures_key).await;
        }
        clock
    }

    fn install(&self, issued: IssuedCertificate) {
        self.table.install(&self.names(), &issued.server);
        if self.is_first {
            self.table.set_default(&issued.server);
        }
        self.state.borrow_mut().installed(issued.validity, issued.spread());
        *self.issued.borrow_mut() = Some(issued);
    }

    /// Logs a failure, and stores it for the next process if this one has the lock.
    async fn note_failure(&self, shared: &Shared, role: AuthorityRole, failure: &Failure, lease: Option<&Lease>) {
        let now = (shared.now)();
        self.state.borrow_mut().failed(now, role, failure);
        let state = self.state.borrow().clone();
        self.log_failure(&state, now);
        let (Some(lease), Some(failures)) = (lease, state.failures(role)) else { return };
        let Ok(text) = serde_json::to_vec(failures) else { return };
        if let Err(error) = shared.answers.storage.write(lease, &self.source(role).failures_key, &text).await {
            tracing::debug!(%error, "a failure is not stored");
        }
    }

    /// One line with the failures of all authorities, and what comes next.
    fn log_failure(&self, state: &CertificateState, now: SystemTime) {
        let text = self.failure_text(state).unwrap_or_default();
        if let (Step::Order(AuthorityRole::Fallback), Some(fallback)) = (state.next(now), &self.fallback) {
            return tracing::warn!("{self}: {text}; the order goes on at the fallback {}", fallback.directory);
        }
        let wait = state.next_order().and_then(|next| next.duration_since(now).ok()).unwrap_or_default();
        let meanwhile = match state.validity() {
            Some(validity) if validity.contains(now) => "; the present certificate stays in use",
            Some(_) => "; the certificate in use has EXPIRED",
            None => "",
        };
        tracing::warn!("{self}: no new certificate: {text}; the next attempt is in {}{meanwhile}", minutes(wait));
    }

    /// Why the last order failed; with a fallback, why it failed at both authorities.
    fn failure_text(&self, state: &CertificateState) -> Option<String> {
        let first = state.failures(AuthorityRole::First)?.text.clone();
        let Some((fallback, failures)) = self.fallback.as_ref().zip(state.failures(AuthorityRole::Fallback)) else {
            return Some(first);
        };
        Some(format!("{first}; the fallback {}: {}", fallback.directory, failures.text))
    }

    async fn remove(&self, storage: &Storage, lease: &Lease, key: &str) {
        if let Err(error) = storage.remove(lease, key).await
            && !error.is_interruption()
        {
            tracing::warn!("{self}: {error}");
        }
    }

    /// Loads what another process has changed.
    pub(crate) async fn reload(&self, shared: &Shared) {
        self.load(&shared.answers.storage, (shared.now)()).await;
        self.woken.notify_one();
    }

    /// Someone has given a command.
    pub(crate) fn request(&self, action: CertificateAction) {
        self.is_revocation_requested.set(action == CertificateAction::Revoke);
        self.state.borrow_mut().request_renewal();
        self.woken.notify_one();
    }

    /// Has the authority revoke the certificate in use, if someone wants that.
    async fn revoke(&self, shared: &Shared) -> Result<(), Failure> {
        if !self.is_revocation_requested.get() {
            return Ok(());
        }
        let certificate = self.issued.borrow().as_ref().and_then(|issued| issued.der().cloned());
        if let (Some(certificate), Some(role)) = (certificate, self.issuer()) {
            let account = shared.authorities.of(role).account().await?;
            let request =
                RevocationRequest { certificate: &certificate, reason: Some(RevocationReason::KeyCompromise) };
            match account.revoke(&request).await {
                Ok(()) => {
                    self.state.borrow_mut().revoked();
                    tracing::warn!("{self}: the authority has revoked the certificate");
                }
                Err(error) => {
                    let failure = Failure::of_authority(&error);
                    if failure.kind != FailureKind::Refused {
                        return Err(failure);
                    }
                    // It cannot be revoked: it was already, or it is another authority's.
                    tracing::warn!("{self}: the certificate is not revoked: {failure}");
                }
            }
        }
        self.is_revocation_requested.set(false);
        Ok(())
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

    pub(crate) fn report(&self) -> CertificateReport {
        let state = self.state.borrow();
        CertificateReport {
            names: self.names(),
            issuer: self.issued.borrow().as_ref().map(|issued| issued.issuer.clone()),
            expires: state.validity().map(|validity| validity.not_after),
            next_order: state.next_order(),
            failures: self.roles().filter_map(|role| state.failures(role)).map(|failures| failures.count).sum(),
            last_error: self.failure_text(&state),
            is_on_demand: false,
        }
    }

    fn lock_name(&self) -> String {
        self.key.replace('/', "+")
    }
}

fn minutes(wait: Duration) -> String {
    match wait.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} minutes", seconds / 60),
        seconds => format!("{} hours", seconds / 3600),
    }
}

/// An order that has failed so often in a row, although the authority answered, is given up for another one.
const MAX_SUSPICIONS: u32 = 3;

/// The clock may be set, or the machine suspended: so the time is looked at again.
const MAX_SLEEP: Duration = Duration::from_secs(3600);

impl fmt::Display for MaintainedCertificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, name) in self.request.names.iter().enumerate() {
            write!(formatter, "{}{name}", if number == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
