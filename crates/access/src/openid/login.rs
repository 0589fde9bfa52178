//! A login, as a site uses it: the state machine, the provider, and the clock.

use std::{
    fmt,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::rand;
use serow_client::fetch::TlsSettingsError;
use serow_net::WarningPace;
use tokio::time::timeout;

use crate::openid::{
    cookie_key::CookieKey,
    cookies::Cookies,
    flow::{Beginning, CodeExchange, Flow, Granted, LoginRequest, LoginStep, busy, failed, unacceptable, unavailable},
    pages::Reply,
    provider::{ExchangeError, Provider},
    refreshes::{Refresh, RefreshOutcome, Refreshes},
    seal::Seal,
    session::{Session, SessionError},
    settings::LoginSettings,
    sharing::{RefreshedSession, Sharing},
    token_response::{ProviderError, TokenSet, UserClaims},
};

/// A login by a provider. Clones are the same.
#[derive(Clone)]
pub struct Login {
    shared: Arc<LoginState>,
}

struct LoginState {
    settings: Arc<LoginSettings>,
    provider: Arc<Provider>,
    /// Set before the first request.
    flow: OnceLock<Flow>,
    refreshes: Refreshes,
    /// Whether other servers have the sessions as well; set before the first request.
    sharing: OnceLock<Sharing>,
    warning: WarningPace,
    session_warning: WarningPace,
    /// Whether a line has said that other servers would end sessions.
    is_rotation_noted: AtomicBool,
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
        Ok(Self {
            shared: Arc::new(LoginState {
                settings,
                provider,
                flow: OnceLock::new(),
                refreshes: Refreshes::default(),
                sharing: OnceLock::new(),
                warning: WarningPace::new(),
                session_warning: WarningPace::new(),
                is_rotation_noted: AtomicBool::new(false),
            }),
        })
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

    /// Notes that other servers have the same sessions. The first note counts.
    pub fn share(&self, sharing: Sharing) {
        let _ = self.shared.sharing.set(sharing);
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
            LoginStep::Passed(granted) => LoginVerdict::Passed(granted),
            LoginStep::Replied(reply) => LoginVerdict::Replied(reply),
            LoginStep::LoggedOut(session, cookies) => {
                session.iter().for_each(|session| shared.refreshes.end(session, now));
                let metadata = shared.provider.metadata();
                LoginVerdict::Replied(flow.logged_out(cookies, metadata.as_deref()))
            }
            LoginStep::Begin(beginning) => match shared.provider.metadata() {
                Some(metadata) => LoginVerdict::Replied(flow.authorize(*beginning, &metadata)),
                None => LoginVerdict::Pending(Box::pin(async move { Err(shared.begin(*beginning).await) })),
            },
            LoginStep::Exchange(exchange) => {
                let client = request.client;
                LoginVerdict::Pending(Box::pin(async move { Err(shared.exchange(&exchange, client, now).await) }))
            }
            LoginStep::Due(session, cookies) => {
                let otherwise = flow.begin(request, now, &mut |bytes| is_random &= rand::fill(bytes).is_ok());
                LoginVerdict::Pending(Box::pin(async move { shared.refresh(*session, cookies, otherwise, now).await }))
            }
        }
    }

    pub(crate) fn provider(&self) -> &Arc<Provider> {
        &self.shared.provider
    }

    pub(crate) fn sharing(&self) -> Option<&Sharing> {
        self.shared.sharing.get()
    }

    /// Refreshes a session with these tokens, and returns the outcome.
    pub(crate) fn refreshed(&self, session: &Session, tokens: TokenSet, now: u64) -> RefreshOutcome {
        let Some(flow) = self.shared.flow.get() else { return RefreshOutcome::Unavailable };
        let refreshed = match &tokens.claims {
            UserClaims::Whole { claims, .. } if !flow.is_authorized(claims) => Err(SessionError::Login),
            _ => session.refreshed(tokens, &self.shared.settings, now),
        };
        match refreshed {
            Ok(session) => RefreshOutcome::New(Arc::new(session)),
            Err(error) => {
                self.shared.warn_of_session(&error);
                RefreshOutcome::Over
            }
        }
    }

    /// The name of a session in the store of servers that have it.
    pub(crate) fn store_name(&self, session: &Session) -> Option<String> {
        Some(self.shared.flow.get()?.seal.derive("refreshes", &session.id, b""))
    }

    /// A refreshed session for this store.
    pub(crate) fn sealed(&self, session: &Session, now: u64) -> Option<RefreshedSession> {
        let value = self.shared.flow.get()?.seal.seal(REFRESHED, &session.encode()).ok()?;
        Some(RefreshedSession { count: session.count, value, lifetime: session.end.saturating_sub(now) })
    }

    /// A session that another server has put into the store.
    pub(crate) fn opened(&self, sealed: &str) -> Option<Session> {
        Session::decode(&self.shared.flow.get()?.seal.open(REFRESHED, sealed)?)
    }

    /// The provider gives out another refresh token each time. Says once if that cannot work.
    pub(crate) fn note_rotation(&self) {
        let is_unconnected = matches!(self.sharing(), Some(Sharing::Unconnected));
        if is_unconnected && !self.shared.is_rotation_noted.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "login by {}: the provider accepts each refresh token once, and servers with the same `cookie-key-file`                  that refresh a session at the same moment end it: write the same `[redis]` on all of them, or have the                  load balancer send each client to one server",
                self.shared.settings.issuer
            );
        }
    }

    /// Logs what is wrong with the provider, at most once a minute. There is no token in it.
    pub(crate) fn warn(&self, what: &str, error: &ProviderError) {
        if self.shared.warning.is_due() {
            tracing::warn!("login by {}: {what}: {error}", self.shared.settings.issuer);
        }
    }
}

