//! The responses of a token endpoint (RFC 6749 §5).

use crate::jwt::{Claims, TokenError};
use serde::Deserialize;

/// The tokens that a provider has issued, verified.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenSet {
    pub(crate) claims: UserClaims,
    pub(crate) refresh_token: Option<String>,
    /// Seconds.
    pub(crate) expires_in: Option<u64>,
}

/// A provider's claims about a user.
#[derive(Clone, Debug, Default)]
pub(crate) enum UserClaims {
    /// Nothing new.
    #[default]
    Unchanged,
    /// All that is wanted: an ID token, and from UserInfo those with these names.
    Whole { claims: Claims, from_user_info: Vec<String> },
    /// Claims of UserInfo, where there is no ID token.
    OfUserInfo(Claims),
}

/// The response of a token endpoint, not verified yet.
#[derive(Deserialize)]
pub(crate) struct TokenResponse {
    pub(crate) id_token: Option<String>,
    pub(crate) access_token: Option<String>,
    pub(crate) refresh_token: Option<String>,
    /// Some write it as a text, or with a fraction.
    expires_in: Option<serde_json::Value>,
}

/// Why there are no tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProviderError {
    /// The code or the token is not valid (any more).
    Refused(String),
    /// The provider is down, or the settings are wrong: later, it may be different.
    Unavailable(String),
    /// It has answered, with tokens that cannot be accepted.
    Unacceptable(TokenError),
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
}

impl TokenResponse {
    /// Reads a response. Nothing of it gets into errors but the code of the error, since there may be tokens in it.
    pub(crate) fn read(status: u16, body: &[u8]) -> Result<Self, ProviderError> {
        if status == 200 {
            let response = serde_json::from_slice(body);
            return response.map_err(|_| ProviderError::Unavailable("the response is not valid JSON".to_owned()));
        }
        let code = serde_json::from_slice(body).ok().map(|ErrorResponse { error }| code(&error)).unwrap_or_default();
        match &*code {
            "invalid_grant" => Err(ProviderError::Refused(code)),
            _ => Err(ProviderError::Unavailable(format!("the response has the status {status} {code}"))),
        }
    }

    /// These tokens, with what the provider says of the user.
    pub(crate) fn tokens(self, claims: UserClaims) -> TokenSet {
        TokenSet { claims, expires_in: self.expires_in(), refresh_token: self.refresh_token }
    }

    /// How many seconds the access token is valid.
    pub(crate) fn expires_in(&self) -> Option<u64> {
        let value = self.expires_in.as_ref()?;
        let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
        (0.0..=1e9).contains(&number).then_some(number as u64)
    }
}

/// The code of an error (RFC 6749 §5.2), as far as it is one.
pub(crate) fn code(error: &str) -> String {
    error.chars().filter(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.')).take(MAX_CODE).collect()
}

impl std::fmt::Display for ProviderError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(text) | Self::Unavailable(text) => formatter.write_str(text),
            Self::Unacceptable(error @ (TokenError::NotYetValid | TokenError::Expired)) => {
                write!(
                    formatter,
                    "the ID token is refused: {error}: the clocks of the provider and of this server differ"
                )
            }
            Self::Unacceptable(error) => write!(formatter, "the ID token is refused: {error}"),
        }
    }
}

/// The longest of those that are registered have less.
const MAX_CODE: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_errors_are_told_apart() {
        let read = |status, body: &str| TokenResponse::read(status, body.as_bytes());
        let response = read(200, r#"{"access_token": "a", "id_token": "b", "expires_in": 300}"#).unwrap();
        assert_eq!((response.id_token.as_deref(), response.expires_in()), (Some("b"), Some(300)));
        for (text, expected) in [
            (r#""300""#, Some(300)),
            ("299.5", Some(299)),
            ("-1", None),
            ("1e99", None),
            ("null", None),
            (r#""soon""#, None),
        ] {
            let response = read(200, &format!(r#"{{"expires_in": {text}}}"#)).unwrap();
            assert_eq!(response.expires_in(), expected, "{text}");
        }
        for (status, body, is_refused) in [
            (400, r#"{"error": "invalid_grant", "error_description": "secret"}"#, true),
            (401, r#"{"error": "invalid_client"}"#, false),
            (400, r#"{"error": "invalid_request\r\nevil"}"#, false),
            (400, "<html>", false),
            (500, "", false),
            (302, "", false),
            (200, "<html>", false),
            (200, r#"{"id_token": 1}"#, false),
        ] {
            let error = read(status, body).err().unwrap();
            assert_eq!(matches!(error, ProviderError::Refused(_)), is_refused, "{status} {body}");
            let text = error.to_string();
            assert!(!text.contains("secret") && !text.contains('\n') && !text.contains("html"), "{text}");
        }
    }
}
