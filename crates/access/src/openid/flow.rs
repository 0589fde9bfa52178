//! The login as a state machine: what a request leads to, without a clock, a network or random numbers of its own.

mod callback;
mod logout;

use std::{net::IpAddr, sync::Arc};

use crate::jwt::TokenError;
use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::BASE64URL_NOPAD;
use serow_message::{Headers, KnownHeader, Method, weight::weighted};

pub(crate) use self::callback::{CodeExchange, failed};
use crate::openid::{
    browser_state::{Attempt, AttemptTexts, BROWSER_LIFETIME, BrowserSecret},
    cookies::{CookieKind, Cookies},
    form,
    metadata::{Metadata, is_loopback},
    pages::Reply,
    return_path::ReturnPath,
    seal::Seal,
    session::{Session, SessionState},
    settings::LoginSettings,
};

/// A request, as far as a login depends on it.
#[derive(Clone, Copy, Debug)]
pub struct LoginRequest<'r> {
    /// The method.
    pub method: &'r Method,
    /// The path, as it was received.
    pub path: &'r str,
    /// The query.
    pub query: Option<&'r str>,
    /// The fields.
    pub headers: &'r Headers,
    /// Host and port, as the client names them.
    pub host: &'r str,
    /// Whether the client's connection is encrypted.
    pub is_secure: bool,
    /// The client's address, if it has one.
    pub client: Option<IpAddr>,
}

/// A user who has logged in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// The user, if the token names one.
    pub user: Option<Arc<str>>,
    /// Fields that tell the handler about the user.
    pub fields: Vec<(Arc<str>, String)>,
    /// Cookies that the response sets.
    pub cookies: Vec<String>,
}

/// The step that a request leads to.
#[derive(Debug)]
pub(crate) enum LoginStep {
    /// It goes on.
    Passed(Granted),
    /// It goes on, and the session has to be refreshed before.
    Due(Box<Session>, Cookies),
    /// The browser is sent to the provider.
    Begin(Box<Beginning>),
    /// The provider has sent the browser back with a code.
    Exchange(Box<CodeExchange>),
    /// The session has ended, if there was one; the provider may end its own.
    LoggedOut(Option<Box<Session>>, Vec<String>),
    /// This is the response.
    Replied(Reply),
}

/// A login that begins.
pub(crate) struct Beginning {
    texts: AttemptTexts,
    redirect_uri: String,
    cookies: Vec<String>,
}

/// The state machine of a login.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) settings: Arc<LoginSettings>,
    pub(crate) seal: Seal,
}

impl Flow {
    /// Returns the step that a request leads to at this time, in seconds since 1970.
    pub(crate) fn step(&self, request: &LoginRequest<'_>, now: u64, random: &mut dyn FnMut(&mut [u8])) -> LoginStep {
        if request.path == self.settings.callback {
            return self.callback(request, now);
        }
        if request.path == self.settings.logout {
            return self.logout(request, now);
        }
        match self.session(request, now) {
            Some((session, SessionState::Valid)) => LoginStep::Passed(self.granted(&session)),
            Some((session, SessionState::Due)) => LoginStep::Due(Box::new(session), request.cookies()),
            Some((_, SessionState::Over)) | None => self.begin(request, now, random),
        }
    }

    /// The session of a request, if it has one.
    fn session(&self, request: &LoginRequest<'_>, now: u64) -> Option<(Session, SessionState)> {
        let value = request.cookies().find(request.cookie_fields(), CookieKind::Session)?;
        let session = Session::decode(&self.seal.open(SESSION, &value)?)?;
        let state = session.state(now);
        Some((session, state))
    }

    /// Returns the part of a session that handlers see.
    pub(crate) fn granted(&self, session: &Session) -> Granted {
        let fields = self.settings.fields.iter().zip(&session.fields);
        let fields = fields.filter_map(|((name, _), value)| Some((Arc::clone(name), value.clone()?))).collect();
        Granted { user: session.user.as_deref().map(Arc::from), fields, cookies: Vec::new() }
    }

    /// The Set-Cookie fields for a session; without its refresh token, if it would be too long.
    pub(crate) fn session_cookies(&self, cookies: Cookies, session: &Session, now: u64) -> Option<Vec<String>> {
        let lifetime = session.end.saturating_sub(now);
        let set = |session: &Session| {
            let value = self.seal.seal(SESSION, &session.encode()).ok()?;
            cookies.set(CookieKind::Session, &value, lifetime)
        };
        set(session).or_else(|| set(&Session { refresh: None, refresh_token: None, ..session.clone() }))
    }