impl LoginState {
    async fn begin(&self, beginning: Beginning) -> Reply {
        match (self.provider.wait_for_metadata().await, self.flow.get()) {
            (Some(metadata), Some(flow)) => flow.authorize(beginning, &metadata),
            _ => unavailable(),
        }
    }

    async fn exchange(&self, exchange: &CodeExchange, client: Option<IpAddr>, now: u64) -> Reply {
        let Some(flow) = self.flow.get() else { return unavailable() };
        let Some(metadata) = self.provider.wait_for_metadata().await else { return unavailable() };
        if let Err(reply) = flow.accept(exchange, &metadata) {
            return reply;
        }
        let mut id = [0; 16];
        match (self.provider.exchange(exchange, client).await, rand::fill(&mut id)) {
            (Ok(tokens), Ok(())) => {
                let session = flow.new_session(exchange, tokens, id, now);
                session.as_ref().err().into_iter().for_each(|error| self.warn_of_session(error));
                flow.finish(exchange, session, now)
            }
            (Err(ExchangeError::Provider(ProviderError::Refused(_))), _) => failed(exchange.return_path()),
            (Err(ExchangeError::Provider(ProviderError::Unacceptable(error))), _) => unacceptable(error),
            (Err(ExchangeError::Busy), _) => busy(),
            _ => unavailable(),
        }
    }

    /// Refreshes a session, or goes on with this step if the provider has ended it.
    async fn refresh(
        &self,
        session: Session,
        cookies: Cookies,
        otherwise: LoginStep,
        now: u64,
    ) -> Result<Granted, Reply> {
        let Some(flow) = self.flow.get() else { return Err(unavailable()) };
        let (Refresh { session: due, begin, mut outcome }, sender) = self.refreshes.join(&session, now);
        if let Some(sender) = sender {
            self.provider.refresh(Arc::clone(&due), sender);
        }
        // Only the first requests wait for a provider that is slow.
        let wait = MAX_WAIT.saturating_sub(Duration::from_secs(now.abs_diff(begin)));
        let outcome = match timeout(wait, outcome.wait_for(Option::is_some)).await {
            Ok(Ok(outcome)) => outcome.clone(),
            _ => None,
        };
        let known = match outcome {
            Some(RefreshOutcome::New(session)) => session,
            // The provider has granted access until then, and another server may have refreshed the session: its response
            // brings the cookie.
            Some(RefreshOutcome::Refused) if now < due.tokens_end => due,
            Some(RefreshOutcome::Over | RefreshOutcome::Refused) => {
                return Err(match otherwise {
                    LoginStep::Begin(beginning) => self.begin(*beginning).await,
                    LoginStep::Replied(reply) => reply,
                    _ => unavailable(),
                });
            }
            // It has not reached its own end.
            Some(RefreshOutcome::Unavailable) | None => due,
        };
        let granted = flow.granted(&known);
        if known.count == session.count {
            return Ok(granted);
        }
        let cookies = flow.session_cookies(cookies, &known, now).unwrap_or_default();
        Ok(Granted { cookies, ..granted })
    }

    /// Logs why a user has no session, at most once a minute.
    fn warn_of_session(&self, error: &SessionError) {
        if let Some(remedy) = error.remedy()
            && self.session_warning.is_due()
        {
            tracing::warn!("login by {}: a user is refused: {error}: {remedy}", self.settings.issuer);
        }
    }
}

/// How long a request waits for new tokens. The session is valid without them, so a provider that is down or slow does
/// not hold up requests.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The kind of sealed sessions in the store of several servers, which are not cookies.
const REFRESHED: &str = "refreshed session";

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").field("settings", &self.shared.settings).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
