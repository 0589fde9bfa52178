//! A login, as a site uses it: the state machine, the provider, and the clock.

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use aws_lc_rs::rand;
use serow_fetch::TlsSettingsError;
use serow_net::WarningPace;
use tokio::time::timeout;

use crate::{
    cookie_key::CookieKey,
    cookies::Cookies,
    flow::{Beginning, Exchange, Flow, Granted, LoginRequest, Step, failed, unavailable},
    pages::Reply,
    provider::Provider,
    refreshes::{RefreshOutcome, Refreshes},
    seal::Seal,
    session::Session,
    settings::LoginSettings,
    token_response::{ProviderError, TokenSet},
};

/// A login by a provider. Clones are the same.
#[derive(Clone)]
pub struct Login {
    shared: Arc<Shared>,
}

struct Shared {
    settings: Arc<LoginSettings>,
    provider: Arc<Provider>,
    /// Set before the first request.
    flow: OnceLock<Flow>,
    refreshes: Refreshes,
    warning: WarningPace,
}

/// Whether a request goes on.
pub enum LoginVerdict {
    /// It does: its user has logged in.
    Passed(Granted),
    /// This is the response.
    Replied(Reply),
    /// The provider decides.
    Pending(Pin<Box<dyn Future<Output = Result<Granted, Reply>>>>),
}

impl Login {
    /// A login with these settings.
    ///
    /// # Errors
    ///
    /// The authorities of the provider's certificate cannot be read.
    pub fn new(settings: LoginSettings) -> Result<Self, TlsSettingsError> {
        let settings = Arc::new(settings);
        let provider = Arc::new(Provider::new(Arc::clone(&settings))?);
        let (flow, refreshes, warning) = (OnceLock::new(), Refreshes::default(), WarningPace::new());
        Ok(Self { shared: Arc::new(Shared { settings, provider, flow, refreshes, warning }) })
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &LoginSettings {
        &self.shared.settings
    }

    /// Encrypts cookies by this key. The first one that is set counts; without one, nobody can log in.
    pub fn set_key(&self, key: &CookieKey) {
        let settings = Arc::clone(&self.shared.settings);
        if let Ok(seal) = Seal::new(key, &settings.purpose()) {
            let _ = self.shared.flow.set(Flow { settings, seal });
        }
    }

    /// Whether it has a key already.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.shared.flow.get().is_some()
    }

    /// Decides about a request at this time, in seconds since 1970.
    #[must_use]
    pub fn check(&self, request: &LoginRequest<'_>, now: u64) -> LoginVerdict {
        let Some(flow) = self.shared.flow.get() else { return LoginVerdict::Replied(unavailable()) };
        let mut is_random = true;
        let step = flow.step(request, now, &mut |bytes| is_random &= rand::fill(bytes).is_ok());
        if !is_random {
            return LoginVerdict::Replied(unavailable());
        }
        let shared = Arc::clone(&self.shared);
        match step {
            Step::Passed(granted) => LoginVerdict::Passed(granted),
            Step::Replied(reply) => LoginVerdict::Replied(reply),
            Step::LoggedOut(cookies) => {
                let metadata = shared.provider.metadata();
                LoginVerdict::Replied(flow.logged_out(cookies, metadata.as_deref()))
            }
            Step::Begin(beginning) => match shared.provider.metadata() {
                Some(metadata) => LoginVerdict::Replied(flow.authorize(*beginning, &metadata)),
                None => LoginVerdict::Pending(Box::pin(async move { Err(shared.begin(*beginning).await) })),
            },
            Step::Exchange(exchange) => {
                LoginVerdict::Pending(Box::pin(async move { Err(shared.exchange(&exchange, now).await) }))
            }
            Step::Due(session, cookies) => {
                let otherwise = flow.begin(request, now, &mut |bytes| is_random &= rand::fill(bytes).is_ok());
                LoginVerdict::Pending(Box::pin(async move { shared.refresh(*session, cookies, otherwise, now).await }))
            }
        }
    }

    pub(crate) fn provider(&self) -> &Arc<Provider> {
        &self.shared.provider
    }

    /// The session with these tokens, if its user may still have it.
    pub(crate) fn refreshed(&self, session: &Session, tokens: TokenSet, now: u64) -> Option<Session> {
        let (flow, settings) = (self.shared.flow.get()?, &self.shared.settings);
        let is_right = |claims| flow.is_authorized(claims) && settings.conditions.are_met(claims);
        tokens.claims.as_ref().is_none_or(is_right).then(|| session.refreshed(tokens, settings, now))?
    }

    /// Logs what is wrong with the provider, at most once a minute. There is no token in it.
    pub(crate) fn warn(&self, what: &str, error: &ProviderError) {
        if self.shared.warning.is_due() {
            tracing::warn!("login by {}: {what}: {error}", self.shared.settings.issuer);
        }
    }
}

impl Shared {
    async fn begin(&self, beginning: Beginning) -> Reply {
        match (self.provider.wait_for_metadata().await, self.flow.get()) {
            (Some(metadata), Some(flow)) => flow.authorize(beginning, &metadata),
            _ => unavailable(),
        }
    }

    async fn exchange(&self, exchange: &Exchange, now: u64) -> Reply {
        let Some(flow) = self.flow.get() else { return unavailable() };
        let Some(metadata) = self.provider.wait_for_metadata().await else { return unavailable() };
        if let Err(reply) = flow.accept(exchange, &metadata) {
            return reply;
        }
        let mut id = [0; 16];
        match (self.provider.exchange(exchange).await, rand::fill(&mut id)) {
            (Ok(tokens), Ok(())) => flow.finish(exchange, tokens, id, now),
            (Err(ProviderError::Refused(_)), _) => failed(exchange.return_path()),
            _ => unavailable(),
        }
    }

    /// Refreshes a session, or goes on with this step if the provider has ended it.
    async fn refresh(&self, session: Session, cookies: Cookies, otherwise: Step, now: u64) -> Result<Granted, Reply> {
        let Some(flow) = self.flow.get() else { return Err(unavailable()) };
        let (mut outcome, sender) = self.refreshes.join(&session, now);
        if let Some(sender) = sender {
            self.provider.refresh(session.clone(), sender);
        }
        let outcome = match timeout(MAX_WAIT, outcome.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.clone(),
            _ => None,
        };
        match outcome {
            Some(RefreshOutcome::New(session)) => {
                let set = flow.session_cookies(cookies, &session, now).unwrap_or_default();
                Ok(Granted { cookies: set, ..flow.granted(&session) })
            }
            Some(RefreshOutcome::Over) => Err(match otherwise {
                Step::Begin(beginning) => self.begin(*beginning).await,
                Step::Replied(reply) => reply,
                _ => unavailable(),
            }),
            // It has not reached its own end.
            Some(RefreshOutcome::Unavailable) | None => Ok(flow.granted(&session)),
        }
    }
}

/// How long a request waits for new tokens. The session is valid without them, so a provider that is down or slow does
/// not hold up requests.
const MAX_WAIT: Duration = Duration::from_secs(3);

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