    /// Begins a login, if a browser asks for a page.
    pub(crate) fn begin(&self, request: &LoginRequest<'_>, now: u64, random: &mut dyn FnMut(&mut [u8])) -> LoginStep {
        if !request.is_navigation() {
            // RFC 9110 §15.5.2 demands a challenge, also where nobody can answer it.
            return LoginStep::Replied(Reply::status(401).with("www-authenticate", CHALLENGE));
        }
        // Browsers would not send the cookie again, and whoever listens would have the session.
        if !request.is_secure && !is_loopback(request.host) {
            return LoginStep::Replied(Reply::page(403, "Use https", WITHOUT_TLS, None));
        }
        let cookies = request.cookies();
        let browser = cookies.find(request.cookie_fields(), CookieKind::Browser);
        let browser = browser.and_then(|value| BrowserSecret::open(&self.seal, &value, now));
        let browser = browser.filter(|browser| browser.is_fresh(now));
        let mut set = Vec::new();
        let browser = match browser {
            Some(browser) => browser,
            None => {
                let mut secret = [0; 32];
                random(&mut secret);
                let browser = BrowserSecret::new(secret, now);
                let value = browser.seal(&self.seal);
                set = value
                    .and_then(|value| cookies.set(CookieKind::Browser, &value, BROWSER_LIFETIME))
                    .unwrap_or_default();
                browser
            }
        };
        let mut number = [0; 16];
        random(&mut number);
        let target = match request.query {
            Some(query) => format!("{}?{query}", request.path),
            None => request.path.to_owned(),
        };
        match Attempt::new(number, ReturnPath::new(&target), now).texts(&self.seal, &browser) {
            Some(texts) => {
                let redirect_uri = request.url(&self.settings.callback);
                LoginStep::Begin(Box::new(Beginning { texts, redirect_uri, cookies: set }))
            }
            // The cipher has failed.
            None => LoginStep::Replied(unavailable()),
        }
    }

    /// Sends the browser to the provider (OpenID Connect Core §3.1.2.1, RFC 7636 §4.3).
    pub(crate) fn authorize(&self, beginning: Beginning, metadata: &Metadata) -> Reply {
        let Beginning { texts, redirect_uri, cookies } = beginning;
        let challenge = BASE64URL_NOPAD.encode(digest(&SHA256, texts.verifier.as_bytes()).as_ref());
        let scope = std::iter::once("openid").chain(self.settings.scopes.iter().map(String::as_str));
        let parameters = form::encode(&[
            ("response_type", "code"),
            ("client_id", &self.settings.client_id),
            ("redirect_uri", &redirect_uri),
            ("scope", &scope.collect::<Vec<_>>().join(" ")),
            ("state", &texts.state),
            ("nonce", &texts.nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        Reply::redirect(with_query(&metadata.authorization, &parameters)).with_cookies(cookies)
    }
}

impl<'r> LoginRequest<'r> {
    fn cookies(&self) -> Cookies {
        Cookies { is_secure: self.is_secure }
    }

    fn cookie_fields(&self) -> impl Iterator<Item = &'r [u8]> + Clone {
        let fields: Vec<&[u8]> = self.headers.get_all(KnownHeader::Cookie).collect();
        fields.into_iter()
    }

    /// The URL of a path of this site.
    fn url(&self, path: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.host)
    }

    /// Whether a browser asks for a page; scripts and programs could not make use of a form for logging in.
    fn is_navigation(&self) -> bool {
        // RFC 9110 §12.4.2: with a weight of 0, it is not acceptable.
        let is_page = |range: &[u8]| {
            let (kind, weight) = weighted(range);
            kind.eq_ignore_ascii_case(b"text/html") && weight > 0
        };
        let accepts_pages = self.headers.list(KnownHeader::Accept).any(is_page);
        let is_navigated = self.headers.get("sec-fetch-mode").is_none_or(|mode| mode == b"navigate");
        let is_script = self.headers.contains("x-requested-with");
        matches!(*self.method, Method::GET | Method::HEAD) && accepts_pages && is_navigated && !is_script
    }
}

/// A URL with more parameters.
fn with_query(url: &str, parameters: &str) -> String {
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{parameters}")
}

/// The page while the provider does not answer.
pub(crate) fn unavailable() -> Reply {
    let reply = Reply::page(
        503,
        "Logging in is not possible",
        "The login service does not respond. Try again in a minute.",
        None,
    );
    reply.with("retry-after", "10")
}

/// The page where the provider's tokens cannot be accepted.
pub(crate) fn unacceptable(error: TokenError) -> Reply {
    let text = match error {
        TokenError::NotYetValid | TokenError::Expired => {
            "The clocks of the login service and of this server differ. Its administrator can correct that."
        }
        _ => "The login service responds, but this server cannot accept its response. The error log says why.",
    };
    Reply::page(503, "Logging in is not possible", text, None).with("retry-after", "60")
}

/// The page where so many log in at the same time.
pub(crate) fn busy() -> Reply {
    Reply::page(429, "One moment", "Too many users log in at the same time. Reload this page.", None)
        .with("retry-after", "1")
}

impl std::fmt::Debug for Beginning {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Beginning").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}

/// Browsers do not show a dialog for a scheme that they do not know. RFC 9110 §11.6.1 demands that there is one.
const CHALLENGE: &str = "Cookie realm=\"login\"";

/// The kind of sealed sessions.
const SESSION: &str = "session";

const WITHOUT_TLS: &str = "Logging in needs an encrypted connection. If there is one up to a proxy in front of this server, its \
                           address belongs into the setting trust.";

#[cfg(test)]
mod tests;
