//! Expectations of the registered claims of a token (RFC 7519 §4.1).

use serde_json::Value;

use crate::jwt::{algorithm::Algorithm, claims::Claims, error::TokenError};

/// Expectations of tokens besides a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectations {
    /// The algorithms that they may be signed with, if their key is for them; nothing for all that keys are for.
    pub algorithms: Option<Vec<Algorithm>>,
    /// Their issuers; without any, each issuer whose key is in the set.
    pub issuers: Vec<String>,
    /// The audiences that they may be for. Without any, tokens for an audience are refused (RFC 7519 §4.1.3).
    pub audiences: Vec<String>,
    /// By how many seconds the clocks of issuer and server may differ; by default 60.
    pub leeway: u64,
}

/// When a token is valid, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Validity {
    begin: u64,
    /// The first second in which it is not valid.
    end: u64,
}

impl Default for Expectations {
    fn default() -> Self {
        Self { algorithms: None, issuers: Vec::new(), audiences: Vec::new(), leeway: LEEWAY }
    }
}

impl Expectations {
    /// Whether an algorithm may be used at all.
    pub(crate) fn permit(&self, algorithm: Algorithm) -> bool {
        self.algorithms.as_ref().is_none_or(|algorithms| algorithms.contains(&algorithm))
    }

    /// Checks issuer and audience, and reads the times.
    pub(crate) fn validity(&self, claims: &Claims) -> Result<Validity, TokenError> {
        let issuer = match claims.find("iss") {
            None => None,
            Some(Value::String(issuer)) => Some(issuer),
            Some(_) => return Err(TokenError::Claims),
        };
        if !self.issuers.is_empty() && !issuer.is_some_and(|issuer| self.issuers.contains(issuer)) {
            return Err(TokenError::Issuer);
        }
        if !self.is_audience_right(claims.find("aud"))? {
            return Err(TokenError::Audience);
        }
        if claims.find("sub").is_some_and(|subject| !subject.is_string()) {
            return Err(TokenError::Claims);
        }
        let end = time(claims, "exp")?.ok_or(TokenError::WithoutExpiry)?.saturating_add(self.leeway);
        // A token from the future: one of the clocks is wrong.
        let begins = [time(claims, "nbf")?, time(claims, "iat")?];
        let begin = begins.into_iter().flatten().max().unwrap_or(0).saturating_sub(self.leeway);
        Ok(Validity { begin, end })
    }

    fn is_audience_right(&self, audience: Option<&Value>) -> Result<bool, TokenError> {
        let is_ours = |audience: &str| self.audiences.iter().any(|ours| ours == audience);
        match audience {
            None => Ok(self.audiences.is_empty()),
            Some(Value::String(audience)) => Ok(is_ours(audience)),
            Some(Value::Array(audiences)) => {
                let texts: Option<Vec<_>> = audiences.iter().map(Value::as_str).collect();
                Ok(texts.ok_or(TokenError::Claims)?.into_iter().any(is_ours))
            }
            Some(_) => Err(TokenError::Claims),
        }
    }
}

impl Validity {
    /// Whether a token is valid at this time. Each request checks it: clocks may be set.
    pub(crate) fn check(self, now: u64) -> Result<(), TokenError> {
        match () {
            () if now >= self.end => Err(TokenError::Expired),
            () if now < self.begin => Err(TokenError::NotYetValid),
            () => Ok(()),
        }
    }

    /// Whether it will never be valid again.
    pub(crate) fn is_over(self, now: u64) -> bool {
        now >= self.end
    }
}

/// RFC 7519 §2, NumericDate: seconds, of which there may be parts.
fn time(claims: &Claims, name: &str) -> Result<Option<u64>, TokenError> {
    let Some(value) = claims.find(name) else { return Ok(None) };
    let Value::Number(number) = value else { return Err(TokenError::Claims) };
    if let Some(seconds) = number.as_u64() {
        return if seconds <= LAST_SECOND { Ok(Some(seconds)) } else { Err(TokenError::Claims) };
    }
    match number.as_f64() {
        Some(seconds) if (0.0..=LAST_SECOND as f64).contains(&seconds) => Ok(Some(seconds as u64)),
        _ => Err(TokenError::Claims),
    }
}

/// As most libraries have it: clocks that are set by NTP differ by less than a second, others by some.
const LEEWAY: u64 = 60;

/// The end of the year 9999: whoever writes milliseconds by mistake has a token that never expires.
const LAST_SECOND: u64 = 253_402_300_799;
