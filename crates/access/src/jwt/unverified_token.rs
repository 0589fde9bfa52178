//! The parts of a token that nobody has verified.

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use crate::jwt::{
    algorithm::{Algorithm, parse_algorithm},
    error::TokenError,
    strict_json::parse_object,
};

/// A token in JWS compact serialization (RFC 7515 §7.1) whose signature has not been verified.
#[derive(Clone, Debug)]
pub(crate) struct UnverifiedToken<'a> {
    text: &'a str,
    /// Where the signature begins.
    signature: usize,
    /// Where the payload begins.
    payload: usize,
    pub(crate) algorithm: Algorithm,
    /// The name of the key. It is only compared with those of the keys.
    pub(crate) key: Option<String>,
}

impl<'a> UnverifiedToken<'a> {
    /// Splits a token, and reads its header.
    pub(crate) fn parse(text: &'a str) -> Result<Self, TokenError> {
        if text.len() > MAX_TOKEN {
            return Err(TokenError::TooLarge);
        }
        let (header, rest) = text.split_once('.').ok_or(TokenError::Malformed)?;
        let (payload, signature) = rest.split_once('.').ok_or(TokenError::Malformed)?;
        let is_encoded = |part: &str| !part.is_empty() && part.bytes().all(is_base64url);
        if ![header, payload, signature].into_iter().all(is_encoded) {
            return Err(TokenError::Malformed);
        }
        let (algorithm, key) = read_header(header)?;
        let payload = header.len() + 1;
        Ok(Self { text, signature: text.len() - signature.len(), payload, algorithm, key })
    }

    /// The part that is signed: header and payload, encoded.
    pub(crate) fn message(&self) -> &'a [u8] {
        &self.text.as_bytes()[..self.signature - 1]
    }

    /// How long it is.
    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// The signature, encoded.
    pub(crate) fn signature(&self) -> &'a str {
        &self.text[self.signature..]
    }

    /// Decodes the payload, which has the claims.
    pub(crate) fn payload(&self) -> Result<Vec<u8>, TokenError> {
        decode(&self.text[self.payload..self.signature - 1])
    }
}

fn read_header(encoded: &str) -> Result<(Algorithm, Option<String>), TokenError> {
    let mut header = parse_object(&decode(encoded)?).ok_or(TokenError::Malformed)?;
    // RFC 7515 §4.1.11: a recipient that does not understand a critical member must refuse the token. Serow understands
    // none.
    if header.contains_key("crit") {
        return Err(TokenError::Malformed);
    }
    // RFC 8725 §3.11: logout tokens, DPoP proofs and security events are signed with the same keys.
    match header.get("typ") {
        None => {}
        Some(Value::String(kind)) if is_access_token(kind) => {}
        Some(_) => return Err(TokenError::Malformed),
    }
    let Some(Value::String(name)) = header.get("alg") else { return Err(TokenError::Malformed) };
    let algorithm = parse_algorithm(name).ok_or(TokenError::Algorithm)?;
    match header.remove("kid") {
        None => Ok((algorithm, None)),
        Some(Value::String(key)) => Ok((algorithm, Some(key))),
        Some(_) => Err(TokenError::Malformed),
    }
}

/// Whether a type is that of an access token, an ID token, or says nothing about the purpose.
fn is_access_token(kind: &str) -> bool {
    let kind = kind.to_ascii_lowercase();
    let kind = kind.strip_prefix("application/").unwrap_or(&kind);
    !kind.ends_with("+jwt") || kind == "at+jwt"
}

/// RFC 7515 §2: base64url without padding. Each text has one encoding: bits after the end must be zero.
fn decode(encoded: &str) -> Result<Vec<u8>, TokenError> {
    BASE64URL_NOPAD.decode(encoded.as_bytes()).map_err(|_| TokenError::Malformed)
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Header fields have at most 16 KiB in most servers, and tokens of identity providers less than 8. More would be an
/// attack on our time.
pub(crate) const MAX_TOKEN: usize = 16 * 1024;
