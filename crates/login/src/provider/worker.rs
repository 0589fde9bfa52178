//! What asks a provider, on the thread for all of them.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use http::{Request, header};
use serow_fetch::{FetchClient, FetchLimits};
use serow_jwt::{Claims, Expectations, KeySet, TokenError, Verifier};
use tokio::{sync::Semaphore, task::spawn_local, time::sleep};

use super::{Job, Provider, requests};
use crate::{
    login::Login,
    metadata::Metadata,
    refreshes::RefreshOutcome,
    session::Session,
    token_response::{ProviderError, TokenResponse, TokenSet},
    user_info,
};

/// What asks one provider.
pub(super) struct Worker {
    login: Login,
    provider: Arc<Provider>,
    client: FetchClient,
    verifier: Verifier,
    keys: RefCell<Option<(Arc<KeySet>, Instant)>>,
    permits: Semaphore,
}

impl Worker {
    pub(super) fn new(login: Login) -> Self {
        let provider = Arc::clone(login.provider());
        let (issuers, audiences) = (vec![provider.settings.issuer.clone()], vec![provider.settings.client_id.clone()]);
        Self {
            client: FetchClient::start(provider.connector.clone(), FetchLimits::default()),
            verifier: Verifier::new(Expectations { issuers, audiences, ..Expectations::default() }),
            keys: RefCell::default(),
            permits: Semaphore::new(MAX_IN_FLIGHT),
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
                    if last_warning.is_none_or(|last| last.elapsed() >= WARNING_INTERVAL) {
                        last_warning = Some(Instant::now());
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

    async fn get(&self, url: &str) -> Result<Bytes, String> {
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

    /// Does what workers want, many at a time.
    pub(super) async fn work(self: Rc<Self>) {
        let Some(mut jobs) = self.provider.take_jobs() else { return };
        while let Some(job) = jobs.recv().await {
            let this = Rc::clone(&self);
            spawn_local(async move {
                // It is never closed.
                let _permit = this.permits.acquire().await;
                this.perform(job).await;
            });
        }
    }

    async fn perform(&self, job: Job) {
        match job {
            Job::Exchange { code, verifier, redirect_uri, tokens } => {
                let outcome = self.exchange(&code, &verifier, &redirect_uri).await;
                if let Err(error) = &outcome {
                    self.login.warn("no login", error);
                }
                // The browser may be gone.
                let _ = tokens.send(outcome);
            }
            Job::Refresh { session, outcome } => drop(outcome.send_replace(Some(self.refresh(&session).await))),
        }
    }

    async fn exchange(&self, code: &str, verifier: &str, redirect_uri: &str) -> Result<TokenSet, ProviderError> {
        let metadata = self.provider.metadata().ok_or_else(|| unavailable("its endpoints are not known"))?;
        let request = requests::exchange(&self.provider.settings, &metadata, (code, verifier, redirect_uri));
        let tokens = self.tokens(request, &metadata).await?;
        match tokens.claims {
            Some(_) => Ok(tokens),
            None => Err(unavailable("the response has no ID token")),
        }
    }

    async fn refresh(&self, session: &Session) -> RefreshOutcome {
        let Some(metadata) = self.provider.metadata() else { return RefreshOutcome::Unavailable };
        let request =
            requests::refresh(&self.provider.settings, &metadata, session.refresh_token.as_deref().unwrap_or_default());
        match self.tokens(request, &metadata).await {
            Ok(tokens) => match self.login.refreshed(session, tokens, seconds()) {
                Some(session) => RefreshOutcome::New(Arc::new(session)),
                None => RefreshOutcome::Over,
            },
            Err(ProviderError::Refused(_)) => RefreshOutcome::Over,
            Err(error @ ProviderError::Unavailable(_)) => {
                self.login.warn("sessions are not refreshed and go on", &error);
                RefreshOutcome::Unavailable
            }
        }
    }

    /// Sends a request for tokens, and verifies the ID token.
    async fn tokens(
        &self,
        request: Result<Request<Bytes>, http::Error>,
        metadata: &Metadata,
    ) -> Result<TokenSet, ProviderError> {
        let request = request.map_err(|error| unavailable(&error.to_string()))?;
        let response = self.client.fetch(request).await.map_err(|error| unavailable(&error.to_string()))?;
        let response_text = TokenResponse::read(response.status().as_u16(), response.body())?;
        let claims = match &response_text.id_token {
            Some(token) => {
                let token = self.verified(token, metadata).await?;
                Some(self.complete(token.claims(), &response_text, metadata).await?)
            }
            None => None,
        };
        let expires_in = response_text.expires_in();
        Ok(TokenSet { claims, expires_in, refresh_token: response_text.refresh_token })
    }

    /// Adds the claims that an ID token does not have and that are wanted, from the provider's UserInfo (OpenID Connect
    /// Core §5.3).
    async fn complete(
        &self,
        claims: &Claims,
        response: &TokenResponse,
        metadata: &Metadata,
    ) -> Result<Claims, ProviderError> {
        let is_missing = self.provider.settings.wanted_claims().any(|claim| claims.find(claim).is_none());
        let (Some(url), Some(token), true) = (&metadata.userinfo, &response.access_token, is_missing) else {
            return Ok(claims.clone());
        };
        let request = requests::user_info(url, token).map_err(|_| unavailable("the access token is not valid"))?;
        let response = self.client.fetch(request).await.map_err(|error| unavailable(&error.to_string()))?;
        match (response.status().as_u16(), user_info::read(response.body(), claims, &self.provider.settings)) {
            (200, Ok(claims)) => Ok(claims),
            (200, Err(problem)) => Err(unavailable(problem)),
            (status, _) => Err(unavailable(&format!("{url} has the status {status}"))),
        }
    }

    async fn verified(&self, token: &str, metadata: &Metadata) -> Result<Arc<serow_jwt::Token>, ProviderError> {
        let refused = |error: TokenError| unavailable(&format!("the ID token is refused: {error}"));
        let (keys, fetched) = self.keys(metadata, KEYS_LIFETIME).await?;
        match self.verifier.verify(token, &keys, seconds()) {
            // The provider has new keys.
            Err(TokenError::UnknownKey) if fetched.elapsed() >= MIN_KEYS_AGE => {
                let (keys, _) = self.keys(metadata, MIN_KEYS_AGE).await?;
                self.verifier.verify(token, &keys, seconds()).map_err(refused)
            }
            outcome => outcome.map_err(refused),
        }
    }

    /// The keys of the provider, fetched not longer ago than this; older ones where it does not give out others.
    async fn keys(&self, metadata: &Metadata, max_age: Duration) -> Result<(Arc<KeySet>, Instant), ProviderError> {
        let known = self.keys.borrow().clone();
        if let Some((keys, fetched)) = known.as_ref().filter(|(_, fetched)| fetched.elapsed() < max_age) {
            return Ok((Arc::clone(keys), *fetched));
        }
        let fetched = self.get(&metadata.keys).await.and_then(|body| {
            let text = std::str::from_utf8(&body).map_err(|error| error.to_string())?;
            KeySet::parse_published(text).map_err(|error| error.to_string())
        });
        match (fetched, known) {
            (Ok(keys), _) => {
                let keys = (Arc::new(keys), Instant::now());
                *self.keys.borrow_mut() = Some(keys.clone());
                Ok(keys)
            }
            (Err(_), Some(known)) => Ok(known),
            (Err(problem), None) => Err(unavailable(&problem)),
        }
    }
}

fn unavailable(text: &str) -> ProviderError {
    ProviderError::Unavailable(text.to_owned())
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Endpoints seldom change, and without a request in an hour the provider would learn of it late.
const METADATA_LIFETIME: Duration = Duration::from_secs(3600);

/// Keys are changed every few weeks, and a new one is known before it is used.
const KEYS_LIFETIME: Duration = Duration::from_secs(3600);

/// Tokens with unknown keys do not make this server ask for keys all the time.
const MIN_KEYS_AGE: Duration = Duration::from_secs(30);

/// The next attempt at a provider that does not answer is after one second, two, four …
const FIRST_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// While a provider is down, once a minute is enough to say so.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);

/// Requests to the provider at a time: it may limit them, and each has a connection.
const MAX_IN_FLIGHT: usize = 32;
