//! Orders, renewal windows and revocation of a certificate.

use std::time::{Duration, SystemTime};

use instant_acme::{RevocationReason, RevocationRequest};
use tokio::time::sleep;

use super::MaintainedCertificate;
use crate::{
    NOTICE,
    authority::LOCK_INTERVAL,
    failure::{Failure, FailureKind, StaleState},
    issued::IssuedCertificate,
    manager::ManagerState,
    order::{self, OrderContext},
    response_notes,
    schedule::LastOrder,
    state::{AuthorityRole, CertificateStep},
    storage::{Lease, Storage},
};

impl MaintainedCertificate {
    pub(crate) async fn ask(&self, shared: &ManagerState, now: SystemTime) {
        let identifier = self.issued.borrow().as_ref().and_then(IssuedCertificate::identifier);
        let (window, again) = match (identifier, self.issuer()) {
            // Only the one that has issued a certificate knows when it is to be replaced.
            (Some(identifier), Some(role)) => shared.authorities.of(role).renewal_window(&identifier).await,
            _ => (None, Duration::MAX),
        };
        let was_early = self.state.borrow().early_renewal().is_some();
        self.state.borrow_mut().asked(now, window, again);
        if !was_early {
            self.log_early_renewal(now);
        }
    }

    pub(crate) async fn order(&self, shared: &ManagerState, role: AuthorityRole) {
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
        if self.next((shared.now)()) != CertificateStep::Order(role) && !is_requested {
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
    async fn obtain(
        &self,
        shared: &ManagerState,
        role: AuthorityRole,
        lease: &Lease,
    ) -> Result<IssuedCertificate, Failure> {
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
    async fn keep(&self, shared: &ManagerState, lease: &Lease, issued: IssuedCertificate) -> Result<(), Failure> {
        let storage = &shared.answers.storage;
        let now = (shared.now)();
        let clock = order::check_clock(&issued, now);
        let previous = self.issued.borrow().as_ref().and_then(|issued| issued.order);
        let order = LastOrder::following(previous, now, issued.validity);
        let issued = issued.of_order(order);
        // One that clients accept stays. Without one, the clock of this machine may be the wrong one.
        if self.is_valid(now) {
            clock.clone()?;
        }
        storage.keep_copy(&self.key, Some(issued.pem.as_bytes()));
        // Until it is stored, the order is: then it is not ordered again after a crash.
        if let Err(error) = storage.write(lease, &self.key, issued.pem.as_bytes()).await {
            // When the store can be used again, the certificate is missing there, and is written back.
            if error.is_interruption() && storage.may_lose_values() {
                self.install(issued);
            }
            return Err(error.into());
        }
        let valid_until = httpdate::fmt_http_date(issued.validity.not_after);
        tracing::info!(
            target: NOTICE,
            "{self}: a new certificate by {} is in use, which is valid until {valid_until}",
            issued.issuer
        );
        self.install(issued);
        self.last_order_end.set(Some(now));
        self.log_early_renewal(now);
        for role in self.roles() {
            // An order that another authority has not finished would be for a key that is never used.
            self.remove(storage, lease, &self.source(role).order_key).await;
            self.remove(storage, lease, &self.source(role).failures_key).await;
        }
        clock
    }

    /// Logs a failure, and stores it for the next process if this one has the lock.
    async fn note_failure(&self, shared: &ManagerState, role: AuthorityRole, failure: &Failure, lease: Option<&Lease>) {
        let now = (shared.now)();
        self.state.borrow_mut().failed(now, role, failure);
        self.last_order_end.set(Some(now));
        let state = self.state.borrow().clone();
        self.log_failure(&state, now);
        let (Some(lease), Some(failures)) = (lease, state.failures(role)) else { return };
        let Ok(text) = serde_json::to_vec(failures) else { return };
        if let Err(error) = shared.answers.storage.write(lease, &self.source(role).failures_key, &text).await {
            tracing::debug!(%error, "a failure is not stored");
        }
    }

    /// Has the authority revoke the certificate in use, if someone wants that.
    async fn revoke(&self, shared: &ManagerState) -> Result<(), Failure> {
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

    async fn remove(&self, storage: &Storage, lease: &Lease, key: &str) {
        if let Err(error) = storage.remove(lease, key).await
            && !error.is_interruption()
        {
            tracing::warn!("{self}: {error}");
        }
    }

    fn lock_name(&self) -> String {
        self.key.replace('/', "+")
    }
}

/// An order that has failed so often in a row, although the authority answered, is given up for another one.
const MAX_SUSPICIONS: u32 = 3;
