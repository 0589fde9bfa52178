//! Tokens (JWT) that name their users, and the challenge for requests without one.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use serow_access::jwt::{
    Conditions, KeySource, Token, TokenError, Verification, VerificationBusy, VerificationThread, Verifier,
};
use serow_gateway::{ErrorReason, error_page};
use serow_message::{Claims, Headers, KnownHeader, Request, Response, StatusCode, User};
use serow_net::{WarningPace, time};

use crate::{
    guard::refusal,
    identity::{Identity, Verdict},
    token_place::{FoundToken, TokenPlace},
};

/// Tokens that requests must have.
#[derive(Debug)]
pub struct Tokens {
    /// The keys that they are signed with.
    pub keys: KeySource,
    /// The verifier, which knows what else is expected of them.
    pub verifier: Arc<Verifier>,
    /// Where signatures are verified that take long.
    pub thread: Arc<VerificationThread>,
    /// Where requests have them; the first place with one counts.
    pub places: Vec<TokenPlace>,
    /// The conditions that their claims must meet; other requests get 403.
    pub conditions: Conditions,
    /// The claim that names the user.
    pub user: Box<str>,
    /// The fields of the request that tell the handler about claims: each with the path of a claim. Clients cannot set
    /// them.
    pub fields: Vec<(Arc<str>, Box<str>)>,
    /// The realm that the challenge names: without quotation marks, backslashes and control characters.
    pub realm: Arc<str>,
    /// The pace of lines about claims that handlers cannot have in a field.
    pub warning: WarningPace,
}

/// How far the check of a token has come.
enum Progress {
    Decided(Result<Identity, Response>),
    /// It has to wait for this.
    Waiting(Wait),
}

enum Wait {
    Keys(serow_access::jwt::FetchEnd),
    Signature(tokio::sync::oneshot::Receiver<Result<Arc<Token>, TokenError>>),
}

impl Tokens {
    /// Finds out whose token a request has.
    pub(crate) fn check(self: &Arc<Self>, request: &Request) -> Verdict {
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
        let now = time::seconds_since_1970();
        let demand = || if may_fetch { self.keys.demand(time::now()) } else { None };
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
            Err(error) if is_of_other_keys(error) => match demand() {
                Some(end) => Progress::Waiting(Wait::Keys(end)),
                None => Progress::Decided(Err(self.challenge(headers, Some(error)))),
            },
            Err(error) => Progress::Decided(Err(self.challenge(headers, Some(error)))),
        }
    }

    async fn end(&self, mut wait: Wait, token: &str, headers: &Headers) -> Result<Identity, Response> {
        // Once is enough: a fetch has ended.
        let mut may_fetch = true;
        loop {
            match wait {
                Wait::Keys(end) => {
                    may_fetch = false;
                    end.wait().await;
                }
                Wait::Signature(outcome) => match outcome.await {
                    Ok(Ok(token)) => return self.identity(token, headers),
                    Ok(Err(error)) => {
                        let may_help = may_fetch && is_of_other_keys(error);
                        let Some(end) = may_help.then(|| self.keys.demand(time::now())).flatten() else {
                            return Err(self.challenge(headers, Some(error)));
                        };
                        may_fetch = false;
                        end.wait().await;
                    }
                    Err(_) => return Err(refusal(StatusCode::SERVICE_UNAVAILABLE, RETRY_BUSY, headers)),
                },
            }
            match self.begin(token, headers, may_fetch) {
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
        let mut told = std::iter::once(&self.user).chain(self.fields.iter().map(|(_, claim)| claim));
        if let Some(claim) = told.find(|claim| claims.is_ambiguous(claim)) {
            self.warn(
                claim,
                "has a value with a comma, or a space at its end, which would read as others",
                "is refused",
            );
            return Err(error_page(StatusCode::FORBIDDEN, headers));
        }
        let plain = |claim: &str| {
            let text = claims.text(claim).filter(|text| !text.is_empty())?;
            if !is_plain(&text) {
                self.warn(claim, "has a control character, or a space at its end", "goes on without it");
                return None;
            }
            Some(text)
        };
        let user = plain(&self.user).map(|user| User(user.into()));
        let field = |(name, claim): &(Arc<str>, Box<str>)| {
            Some((Arc::clone(name), Bytes::copy_from_slice(plain(claim)?.as_bytes())))
        };
        let request_fields = self.fields.iter().filter_map(field).collect();
        Ok(Identity { user, request_fields, claims: Some(Claims(token)), ..Identity::default() })
    }

    /// Logs which claim handlers would miss or mistake, at most once a minute.
    fn warn(&self, claim: &str, problem: &str, consequence: &str) {
        if self.warning.is_due() {
            tracing::warn!(
                "jwt ({}): the claim {claim:?} of a token {problem}, and the request {consequence}: rename the value at \
                 the issuer, or leave the claim out of `headers` and `user`",
                self.realm
            );
        }
    }

    /// RFC 6750 §3: a request without a token learns nothing but that it needs one.
    fn challenge(&self, headers: &Headers, error: Option<TokenError>) -> Response {
        let mut challenge = format!("Bearer realm=\"{}\"", self.realm);
        if let Some(error) = error {
            challenge.push_str(", error=\"invalid_token\", error_description=\"");
            challenge.push_str(error.reason());
            challenge.push('"');
        }
        challenging(ErrorReason::NoToken, challenge, headers)
    }

    fn insufficient(&self, headers: &Headers) -> Response {
        let challenge = format!("Bearer realm=\"{}\", error=\"insufficient_scope\"", self.realm);
        challenging(StatusCode::FORBIDDEN.into(), challenge, headers)
    }
}

/// Whether a token may be right with keys that its issuer has published since, perhaps under the names of the old ones.
fn is_of_other_keys(error: TokenError) -> bool {
    matches!(error, TokenError::UnknownKey | TokenError::Signature | TokenError::Algorithm)
}

fn challenging(reason: ErrorReason, challenge: String, headers: &Headers) -> Response {
    let mut response = error_page(reason, headers);
    // The settings have been checked.
    let _ = response.headers.insert(KnownHeader::WwwAuthenticate, challenge);
    response
}

/// Whether a claim can be a name or a field. An issuer lets its users choose some of them.
fn is_plain(text: &str) -> bool {
    text.trim() == text && !text.chars().any(char::is_control)
}

/// The first attempts to fetch keys follow each other after seconds.
const RETRY_KEYS: Duration = Duration::from_secs(5);

/// By then, the tokens that wait have been verified.
const RETRY_BUSY: Duration = Duration::from_secs(1);
