//! The provider: its endpoints, and requests for tokens. Everything that waits for it happens on a thread of its own.

mod known_keys;
mod provider_thread;
mod refreshing;
mod requests;
mod tokens;
mod worker;

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serow_client::fetch::{TlsConnector, TlsSettingsError, connector};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    time::timeout,
};

pub use self::provider_thread::ProviderThread;
use crate::openid::{
    exchange_limit::{CountedExchange, ExchangeLimit},
    flow::CodeExchange,
    metadata::Metadata,
    refreshes::{OutcomeSender, RefreshOutcome},
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
    exchanges: mpsc::Sender<ExchangeJob>,
    refreshes: mpsc::Sender<RefreshJob>,
    limit: ExchangeLimit,
    /// Taken by the thread.
    received: Mutex<Option<Jobs>>,
}

/// The thread's jobs. False codes, which any client can bring, do not keep sessions from being refreshed.
struct Jobs {
    exchanges: mpsc::Receiver<ExchangeJob>,
    refreshes: mpsc::Receiver<RefreshJob>,
}

/// A code that is exchanged for tokens.
struct ExchangeJob {
    code: String,
    verifier: String,
    redirect_uri: String,
    tokens: oneshot::Sender<Result<TokenSet, ProviderError>>,
    /// A browser that leaves counts until its turn comes.
    _counted: CountedExchange,
}

/// A session that is refreshed, whether or not somebody still waits for it: the old token is of no use afterwards.
struct RefreshJob {
    session: Arc<Session>,
    outcome: OutcomeSender,
}

/// Why a code is not exchanged.
pub(crate) enum ExchangeError {
    /// So many others of the same client, or of all, wait.
    Busy,
    /// The provider does not give out tokens.
    Provider(ProviderError),
}

impl Provider {
    /// The provider of a login.
    ///
    /// # Errors
    ///
    /// The authorities of its certificate cannot be read.
    pub(crate) fn new(settings: Arc<LoginSettings>) -> Result<Self, TlsSettingsError> {
        let ((exchanges, exchanged), (refreshes, refreshed)) = (mpsc::channel(MAX_JOBS), mpsc::channel(MAX_JOBS));
        Ok(Self {
            connector: connector(settings.ca.as_ref())?,
            settings,
            metadata: watch::Sender::default(),
            demanded: Notify::new(),
            exchanges,
            refreshes,
            limit: ExchangeLimit::default(),
            received: Mutex::new(Some(Jobs { exchanges: exchanged, refreshes: refreshed })),
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

    /// Exchanges the code of this client for tokens, whose ID token is verified but for its nonce.
    pub(crate) async fn exchange(
        &self,
        exchange: &CodeExchange,
        client: Option<IpAddr>,
    ) -> Result<TokenSet, ExchangeError> {
        let counted = self.limit.enter(client).ok_or(ExchangeError::Busy)?;
        let (tokens, received) = oneshot::channel();
        let CodeExchange { code, verifier, redirect_uri, .. } = exchange;
        let (code, verifier, redirect_uri) = (code.clone(), verifier.clone(), redirect_uri.clone());
        let job = ExchangeJob { code, verifier, redirect_uri, tokens, _counted: counted };
        self.exchanges.try_send(job).map_err(|_| ExchangeError::Busy)?;
        let outcome =
            received.await.unwrap_or_else(|_| Err(ProviderError::Unavailable("the server is stopping".to_owned())));
        outcome.map_err(ExchangeError::Provider)
    }

    /// Refreshes a session; the outcome comes later, unless too many others wait.
    pub(crate) fn refresh(&self, session: Arc<Session>, outcome: OutcomeSender) {
        if let Err(error) = self.refreshes.try_send(RefreshJob { session, outcome }) {
            error.into_inner().outcome.send_replace(Some(RefreshOutcome::Unavailable));
        }
    }

    fn take_jobs(&self) -> Option<Jobs> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Provider").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// How many codes, and how many sessions, wait for the thread: each is a browser that waits for its page, and more would
/// be an attack.
const MAX_JOBS: usize = 128;

/// How long a browser waits for the endpoints of a provider that has not answered yet.
const MAX_WAIT: Duration = Duration::from_secs(5);
