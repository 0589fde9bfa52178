//! The authorities, as the tasks of all certificates use them.

use std::{
    cell::RefCell,
    sync::Arc,
    time::{Duration, SystemTime},
};

use instant_acme::{Account, CertificateIdentifier, Error, HttpClient};
use tokio::sync::{Mutex, Semaphore};

use crate::{
    Authority, account,
    failure::{Failure, StaleState},
    schedule::RenewalWindow,
    state::AuthorityRole,
    storage::{Lease, Storage},
};

/// The authorities that certificates are ordered from.
pub(crate) struct Authorities {
    pub(crate) first: AuthorityAccess,
    pub(crate) fallback: Option<AuthorityAccess>,
}

/// The account at an authority, opened when it is needed.
pub(crate) struct AuthorityAccess {
    pub(crate) authority: Authority,
    storage: Arc<Storage>,
    new_client: Box<dyn Fn() -> Box<dyn HttpClient>>,
    account: Mutex<Option<Account>>,
    /// The stored text of the account, as it was last read: it may have to be written back.
    known: RefCell<Option<Vec<u8>>>,
    /// Orders at a time.
    pub(crate) orders: Semaphore,
}

impl Authorities {
    /// The one with this role; the first one where there is no fallback.
    pub(crate) fn of(&self, role: AuthorityRole) -> &AuthorityAccess {
        match role {
            AuthorityRole::First => &self.first,
            AuthorityRole::Fallback => self.fallback.as_ref().unwrap_or(&self.first),
        }
    }
}

impl AuthorityAccess {
    pub(crate) fn new(authority: Authority, storage: Arc<Storage>, client: impl HttpClient + Clone) -> Self {
        Self {
            authority,
            storage,
            new_client: Box::new(move || Box::new(client.clone())),
            account: Mutex::new(None),
            known: RefCell::new(None),
            orders: Semaphore::new(MAX_ORDERS),
        }
    }

    /// The account.
    pub(crate) async fn account(&self) -> Result<Account, Failure> {
        let mut opened = self.account.lock().await;
        if let Some(account) = &*opened {
            return Ok(account.clone());
        }
        // Two processes must not create one each.
        let lease = self.lock().await?;
        let account = account::open(&self.authority, &self.storage, &lease, (self.new_client)()).await;
        if let Err(failure) = &account {
            self.forget_stale(failure, &lease).await?;
        }
        let account = account?;
        *opened = Some(account.clone());
        Ok(account)
    }

    /// The key of the stored account.
    pub(crate) fn account_key(&self) -> String {
        account::storage_key(&self.authority)
    }

    /// Reads the stored account, or writes back the one that is known, where the store has lost it: another account would
    /// not be the one that permanent DNS records and the limits of the authority are for.
    pub(crate) async fn load_account(&self, was_lost: bool) {
        let (key, storage) = (self.account_key(), &self.storage);
        if !storage.may_lose_values() {
            return;
        }
        let known = self.known.borrow().clone().or_else(|| storage.read_copy(&key));
        match (storage.read(&key).await, known) {
            (Ok(None), Some(text)) if was_lost => match storage.restore(&key, None, &text).await {
                Ok(true) => {
                    tracing::info!(
                        "the account at {} was written back to the store, which had lost it",
                        self.authority.directory
                    );
                    self.know(Some(text));
                }
                // The watch brings what another process has written.
                Ok(false) => {}
                Err(error) => tracing::debug!(%error, "the account is not written back"),
            },
            // Without a loss, a process has removed it: the authority does not know it any more.
            (Ok(text), _) => self.know(text),
            (Err(error), _) if error.is_interruption() => {}
            (Err(error), _) => tracing::warn!("{error}"),
        }
    }

    fn know(&self, text: Option<Vec<u8>>) {
        self.storage.keep_copy(&self.account_key(), text.as_deref());
        *self.known.borrow_mut() = text;
    }

    /// After a failure: the next order opens the account again, and learns of new URLs; or creates another account.
    pub(crate) async fn reconsider(&self, failure: &Failure) {
        self.account.lock().await.take();
        if failure.stale != Some(StaleState::Account) {
            return;
        }
        let forgotten = match self.lock().await {
            Ok(lease) => self.forget_stale(failure, &lease).await,
            Err(failure) => Err(failure),
        };
        if let Err(failure) = forgotten {
            tracing::warn!("the stored account cannot be removed: {failure}");
        }
    }

    async fn forget_stale(&self, failure: &Failure, lease: &Lease) -> Result<(), Failure> {
        match failure.stale {
            Some(StaleState::Account) => account::forget(&self.authority, &self.storage, lease).await,
            _ => Ok(()),
        }
    }

    /// The right to change the stored account.
    async fn lock(&self) -> Result<Lease, Failure> {
        loop {
            match self.storage.lock("account").await? {
                Some(lease) => return Ok(lease),
                None => tokio::time::sleep(LOCK_INTERVAL).await,
            }
        }
    }

    /// When the authority suggests to renew a certificate, and after what time to ask again (RFC 9773 §4).
    pub(crate) async fn renewal_window(
        &self,
        certificate: &CertificateIdentifier<'_>,
    ) -> (Option<RenewalWindow>, Duration) {
        let Ok(account) = self.account().await else { return (None, UNANSWERED) };
        match account.renewal_info(certificate).await {
            Ok((info, again)) => {
                let window = info.suggested_window;
                let (start, end) = (SystemTime::from(window.start), SystemTime::from(window.end));
                (Some(RenewalWindow { start, end }), again)
            }
            Err(Error::Unsupported(_)) => (None, Duration::MAX),
            Err(error) => {
                tracing::debug!(%error, "the authority does not say when to renew a certificate");
                (None, UNANSWERED)
            }
        }
    }
}

/// Orders at a time: enough for a thousand names in some minutes, and few for an authority (Let's Encrypt allows 300 new
/// orders in three hours).
const MAX_ORDERS: usize = 16;

/// How often a lock that another process has is tried.
pub(crate) const LOCK_INTERVAL: Duration = Duration::from_millis(500);

/// After a question about renewal that was not answered (RFC 9773 §4.3.3: a time of one's own, such as six hours).
const UNANSWERED: Duration = Duration::from_secs(6 * 3600);
