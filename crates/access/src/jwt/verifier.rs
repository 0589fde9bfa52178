//! Verification, seldom twice for a token.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use serow_message::ClaimSource;

use crate::jwt::{
    claims::Claims,
    error::TokenError,
    expectations::{Expectations, Validity},
    key_set::KeySet,
    strict_json::parse_object,
    unverified_token::{MAX_TOKEN, UnverifiedToken},
    verified::Verified,
};

/// Verifies tokens, and remembers them until they expire or the keys change.
pub struct Verifier {
    expectations: Expectations,
    verified: Verified,
}

/// A token whose signature and times are right, and that is meant for us.
#[derive(Debug)]
pub struct Token {
    claims: Claims,
    validity: Validity,
    /// The claims by their names for variables, made on first use.
    flattened: OnceLock<Vec<(Box<str>, Box<str>)>>,
}

/// The outcome of the beginning of a verification.
#[derive(Debug)]
pub enum Verification {
    /// The token is right.
    Verified(Arc<Token>),
    /// Its signature takes so long that it is verified outside of the event loop.
    Slow(VerificationTask),
}

/// A token whose signature takes long to verify.
#[derive(Debug)]
pub struct VerificationTask {
    token: String,
    keys: Arc<KeySet>,
}

impl Verifier {
    /// A verifier that expects this of tokens.
    #[must_use]
    pub fn new(expectations: Expectations) -> Self {
        Self { expectations, verified: Verified::new() }
    }

    /// Returns the expectations of tokens.
    #[must_use]
    pub fn expectations(&self) -> &Expectations {
        &self.expectations
    }

    /// Verifies a token at this time, in seconds since 1970, or begins with it.
    ///
    /// # Errors
    ///
    /// The token is not valid here and now.
    pub fn begin(&self, token: &str, keys: &Arc<KeySet>, now: u64) -> Result<Verification, TokenError> {
        if token.len() > MAX_TOKEN {
            return Err(TokenError::TooLarge);
        }
        let digest = self.verified.digest(token);
        if let Some(known) = digest.and_then(|digest| self.verified.find(&digest, keys.generation())) {
            known.validity.check(now)?;
            return Ok(Verification::Verified(known));
        }
        let unverified = self.permitted(token)?;
        let candidates = keys.candidates(&unverified)?;
        if candidates.len() > MAX_AT_ONCE || candidates.iter().any(|key| key.is_slow) {
            let task = VerificationTask { token: token.to_owned(), keys: Arc::clone(keys) };
            return Ok(Verification::Slow(task));
        }
        self.finish(&unverified, digest, keys, now).map(Verification::Verified)
    }

    /// Verifies a token at this time, in seconds since 1970; with large keys, it may take some hundred microseconds.
    ///
    /// # Errors
    ///
    /// The token is not valid here and now.
    pub fn verify(&self, token: &str, keys: &Arc<KeySet>, now: u64) -> Result<Arc<Token>, TokenError> {
        match self.begin(token, keys, now)? {
            Verification::Verified(token) => Ok(token),
            Verification::Slow(task) => task.run(self, now),
        }
    }

    fn permitted<'a>(&self, token: &'a str) -> Result<UnverifiedToken<'a>, TokenError> {
        let unverified = UnverifiedToken::parse(token)?;
        match self.expectations.permit(unverified.algorithm) {
            true => Ok(unverified),
            false => Err(TokenError::Algorithm),
        }
    }

    fn finish(
        &self,
        unverified: &UnverifiedToken<'_>,
        digest: Option<[u8; 32]>,
        keys: &KeySet,
        now: u64,
    ) -> Result<Arc<Token>, TokenError> {
        let candidates = keys.candidates(unverified)?;
        if !candidates.iter().any(|key| key.verify(unverified).is_ok()) {
            return Err(TokenError::Signature);
        }
        let claims = parse_object(&unverified.payload()?).ok_or(TokenError::Malformed)?;
        let claims = Claims::new(claims);
        let validity = self.expectations.validity(&claims)?;
        validity.check(now)?;
        let token = Arc::new(Token { claims, validity, flattened: OnceLock::new() });
        if let Some(digest) = digest {
            self.verified.insert(digest, keys.generation(), Arc::clone(&token), unverified.length(), now);
        }
        Ok(token)
    }
}

impl VerificationTask {
    /// Verifies the token.
    ///
    /// # Errors
    ///
    /// The token is not valid here and now.
    pub fn run(&self, verifier: &Verifier, now: u64) -> Result<Arc<Token>, TokenError> {
        let unverified = verifier.permitted(&self.token)?;
        verifier.finish(&unverified, verifier.verified.digest(&self.token), &self.keys, now)
    }
}

impl Token {
    /// Returns the claims.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    pub(crate) fn is_over(&self, now: u64) -> bool {
        self.validity.is_over(now)
    }
}

impl ClaimSource for Token {
    fn append(&self, name: &str, output: &mut Vec<u8>) -> bool {
        let claims = self.flattened.get_or_init(|| self.claims.flattened());
        let found = claims.iter().find(|(claim, _)| **claim == *name);
        output.extend_from_slice(found.map(|(_, text)| text.as_bytes()).unwrap_or_default());
        found.is_some()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier").field("expectations", &self.expectations).finish_non_exhaustive()
    }
}

/// A token that names no key may have to be verified with several, which together take longer than 50 µs.
const MAX_AT_ONCE: usize = 1;
