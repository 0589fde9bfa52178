//! A session: what the cookie of somebody who has logged in says.

use serde::{Deserialize, Serialize};
use serow_jwt::Claims;

use crate::{settings::LoginSettings, token_response::TokenSet};

/// Somebody who has logged in. It is in a cookie, encrypted; the server keeps nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Identifies it, and with `count` what it was before and after it was refreshed.
    pub(crate) id: [u8; 16],
    pub(crate) count: u32,
    /// The subject of the ID token: a refreshed one has to have the same.
    pub(crate) subject: String,
    pub(crate) user: Option<String>,
    /// The values of the fields for handlers, in the order of the settings.
    pub(crate) fields: Vec<Option<String>>,
    /// When it began, when it has to be refreshed, and when it ends: in seconds since 1970.
    pub(crate) begin: u64,
    pub(crate) refresh: Option<u64>,
    pub(crate) end: u64,
    pub(crate) refresh_token: Option<String>,
}

/// Whether a session is good for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionState {
    /// It is.
    Valid,
    /// It is, and has to be refreshed now.
    Due,
    /// It is over, or begins in the future.
    Over,
}

impl Session {
    /// A new session of the user whom these tokens are about; `None` if its claims are not of use.
    pub(crate) fn begin(id: [u8; 16], tokens: TokenSet, settings: &LoginSettings, now: u64) -> Option<Self> {
        let claims = tokens.claims.as_ref()?;
        let subject = subject(claims)?;
        let end = now.saturating_add(settings.session.as_secs());
        let session = Self {
            id,
            count: 0,
            subject,
            user: None,
            fields: Vec::new(),
            begin: now,
            refresh: None,
            end,
            refresh_token: None,
        };
        Some(session.with(tokens, settings, now))
    }

    /// The session after it was refreshed; `None` if the new tokens are about another user.
    pub(crate) fn refreshed(&self, mut tokens: TokenSet, settings: &LoginSettings, now: u64) -> Option<Self> {
        if tokens.claims.as_ref().is_some_and(|claims| subject(claims).as_ref() != Some(&self.subject)) {
            return None;
        }
        // RFC 6749 §6: without a new one, the old one stays valid.
        tokens.refresh_token = tokens.refresh_token.or_else(|| self.refresh_token.clone());
        let session = Self { count: self.count.wrapping_add(1), ..self.clone() };
        Some(session.with(tokens, settings, now))
    }

    fn with(self, tokens: TokenSet, settings: &LoginSettings, now: u64) -> Self {
        let (user, fields) = match &tokens.claims {
            Some(claims) => (
                text(claims, &settings.user_claim),
                settings.fields.iter().map(|(_, claim)| text(claims, claim)).collect(),
            ),
            None => (self.user, self.fields),
        };
        let refresh_token = tokens.refresh_token.filter(|token| token.len() <= MAX_REFRESH_TOKEN);
        let lifetime = tokens.expires_in.unwrap_or(USUAL_LIFETIME).max(MIN_LIFETIME);
        // Some time before the end, so that requests do not meet it.
        let refresh = now.saturating_add(lifetime - (lifetime / 5).min(60));
        let refresh = refresh_token.as_ref().map(|_| refresh);
        Self { user, fields, refresh, refresh_token, ..self }
    }

    /// Whether it is good now. Clocks may be set: a session from the future is none.
    pub(crate) fn state(&self, now: u64) -> SessionState {
        match () {
            () if now >= self.end || self.begin > now.saturating_add(LEEWAY) => SessionState::Over,
            () if self.refresh.is_some_and(|refresh| now >= refresh) => SessionState::Due,
            () => SessionState::Valid,
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        // Texts and numbers: it cannot fail.
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

fn subject(claims: &Claims) -> Option<String> {
    claims.find("sub")?.as_str().filter(|subject| !subject.is_empty()).map(str::to_owned)
}

/// A claim that can be the value of a header field: without control characters, and not longer than others.
fn text(claims: &Claims, path: &str) -> Option<String> {
    let text = claims.text(path)?;
    let is_right = !text.is_empty() && text.len() <= MAX_VALUE && !text.chars().any(char::is_control);
    is_right.then(|| text.trim().to_owned())
}

/// RFC 6749 §5.1 recommends `expires_in` and does not demand it; providers use minutes to an hour.
const USUAL_LIFETIME: u64 = 3600;

/// With shorter-lived tokens, every request would lead to one to the provider.
const MIN_LIFETIME: u64 = 30;

/// By how much clocks of servers with the same key may differ.
const LEEWAY: u64 = 60;

/// Those of Entra ID, the longest known, have up to 2 KB; longer ones do not fit into cookies.
const MAX_REFRESH_TOKEN: usize = 4096;

/// The fields of a session have to fit into cookies together with the refresh token.
const MAX_VALUE: usize = 1024;

#[cfg(test)]
mod tests;
