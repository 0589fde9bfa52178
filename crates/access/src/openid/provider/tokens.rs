//! Tokens: requests for them, their verification, and the claims that they do not have.

use std::sync::Arc;

use crate::jwt::{Claims, KeySet, Token, TokenError};
use bytes::Bytes;
use http::Request;
use serow_client::fetch::FetchClient;
use serow_net::time;

use super::{known_keys::KeyNeed, requests, worker::Worker};
use crate::openid::{
    metadata::Metadata,
    token_response::{ProviderError, TokenResponse, TokenSet, UserClaims},
    user_info,
};

impl Worker {
    /// Exchanges a code.
    pub(super) async fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<TokenSet, ProviderError> {
        let metadata = self.provider.metadata().ok_or_else(|| unavailable("its endpoints are not known"))?;
        let request = requests::exchange(&self.provider.settings, &metadata, code, verifier, redirect_uri);
        let response = Self::token_response(&self.client, request).await?;
        let Some(token) = &response.id_token else { return Err(unavailable("the response has no ID token")) };
        let claims = self.claims_of(token, &response, &metadata).await?;
        Ok(response.tokens(claims))
    }

    /// Sends a request for tokens.
    pub(super) async fn token_response(
        client: &FetchClient,
        request: Result<Request<Bytes>, http::Error>,
    ) -> Result<TokenResponse, ProviderError> {
        let request = request.map_err(|error| unavailable(&error.to_string()))?;
        let response = client.fetch(request).await.map_err(|error| unavailable(&error.to_string()))?;
        TokenResponse::read(response.status().as_u16(), response.body())
    }

    /// Returns this user's claims from the response to a refresh. Without an ID token, which OpenID Connect Core §12.2
    /// permits, UserInfo says whether its claims still hold.
    pub(super) async fn refreshed_claims(
        &self,
        response: &TokenResponse,
        subject: &str,
        metadata: &Metadata,
    ) -> Result<UserClaims, ProviderError> {
        if let Some(token) = &response.id_token {
            return self.claims_of(token, response, metadata).await;
        }
        match (&metadata.userinfo, &response.access_token) {
            (Some(url), Some(token)) if self.provider.settings.wants_claims() => {
                let body = self.user_info(url, token).await?;
                user_info::alone(&body, subject, &self.provider.settings).map_err(unavailable)
            }
            _ => Ok(UserClaims::Unchanged),
        }
    }

    /// The claims of an ID token, and those that it does not have and that are wanted, from the provider's UserInfo
    /// (OpenID Connect Core §5.3).
    async fn claims_of(
        &self,
        token: &str,
        response: &TokenResponse,
        metadata: &Metadata,
    ) -> Result<UserClaims, ProviderError> {
        let token = self.verified(token, metadata).await?;
        let (claims, settings) = (token.claims(), &self.provider.settings);
        let is_missing = settings.wanted_claims().any(|claim| claims.find(claim).is_none());
        match (&metadata.userinfo, &response.access_token) {
            (Some(url), Some(access)) if is_missing => {
                user_info::complete(&self.user_info(url, access).await?, claims, settings).map_err(unavailable)
            }
            _ => Ok(UserClaims::Whole { claims: Claims::clone(claims), from_user_info: Vec::new() }),
        }
    }

    async fn user_info(&self, url: &str, access_token: &str) -> Result<Bytes, ProviderError> {
        let request =
            requests::user_info(url, access_token).map_err(|_| unavailable("the access token is not valid"))?;
        let response = self.client.fetch(request).await.map_err(|error| unavailable(&error.to_string()))?;
        match response.status().as_u16() {
            200 => Ok(response.into_body()),
            status => Err(unavailable(&format!("{url} has the status {status}"))),
        }
    }

    async fn verified(&self, token: &str, metadata: &Metadata) -> Result<Arc<Token>, ProviderError> {
        let keys = self.keys(KeyNeed::Usual, metadata).await?;
        match self.verifier.verify(token, &keys, time::seconds_since_1970()) {
            // The provider has new keys, perhaps under the names of the old ones.
            Err(TokenError::UnknownKey | TokenError::Signature | TokenError::Algorithm) => {
                let keys = self.keys(KeyNeed::Unfitting, metadata).await?;
                self.verifier.verify(token, &keys, time::seconds_since_1970()).map_err(ProviderError::Unacceptable)
            }
            outcome => outcome.map_err(ProviderError::Unacceptable),
        }
    }

    /// The keys of the provider; older ones where it does not give out others.
    async fn keys(&self, need: KeyNeed, metadata: &Metadata) -> Result<Arc<KeySet>, ProviderError> {
        let mut known = self.keys.lock().await;
        let mut problem = None;
        if known.ask(need, time::now()) {
            let fetched = self.get(&metadata.keys).await.and_then(|body| {
                let text = std::str::from_utf8(&body).map_err(|error| error.to_string())?;
                KeySet::parse_published(text).map_err(|error| error.to_string())
            });
            match fetched {
                Ok(keys) => known.set(Arc::new(keys), time::now()),
                Err(error) => problem = Some(error),
            }
        }
        let problem = || unavailable(problem.as_deref().unwrap_or("its keys are not known"));
        known.current().ok_or_else(problem)
    }
}

fn unavailable(text: &str) -> ProviderError {
    ProviderError::Unavailable(text.to_owned())
}
