//! The worker that sends requests to a provider, on the thread for all providers: its endpoints, and the queues.

use std::{
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use crate::jwt::{Expectations, Verifier};
use bytes::Bytes;
use http::{Request, header};
use serow_client::fetch::{FetchClient, FetchLimits};
use serow_net::time;
use tokio::{
    sync::{Semaphore, mpsc},
    task::spawn_local,
    time::sleep,
};

use super::{ExchangeJob, Jobs, Provider, RefreshJob, known_keys::KnownKeys};
use crate::openid::{login::Login, metadata::Metadata};

/// Sends requests to one provider.
pub(super) struct Worker {
    pub(super) login: Login,
    pub(super) provider: Arc<Provider>,
    pub(super) client: FetchClient,
    /// Client for refreshes: their responses are worth waiting for, since the old tokens may be of no use afterwards.
    pub(super) patient: FetchClient,
    pub(super) verifier: Verifier,
    /// Locked while they are fetched: one request for all who need them.
    pub(super) keys: tokio::sync::Mutex<KnownKeys>,
}

impl Worker {
    pub(super) fn new(login: Login) -> Self {
        let provider = Arc::clone(login.provider());
        let (issuers, audiences) = (vec![provider.settings.issuer.clone()], vec![provider.settings.client_id.clone()]);
        Self {
            client: FetchClient::start(provider.connector.clone(), FetchLimits::default()),
            patient: FetchClient::start(
                provider.connector.clone(),
                FetchLimits { timeout: REFRESH_TIMEOUT, ..FetchLimits::default() },
            ),
            verifier: Verifier::new(Expectations { issuers, audiences, ..Expectations::default() }),
            keys: tokio::sync::Mutex::default(),
            login,
            provider,
        }
    }

    /// Keeps the endpoints up to date, without end.
    pub(super) async fn maintain(self: Rc<Self>) {
        let (mut failures, mut last_warning) = (0_u32, None::<Instant>);
        loop {
            let delay = match self.discover().await {
                Ok(metadata) => {
                    failures = 0;
                    self.provider.metadata.send_replace(Some(Arc::new(metadata)));
                    METADATA_LIFETIME
                }
                Err(problem) => {
                    failures = failures.saturating_add(1);
                    if last_warning.is_none_or(|last| time::now().duration_since(last) >= WARNING_INTERVAL) {
                        last_warning = Some(time::now());
                        tracing::warn!("login by {}: {problem}; sessions go on", self.provider.settings.issuer);
                    }
                    (FIRST_DELAY * 2_u32.saturating_pow(failures.min(10))).min(MAX_DELAY)
                }
            };
            // At most once a second, whatever browsers wait for.
            sleep(delay.min(FIRST_DELAY)).await;
            let is_known = self.provider.metadata.borrow().is_some();
            tokio::select! {
                () = sleep(delay.saturating_sub(FIRST_DELAY)) => {}
                () = self.provider.demanded.notified(), if !is_known => {}
            }
        }
    }

    async fn discover(&self) -> Result<Metadata, String> {
        let issuer = &self.provider.settings.issuer;
        let url = Metadata::url(issuer);
        let body = self.get(&url).await?;
        Metadata::read(&body, issuer).map_err(|problem| format!("the document at {url} {problem}"))
    }

    pub(super) async fn get(&self, url: &str) -> Result<Bytes, String> {
        let request = Request::get(url).header(header::ACCEPT, "application/json").body(Bytes::new());
        let request = request.map_err(|error| format!("{url} cannot be fetched: {error}"))?;
        let response = self.client.fetch(request).await.map_err(|error| match error.is_untrusted() {
            true => format!("{error}; if it has a certificate of a private authority, set `ca`"),
            false => error.to_string(),
        })?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            status => Err(format!("{url} has the status {status}")),
        }
    }

    /// Does what browsers wait for, many at a time.
    pub(super) async fn work(self: Rc<Self>) {
        let Some(Jobs { exchanges, refreshes }) = self.provider.take_jobs() else { return };
        let exchanging = each(exchanges, |ExchangeJob { code, verifier, redirect_uri, tokens, _counted }| {
            let this = Rc::clone(&self);
            async move {
                // A browser that has gone would have no use for the session.
                if tokens.is_closed() {
                    return;
                }
                let outcome = this.exchange(&code, &verifier, &redirect_uri).await;
                if let Err(error) = &outcome {
                    this.login.warn("no login", error);
                }
                let _ = tokens.send(outcome);
            }
        });
        let refreshing = each(refreshes, |RefreshJob { session, outcome }| {
            let this = Rc::clone(&self);
            async move { drop(outcome.send_replace(Some(this.refresh(&session).await))) }
        });
        tokio::join!(exchanging, refreshing);
    }
}

/// Does each job, several at a time. The others wait in the queue, which is bounded.
async fn each<J, F: Future<Output = ()> + 'static>(mut jobs: mpsc::Receiver<J>, perform: impl Fn(J) -> F) {
    let permits = Arc::new(Semaphore::new(MAX_IN_FLIGHT));
    // It is never closed.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let Some(job) = jobs.recv().await else { return };
        let performed = perform(job);
        spawn_local(async move {
            performed.await;
            drop(permit);
        });
    }
}

/// Requests do not wait for it: they go on with their sessions after seconds.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

/// Endpoints seldom change, and without a request in an hour the provider would learn of it late.
const METADATA_LIFETIME: Duration = Duration::from_secs(3600);

/// The next attempt at a provider that does not answer is after one second, two, four …
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// While a provider is down, once a minute is enough to say so.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Codes, and sessions, at a time: the provider may limit requests, and each has a connection.
const MAX_IN_FLIGHT: usize = 16;
