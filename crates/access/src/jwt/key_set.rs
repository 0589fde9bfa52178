//! Sets of keys.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Map, Value};

use crate::jwt::{
    algorithm::Algorithm,
    error::{KeyError, TokenError},
    jwk, public_key,
    strict_json::parse_object,
    unverified_token::UnverifiedToken,
    verification_key::VerificationKey,
};

/// Keys that tokens may be signed with.
#[derive(Debug)]
pub struct KeySet {
    keys: Vec<VerificationKey>,
    generation: u64,
}

impl KeySet {
    /// Reads a file: a JWKS or a JWK (RFC 7517), or public keys and certificates in PEM. Keys of a JWKS that are not for
    /// signatures, or that cannot be used, are left out.
    ///
    /// # Errors
    ///
    /// No key can be used.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        match text.trim_start() {
            json if json.starts_with('{') => Self::parse_json(json, true),
            pem if pem.contains("-----BEGIN") => Self::of(public_key::of_pem(pem)?),
            _ => {
                let text =
                    "the file is not a key set: it begins with { (JWKS) or with -----BEGIN PUBLIC KEY----- (PEM)";
                Err(KeyError(text.to_owned()))
            }
        }
    }

    /// Reads a JWKS that another server has sent: as [`KeySet::parse`], without secrets. A server that publishes a secret
    /// lets everybody sign.
    ///
    /// # Errors
    ///
    /// No key can be used.
    pub fn parse_published(text: &str) -> Result<Self, KeyError> {
        Self::parse_json(text.trim_start(), false)
    }

    /// Reads the file of a secret for HS256, HS384 and HS512: its text without the line break at its end.
    ///
    /// # Errors
    ///
    /// It has less than 32 bytes, or is a public key, which everybody knows.
    pub fn of_secret(text: &str) -> Result<Self, KeyError> {
        let secret = text.strip_suffix('\n').unwrap_or(text);
        let secret = secret.strip_suffix('\r').unwrap_or(secret);
        if secret.contains("-----BEGIN") || parse_object(secret.as_bytes()).is_some_and(|jwk| jwk.contains_key("kty")) {
            let text = "the file is a key and not a secret: name it in `keys`";
            return Err(KeyError(text.to_owned()));
        }
        Self::of(vec![VerificationKey::of_secret(secret.as_bytes())?])
    }

    fn parse_json(text: &str, with_secrets: bool) -> Result<Self, KeyError> {
        let invalid = || KeyError("the key set is not JSON without duplicate members".to_owned());
        let object = parse_object(text.as_bytes()).ok_or_else(invalid)?;
        let keys = match object.get("keys") {
            None => vec![&object],
            Some(Value::Array(keys)) => keys.iter().filter_map(Value::as_object).collect(),
            Some(_) => return Err(KeyError("`keys` is not an array of keys".to_owned())),
        };
        if keys.len() > MAX_KEYS {
            return Err(KeyError(format!("the key set has more than {MAX_KEYS} keys")));
        }
        let mut problem = None;
        let mut read = Vec::new();
        let is_usable = |jwk: &&Map<String, Value>| with_secrets || !jwk::is_secret(jwk);
        for jwk in keys.into_iter().filter(is_usable) {
            match jwk::read(jwk) {
                Ok(key) => read.extend(key),
                // One key of an unknown form must not lock out those whose tokens have others.
                Err(error) => problem = problem.or(Some(error)),
            }
        }
        match (read.is_empty(), problem) {
            (false, _) => Self::of(read),
            (true, Some(KeyError(problem))) => Err(KeyError(format!("no key of the set can be used: {problem}"))),
            (true, None) => Err(KeyError("no key of the set is for signatures".to_owned())),
        }
    }

    #[allow(clippy::unnecessary_wraps, reason = "each source of keys ends with it")]
    fn of(keys: Vec<VerificationKey>) -> Result<Self, KeyError> {
        Ok(Self { keys, generation: GENERATION.fetch_add(1, Ordering::Relaxed) })
    }

    /// Each set of this process has another one.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a key may be used with one of these algorithms.
    #[must_use]
    pub fn is_for(&self, algorithms: &[Algorithm]) -> bool {
        self.keys.iter().any(|key| algorithms.iter().any(|algorithm| key.is_for(*algorithm)))
    }

    /// The keys that may have signed a token: those that it names, or if they have no names, all for its algorithm.
    pub(crate) fn candidates(&self, token: &UnverifiedToken<'_>) -> Result<Vec<&VerificationKey>, TokenError> {
        let is_named = |key: &&VerificationKey| match (&token.key, &key.id) {
            (Some(named), Some(id)) => named == id,
            _ => true,
        };
        let named: Vec<_> = self.keys.iter().filter(is_named).collect();
        if named.is_empty() {
            return Err(TokenError::UnknownKey);
        }
        let fitting: Vec<_> = named.into_iter().filter(|key| key.is_for(token.algorithm)).take(MAX_TRIES).collect();
        match fitting.is_empty() {
            true => Err(TokenError::Algorithm),
            false => Ok(fitting),
        }
    }
}

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Identity providers publish fewer than ten.
const MAX_KEYS: usize = 100;

/// A token that names no key is verified with each that fits: more would be an attack on our time.
const MAX_TRIES: usize = 4;
