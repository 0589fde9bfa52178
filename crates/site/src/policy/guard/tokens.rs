//! Tokens (JWT) that name their users, and the challenge for requests without one.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use serow_gateway::error_page;
use serow_jwt::{
    Conditions, KeySource, Token, TokenError, Verification, VerificationBusy, VerificationThread, Verifier,
};
use serow_message::{Claims, Headers, KnownHeader, Request, Response, StatusCode, User};

use super::{
    identity::{Identity, Verdict},
    refusal,
    token_place::{FoundToken, TokenPlace},
};

/// Tokens that requests must have.
#[derive(Debug)]
pub struct Tokens {
    /// The keys that they are signed with.
    pub keys: KeySource,
    /// What else is expected of them.
    pub verifier: Arc<Verifier>,
    /// Where signatures are verified that take long.
    pub thread: Arc<VerificationThread>,
    /// Where requests have them; the first place with one counts.
    pub places: Vec<TokenPlace>,
    /// What their claims must be; others get 403.
    pub conditions: Conditions,
    /// The claim that names the user.
    pub user: Box<str>,
    /// The fields of the request that tell the handler about claims: each with the path of a claim. Clients cannot set
    /// them.
    pub fields: Vec<(Arc<str>, Box<str>)>,
    /// What the challenge names: without quotation marks, backslashes and control characters.
    pub realm: Arc<str>,
}

/// How far the check of a token has come.
enum Progress {
    Decided(Result<Identity, Response>),
    /// It has to wait for this.
    Waiting(Wait),
}

enum Wait {
    Keys(serow_jwt::FetchEnd),
    Signature(tokio::sync::oneshot::Receiver<Result<Arc<Token>, TokenError>>),
}

impl Tokens {
    /// Finds out whose token a request has.
    pub(super) fn check(self: &Arc<Self>, request: &Request) -> Verdict {
        let headers = &request.headers;
        let token =
            match self.places.iter().map(|place| place.find(request)).find(|found| *found != FoundToken::Nothing) {
                Some(FoundToken::Token(token)) => token,
                Some(FoundToken::Ambiguous) => {
                    return Verdict::Refused(self.challenge(headers, Some(TokenError::Malformed)));
                }
                Some(FoundToken::Nothing) | None => return Verdict::Refused(self.challenge(headers, None)),
            };
        match self.begin(token, headers, true) {
            Progress::Decided(Ok(identity)) => Verdict::Passed(identity),
            Progress::Decided(Err(response)) => Verdict::Refused(response),
            Progress::Waiting(wait) => {
                let (this, token, headers) = (Arc::clone(self), token.to_owned(), headers.clone());
                Verdict::Pending(Box::pin(async move { this.end(wait, &token, &headers).await }))
            }
        }
    }

    fn begin(&self, token: &str, headers: &Headers, may_fetch: bool) -> Progress {
        let now = seconds();
        let demand = || if may_fetch { self.keys.demand(Instant::now()) } else { None };
        let Some(keys) = self.keys.current() else {
            return match demand() {
                Some(end) => Progress::Waiting(Wait::Keys(end)),
                None => Progress::Decided(Err(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_KEYS, headers))),
            };
        };
        match self.verifier.begin(token, &keys, now) {
            Ok(Verification::Verified(token)) => Progress::Decided(self.identity(token, headers)),
            Ok(Verification::Slow(task)) => match self.thread.verify(task, &self.verifier, now) {
                Ok(outcome) => Progress::Waiting(Wait::Signature(outcome)),
                Err(VerificationBusy) => {
                    Progress::Decided(Err(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_BUSY, headers)))
                }
            },
            Err(error @ TokenError::UnknownKey) => match demand() {
                Some(end) => Progress::Waiting(Wait::Keys(end)),
                None => Progress::Decided(Err(self.challenge(headers, Some(error)))),
            },
            Err(error) => Progress::Decided(Err(self.challenge(headers, Some(error)))),
        }
    }

    async fn end(&self, mut wait: Wait, token: &str, headers: &Headers) -> Result<Identity, Response> {
        loop {
            match wait {
                Wait::Keys(end) => end.wait().await,
                Wait::Signature(outcome) => {
                    return match outcome.await {
                        Ok(Ok(token)) => self.identity(token, headers),
                        Ok(Err(error)) => Err(self.challenge(headers, Some(error))),
                        Err(_) => Err(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_BUSY, headers)),
                    };
                }
            }
            // Once is enough: a fetch has ended.
            match self.begin(token, headers, false) {
                Progress::Decided(outcome) => return outcome,
                Progress::Waiting(next) => wait = next,
            }
        }
    }

    fn identity(&self, token: Arc<Token>, headers: &Headers) -> Result<Identity, Response> {
        let claims = token.claims();
        if !self.conditions.are_met(claims) {
            return Err(self.insufficient(headers));
        }
        let user = claims.text(&self.user).filter(|user| is_plain(user)).map(|user| User(user.into()));
        let field = |(name, claim): &(Arc<str>, Box<str>)| {
            let value = claims.text(claim).filter(|value| is_plain(value))?;
            Some((Arc::clone(name), Bytes::copy_from_slice(value.as_bytes())))
        };
        let request_fields = self.fields.iter().filter_map(field).collect();
        Ok(Identity { user, request_fields, claims: Some(Claims(token)), ..Identity::default() })
    }

    /// RFC 6750 §3: a request without a token learns nothing but that it needs one.
    fn challenge(&self, headers: &Headers, error: Option<TokenError>) -> Response {
        let mut challenge = format!("Bearer realm=\"{}\"", self.realm);
        if let Some(error) = error {
            challenge.push_str(", error=\"invalid_token\", error_description=\"");
            challenge.push_str(error.reason());
            challenge.push('"');
        }
        challenging(StatusCode::UNAUTHORIZED, challenge, headers)
    }

    fn insufficient(&self, headers: &Headers) -> Response {
        let challenge = format!("Bearer realm=\"{}\", error=\"insufficient_scope\"", self.realm);
        challenging(StatusCode::FORBIDDEN, challenge, headers)
    }
}

fn challenging(status: StatusCode, challenge: String, headers: &Headers) -> Response {
    let mut response = error_page(status, headers);
    // The settings have been checked.
    let _ = response.headers.insert(KnownHeader::WwwAuthenticate, challenge);
    response
}

/// Whether a claim can be a name or a field. An issuer lets its users choose some of them.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.trim() == text && !text.chars().any(char::is_control)
}

/// Seconds since 1970.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The first attempts to fetch keys follow each other after seconds.
const RETRY_KEYS: Duration = Duration::from_secs(5);

/// By then, the tokens that wait have been verified.
const RETRY_BUSY: Duration = Duration::from_secs(1);
