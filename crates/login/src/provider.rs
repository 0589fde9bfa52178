//! The provider: its endpoints, and requests for tokens. Everything that waits for it happens on a thread of its own.

mod provider_thread;
mod requests;
mod worker;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serow_fetch::{TlsConnector, TlsSettingsError, connector};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::timeout,
};

pub use self::provider_thread::ProviderThread;
use crate::{
    flow::Exchange,
    metadata::Metadata,
    refreshes::RefreshOutcome,
    session::Session,
    settings::LoginSettings,
    token_response::{ProviderError, TokenSet},
};

/// A provider, as workers see it.
pub(crate) struct Provider {
    settings: Arc<LoginSettings>,
    connector: TlsConnector,
    metadata: watch::Sender<Option<Arc<Metadata>>>,
    /// A browser waits for the endpoints.
    demanded: Notify,
    jobs: mpsc::Sender<Job>,
    /// Taken by the thread.
    received: Mutex<Option<mpsc::Receiver<Job>>>,
}

/// Something that the thread does.
pub(crate) enum Job {
    /// Exchanges a code for tokens.
    Exchange {
        code: String,
        verifier: String,
        redirect_uri: String,
        tokens: oneshot::Sender<Result<TokenSet, ProviderError>>,
    },
    /// Refreshes a session, whether or not somebody still waits for it: the old token is of no use afterwards.
    Refresh { session: Box<Session>, outcome: watch::Sender<Option<RefreshOutcome>> },
}

impl Provider {
    /// The provider of a login.
    ///
    /// # Errors
    ///
    /// The authorities of its certificate cannot be read.
    pub(crate) fn new(settings: Arc<LoginSettings>) -> Result<Self, TlsSettingsError> {
        let (jobs, received) = mpsc::channel(MAX_JOBS);
        Ok(Self {
            connector: connector(settings.ca.as_ref())?,
            settings,
            metadata: watch::Sender::default(),
            demanded: Notify::new(),
            jobs,
            received: Mutex::new(Some(received)),
        })
    }

    /// Its endpoints, if they are known.
    pub(crate) fn metadata(&self) -> Option<Arc<Metadata>> {
        self.metadata.borrow().clone()
    }

    /// Its endpoints; waits for them for a few seconds if they are not known yet.
    pub(crate) async fn wait_for_metadata(&self) -> Option<Arc<Metadata>> {
        let mut metadata = self.metadata.subscribe();
        self.demanded.notify_one();
        let known = timeout(MAX_WAIT, metadata.wait_for(Option::is_some)).await.ok()?.ok()?;
        known.clone()
    }

    /// Exchanges a code for tokens, whose ID token is verified but for its nonce.
    pub(crate) async fn exchange(&self, exchange: &Exchange) -> Result<TokenSet, ProviderError> {
        let (tokens, received) = oneshot::channel();
        let Exchange { code, verifier, redirect_uri, .. } = exchange;
        let (code, verifier, redirect_uri) = (code.clone(), verifier.clone(), redirect_uri.clone());
        let busy = |reason: &str| ProviderError::Unavailable(reason.to_owned());
        let job = Job::Exchange { code, verifier, redirect_uri, tokens };
        self.jobs.try_send(job).map_err(|_| busy("too many requests wait for it"))?;
        received.await.map_err(|_| busy("the server is stopping"))?
    }

    /// Refreshes a session; the outcome comes later, unless too many others wait.
    pub(crate) fn refresh(&self, session: Session, outcome: watch::Sender<Option<RefreshOutcome>>) {
        if let Err(error) = self.jobs.try_send(Job::Refresh { session: Box::new(session), outcome })
            && let Job::Refresh { outcome, .. } = error.into_inner()
        {
            outcome.send_replace(Some(RefreshOutcome::Unavailable));
        }
    }

    fn take_jobs(&self) -> Option<mpsc::Receiver<Job>> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Provider").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// How many requests wait for the thread: each is a browser that waits for its page, and more would be an attack.
const MAX_JOBS: usize = 256;

/// How long a browser waits for the endpoints of a provider that has not answered yet.
const MAX_WAIT: Duration = Duration::from_secs(5);
