//! A session: the content of the cookie of a user who has logged in.

use crate::jwt::Claims;
use serde::{Deserialize, Serialize};

use crate::openid::{
    cookies::MAX_SEALED,
    settings::LoginSettings,
    token_response::{TokenSet, UserClaims},
};

/// The session of a user who has logged in. It is in a cookie, encrypted; the server keeps nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Identifies it; `count` tells its versions before and after a refresh apart.
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
    /// When the provider's tokens end: until then, it has granted access itself. Sessions of earlier versions do not say.
    #[serde(default)]
    pub(crate) tokens_end: u64,
    /// The claims that came from UserInfo: the ID token does not have them.
    #[serde(default)]
    pub(crate) from_user_info: Vec<String>,
}

/// Why there is no session with these tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// They are of another login, or for another client.
    Login,
    /// They do not say whom they are about, or are about another user.
    Subject,
    /// The claims do not meet the conditions (any more).
    Conditions,
    /// Handlers cannot have this claim in a field.
    Claim { name: String, problem: ClaimProblem },
    /// It has so many bytes, and does not fit into cookies.
    Size(usize),
}

/// Why handlers cannot have a claim in a field. Without the field, they would take the user for one with other rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClaimProblem {
    /// It has so many bytes.
    TooLong(usize),
    /// An element of a list has a comma, or a space at its end: the list would read as another one.
    Ambiguous,
    /// The user's name begins or ends with a space: it would read as another one.
    Spaces,
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
    /// A new session of the user whom these tokens are about.
    pub(crate) fn begin(
        id: [u8; 16],
        tokens: TokenSet,
        settings: &LoginSettings,
        now: u64,
    ) -> Result<Self, SessionError> {
        let UserClaims::Whole { claims, .. } = &tokens.claims else { return Err(SessionError::Subject) };
        let subject = subject(claims).ok_or(SessionError::Subject)?;
        let session = Self {
            id,
            count: 0,
            subject,
            user: None,
            fields: vec![None; settings.fields.len()],
            begin: now,
            refresh: None,
            end: now.saturating_add(settings.session.as_secs()),
            refresh_token: None,
            tokens_end: now,
            from_user_info: Vec::new(),
        };
        session.with_claims(&tokens.claims, settings)?.with_tokens(tokens, now).that_fits()
    }

    /// The session after it was refreshed.
    pub(crate) fn refreshed(&self, tokens: TokenSet, settings: &LoginSettings, now: u64) -> Result<Self, SessionError> {
        let claims = match &tokens.claims {
            UserClaims::Unchanged => None,
            UserClaims::Whole { claims, .. } | UserClaims::OfUserInfo(claims) => Some(claims),
        };
        if claims.is_some_and(|claims| subject(claims).as_ref() != Some(&self.subject)) {
            return Err(SessionError::Subject);
        }
        let session = self.clone().with_claims(&tokens.claims, settings)?;
        Self { count: self.count.wrapping_add(1), ..session.with_tokens(tokens, now) }.that_fits()
    }

    /// The session with a new refresh token where the provider has not said more (yet): it goes on as it was, and is
    /// refreshed again soon. The provider may take the old token, once it has given out another, for stolen (RFC 9700
    /// §4.14.2).
    pub(crate) fn rotated(&self, tokens: TokenSet, now: u64) -> Self {
        let session = self.clone().with_tokens(tokens, now);
        let soon = now.saturating_add(FOLLOW_UP);
        Self { count: self.count.wrapping_add(1), refresh: session.refresh.map(|refresh| refresh.min(soon)), ..session }
    }

    /// Takes the user and the fields from the claims, where they have them.
    fn with_claims(mut self, claims: &UserClaims, settings: &LoginSettings) -> Result<Self, SessionError> {
        let (claims, is_whole) = match claims {
            UserClaims::Unchanged => return Ok(self),
            UserClaims::Whole { claims, from_user_info } => {
                self.from_user_info.clone_from(from_user_info);
                (claims, true)
            }
            UserClaims::OfUserInfo(claims) => (claims, false),
        };
        // Without an ID token, its claims stay.
        let is_known = |name: &str| {
            is_whole || claims.find(name).is_some() || self.from_user_info.iter().any(|other| other == name)
        };
        if !settings.conditions.are_met_where(claims, is_known) {
            return Err(SessionError::Conditions);
        }
        if is_known(&settings.user_claim) {
            self.user = text(claims, &settings.user_claim)?;
            if claims.text(&settings.user_claim).is_some_and(|text| text.trim() != text) {
                return Err(SessionError::of_claim(&settings.user_claim, ClaimProblem::Spaces));
            }
        }
        let known = settings.fields.iter().map(|(_, claim)| is_known(claim).then(|| text(claims, claim)).transpose());
        let known = known.collect::<Result<Vec<_>, _>>()?;
        for (field, known) in self.fields.iter_mut().zip(known) {
            known.into_iter().for_each(|value| *field = value);
        }
        Ok(self)
    }

    /// With these tokens, without their claims.
    fn with_tokens(self, tokens: TokenSet, now: u64) -> Self {
        // RFC 6749 §6: without a new one, the old one stays valid.
        let refresh_token = tokens.refresh_token.or(self.refresh_token);
        let refresh_token = refresh_token.filter(|token| token.len() <= MAX_REFRESH_TOKEN);
        let lifetime = tokens.expires_in.unwrap_or(USUAL_LIFETIME).max(MIN_LIFETIME);
        // Some time before the end, so that requests do not meet it.
        let refresh = now.saturating_add(lifetime - (lifetime / 5).min(60));
        let refresh = refresh_token.as_ref().map(|_| refresh);
        Self { refresh, refresh_token, tokens_end: now.saturating_add(lifetime), ..self }
    }

    /// Without its refresh token, if it would be too long for cookies.
    fn that_fits(self) -> Result<Self, SessionError> {
        if self.encode().len() <= MAX_SESSION {
            return Ok(self);
        }
        let without = Self { refresh: None, refresh_token: None, ..self };
        match without.encode().len() {
            ..=MAX_SESSION => Ok(without),
            size => Err(SessionError::Size(size)),
        }
    }

    /// Whether it is good now. Clocks may be set: a session from the future is none.
    pub(crate) fn state(&self, now: u64) -> SessionState {
        match () {
            () if now >= self.end || self.begin > now.saturating_add(LEEWAY) => SessionState::Over,
            () if self.refresh.is_some_and(|refresh| now >= refresh) => SessionState::Due,
            () => SessionState::Valid,
        }
    }

    /// Roughly its bytes in memory.
    pub(crate) fn size(&self) -> usize {
        let texts = [Some(&self.subject), self.user.as_ref(), self.refresh_token.as_ref()].into_iter().flatten();
        let texts = texts.chain(self.fields.iter().flatten()).chain(&self.from_user_info);
        size_of::<Self>() + texts.map(|text| text.len() + size_of::<String>()).sum::<usize>()
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

/// A claim as the value of a header field; nothing if it is missing, empty, or has control characters.
fn text(claims: &Claims, name: &str) -> Result<Option<String>, SessionError> {
    let Some(text) = claims.text(name) else { return Ok(None) };
    if claims.is_ambiguous(name) {
        return Err(SessionError::of_claim(name, ClaimProblem::Ambiguous));
    }
    if text.len() > MAX_VALUE {
        return Err(SessionError::of_claim(name, ClaimProblem::TooLong(text.len())));
    }
    let is_right = !text.is_empty() && !text.chars().any(char::is_control);
    Ok(is_right.then(|| text.trim().to_owned()))
}

impl SessionError {
    fn of_claim(name: &str, problem: ClaimProblem) -> Self {
        Self::Claim { name: name.to_owned(), problem }
    }

    /// The advice for those who run the server; nothing where settings do not matter.
    pub(crate) fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Login | Self::Subject | Self::Conditions => None,
            Self::Claim { problem: ClaimProblem::TooLong(_), .. } | Self::Size(_) => {
                Some("have the provider send fewer or shorter values, or name fewer claims in `headers`")
            }
            Self::Claim { problem: ClaimProblem::Ambiguous, .. } => {
                Some("rename the value at the provider, or leave the claim out of `headers` and `user`")
            }
            Self::Claim { problem: ClaimProblem::Spaces, .. } => Some("name another claim in `user`"),
        }
    }
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Login => formatter.write_str("the tokens are of another login, or for another client"),
            Self::Subject => formatter.write_str("the tokens are about another user, or about nobody"),
            Self::Conditions => formatter.write_str("the claims do not meet the conditions"),
            Self::Claim { name, problem: ClaimProblem::TooLong(length) } => {
                write!(formatter, "the claim {name:?} has {length} bytes, and a header field has {MAX_VALUE} at most")
            }
            Self::Claim { name, problem: ClaimProblem::Ambiguous } => {
                write!(
                    formatter,
                    "a value in the list {name:?} has a comma, or a space at its end, and would read as others"
                )
            }
            Self::Claim { name, problem: ClaimProblem::Spaces } => {
                write!(
                    formatter,
                    "the user's name, {name:?}, begins or ends with a space, and would read as another one"
                )
            }
            Self::Size(size) => {
                write!(formatter, "the session has {size} bytes, and {MAX_SESSION} fit into its cookies")
            }
        }
    }
}

/// RFC 6749 §5.1 recommends `expires_in` and does not demand it; providers use minutes to an hour.
const USUAL_LIFETIME: u64 = 3600;

/// With shorter-lived tokens, every request would lead to one to the provider.
const MIN_LIFETIME: u64 = 30;

/// By how much clocks of servers with the same key may differ.
const LEEWAY: u64 = 60;

/// Those of Entra ID, the longest known, have up to 2 KB; longer ones do not fit into cookies.
const MAX_REFRESH_TOKEN: usize = 4096;

/// Most servers accept 8 KB of header fields, and a session has to fit into its cookies with all of them.
const MAX_VALUE: usize = 4096;

/// Three cookies of 3,800 characters in base64, less 29 bytes of encryption: more would leave no room in the head of a
/// request, which has 32 KB at most.
const MAX_SESSION: usize = MAX_SEALED / 4 * 3 - 29;

/// Seconds until the next attempt after a refresh that did not bring everything.
const FOLLOW_UP: u64 = 60;

#[cfg(test)]
mod tests;
