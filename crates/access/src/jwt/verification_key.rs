//! A key that verifies signatures.

use std::fmt;

use jsonwebtoken::DecodingKey;

use crate::jwt::{
    algorithm::Algorithm,
    error::{KeyError, TokenError},
    unverified_token::UnverifiedToken,
};

/// A key, and what it may be used with.
#[derive(Clone)]
pub(crate) struct VerificationKey {
    /// Its name in a JWKS.
    pub(crate) id: Option<String>,
    key: DecodingKey,
    algorithms: Vec<Algorithm>,
    /// Whether a verification takes longer than an event loop should be blocked.
    pub(crate) is_slow: bool,
}

impl VerificationKey {
    /// A secret.
    pub(crate) fn of_secret(secret: &[u8]) -> Result<Self, KeyError> {
        // RFC 7518 §3.2: at least as large as the hash.
        let algorithms = match secret.len() {
            0..32 => {
                return Err(KeyError(format!(
                    "the secret has {} bytes, and whoever has a token could guess it: use at least 32, as openssl rand \
                     -base64 48 writes them",
                    secret.len()
                )));
            }
            32..48 => &[Algorithm::HS256][..],
            48..64 => &[Algorithm::HS256, Algorithm::HS384],
            64.. => &[Algorithm::HS256, Algorithm::HS384, Algorithm::HS512],
        };
        Ok(Self::new(DecodingKey::from_secret(secret), algorithms, false))
    }

    /// A key with the algorithms of its kind.
    pub(crate) fn new(key: DecodingKey, algorithms: &[Algorithm], is_slow: bool) -> Self {
        Self { id: None, key, algorithms: algorithms.to_vec(), is_slow }
    }

    /// Restricts the key to one algorithm of its kind.
    pub(crate) fn pinned_to(mut self, algorithm: Algorithm) -> Result<Self, KeyError> {
        if !self.algorithms.contains(&algorithm) {
            return Err(KeyError(format!("a key of this kind and size is not for {algorithm:?}")));
        }
        self.algorithms = vec![algorithm];
        Ok(self)
    }

    /// Whether it may be used with an algorithm.
    pub(crate) fn is_for(&self, algorithm: Algorithm) -> bool {
        self.algorithms.contains(&algorithm)
    }

    /// Verifies the signature of a token.
    pub(crate) fn verify(&self, token: &UnverifiedToken<'_>) -> Result<(), TokenError> {
        if !self.is_for(token.algorithm) {
            return Err(TokenError::Algorithm);
        }
        match jsonwebtoken::crypto::verify(token.signature(), token.message(), &self.key, token.algorithm) {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(TokenError::Signature),
        }
    }
}

impl fmt::Debug for VerificationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VerificationKey").field("id", &self.id).field("algorithms", &self.algorithms).finish()
    }
}
