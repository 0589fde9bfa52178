//! The provider sends the browser back.

use crate::jwt::Claims;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use serow_message::Method;

use super::{Flow, LoginRequest, LoginStep};
use crate::openid::{
    browser_state::{Attempt, AttemptTexts, BrowserSecret, StateError},
    cookies::{CookieKind, Cookies},
    form,
    metadata::Metadata,
    pages::Reply,
    return_path::ReturnPath,
    session::{Session, SessionError, SessionState},
    token_response::{TokenSet, UserClaims, code},
};

/// A code that is to be exchanged for tokens.
pub(crate) struct CodeExchange {
    pub(crate) code: String,
    pub(crate) verifier: String,
    pub(crate) redirect_uri: String,
    nonce: String,
    return_path: ReturnPath,
    /// Whether the callback names the issuer.
    names_issuer: bool,
    cookies: Cookies,
    /// The cookies that end with the login.
    removed: Vec<String>,
}

impl Flow {
    /// The provider sends the browser back (RFC 6749 §4.1.2).
    pub(super) fn callback(&self, request: &LoginRequest<'_>, now: u64) -> LoginStep {
        if *request.method != Method::GET {
            return LoginStep::Replied(Reply::status(405).with("allow", "GET"));
        }
        let query = request.query.unwrap_or_default();
        let [state, code, error, issuer] = ["state", "code", "error", "iss"].map(|name| form::find(query, name));
        let (Ok(state), Ok(code), Ok(error), Ok(issuer)) = (state, code, error, issuer) else {
            return LoginStep::Replied(failed("/"));
        };
        // RFC 9207 §2.4: a response of another provider, to which a code of this one would be given away.
        if issuer.as_ref().is_some_and(|issuer| *issuer != self.settings.issuer) {
            return LoginStep::Replied(failed("/"));
        }
        let (attempt, texts) = match self.open(request, &state.unwrap_or_default(), now) {
            Ok(opened) => opened,
            Err(step) => return step,
        };
        if let Some(error) = error {
            return LoginStep::Replied(refused(&error, attempt.return_path.as_str()));
        }
        let Some(code) = code.filter(|code| !code.is_empty() && code.len() <= MAX_CODE) else {
            return LoginStep::Replied(failed(attempt.return_path.as_str()));
        };
        let cookies = request.cookies();
        LoginStep::Exchange(Box::new(CodeExchange {
            code,
            verifier: texts.verifier,
            redirect_uri: request.url(&self.settings.callback),
            nonce: texts.nonce,
            return_path: attempt.return_path,
            names_issuer: issuer.is_some(),
            cookies,
            removed: cookies.remove(request.cookie_fields(), CookieKind::Browser),
        }))
    }

    /// The login that a state names, or what else the callback leads to.
    fn open(&self, request: &LoginRequest<'_>, state: &str, now: u64) -> Result<(Attempt, AttemptTexts), LoginStep> {
        let browser = request.cookies().find(request.cookie_fields(), CookieKind::Browser);
        let browser = browser.and_then(|value| BrowserSecret::open(&self.seal, &value, now));
        match Attempt::open(&self.seal, state, browser.as_ref(), now) {
            Ok(opened) => Ok(opened),
            Err(StateError::Forged) => Err(LoginStep::Replied(failed("/"))),
            // Another window has finished its login meanwhile, and this one profits. The code is not looked at.
            Err(StateError::Expired(path) | StateError::OtherBrowser(path)) => {
                Err(LoginStep::Replied(match self.session(request, now) {
                    Some((_, SessionState::Valid | SessionState::Due)) => Reply::redirect(path.as_str().to_owned()),
                    _ => failed(path.as_str()),
                }))
            }
        }
    }

    /// Whether a code may be given to the provider.
    pub(crate) fn accept(&self, exchange: &CodeExchange, metadata: &Metadata) -> Result<(), Reply> {
        match metadata.names_issuer && !exchange.names_issuer {
            true => Err(failed(exchange.return_path.as_str())),
            false => Ok(()),
        }
    }

    /// The session of the user whom the tokens are about.
    pub(crate) fn new_session(
        &self,
        exchange: &CodeExchange,
        tokens: TokenSet,
        id: [u8; 16],
        now: u64,
    ) -> Result<Session, SessionError> {
        match &tokens.claims {
            UserClaims::Whole { claims, .. } if self.is_for_login(claims, &exchange.nonce) => {
                Session::begin(id, tokens, &self.settings, now)
            }
            _ => Err(SessionError::Login),
        }
    }

    /// Gives a browser its session, or tells it why there is none.
    pub(crate) fn finish(&self, exchange: &CodeExchange, session: Result<Session, SessionError>, now: u64) -> Reply {
        let path = exchange.return_path.as_str();
        let cookies = session.and_then(|session| {
            let cookies = self.session_cookies(exchange.cookies, &session, now);
            cookies.ok_or_else(|| SessionError::Size(session.encode().len()))
        });
        let reply = match cookies {
            Ok(cookies) => Reply::redirect(path.to_owned()).with_cookies(cookies),
            Err(SessionError::Login) => return failed(path),
            Err(SessionError::Subject) => {
                return Reply::page(400, "The login was not finished", WITHOUT_SUBJECT, None);
            }
            Err(SessionError::Conditions) => {
                Reply::page(403, "No access", "You have logged in, and may not see this page.", None)
            }
            Err(error @ (SessionError::Claim { .. } | SessionError::Size(_))) => {
                let text = format!("This server cannot use the login service's answer: {error}. {ADMINISTRATOR}");
                Reply::page(403, "The login cannot be used", &text, None)
            }
        };
        reply.with_cookies(exchange.removed.iter().cloned())
    }

    /// Whether an ID token belongs to this login, and was issued for this client (OpenID Connect Core §3.1.3.7).
    fn is_for_login(&self, claims: &Claims, nonce: &str) -> bool {
        let found = claims.find("nonce").and_then(|value| value.as_str()).unwrap_or_default();
        let is_of_login = verify_slices_are_equal(found.as_bytes(), nonce.as_bytes()).is_ok();
        is_of_login && self.is_authorized(claims)
    }

    /// With several audiences, the token says for whom of them it was issued.
    pub(crate) fn is_authorized(&self, claims: &Claims) -> bool {
        let has_others = claims.find("aud").and_then(|value| value.as_array()).is_some_and(|all| all.len() > 1);
        match claims.find("azp") {
            None => !has_others,
            Some(party) => party.as_str() == Some(&self.settings.client_id),
        }
    }
}

/// The page for a login that cannot be finished.
pub(crate) fn failed(path: &str) -> Reply {
    Reply::page(400, "The login was not finished", FAILED, Some((path, "Log in again")))
}

fn refused(error: &str, path: &str) -> Reply {
    let text = format!("The login service says: {}", code(error));
    Reply::page(403, "The login was refused", &text, Some((path, "Log in again")))
}

impl CodeExchange {
    /// Where the browser goes afterwards.
    pub(crate) fn return_path(&self) -> &str {
        self.return_path.as_str()
    }
}

impl std::fmt::Debug for CodeExchange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("CodeExchange").field("return_path", &self.return_path).finish_non_exhaustive()
    }
}

const FAILED: &str = "It took too long, was begun in another browser, or was finished already.";

const WITHOUT_SUBJECT: &str = "The login service does not say who has logged in.";

const ADMINISTRATOR: &str = "Its administrator finds the remedy in the error log.";

/// Providers use less than 1 KB.
const MAX_CODE: usize = 4096;
