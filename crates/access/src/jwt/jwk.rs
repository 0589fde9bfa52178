//! A key as JSON (RFC 7517 §4).

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::jwt::{
    algorithm::parse_algorithm,
    error::KeyError,
    public_key::{Curve, of_ed25519, of_point, of_rsa_components},
    verification_key::VerificationKey,
};

/// Reads a key; nothing if it is for another purpose than signatures, or of a kind that we do not know.
pub(crate) fn read(jwk: &Map<String, Value>) -> Result<Option<VerificationKey>, KeyError> {
    if !is_for_signatures(jwk) {
        return Ok(None);
    }
    let algorithm = match text(jwk, "alg") {
        None => None,
        Some(name) => match parse_algorithm(name) {
            Some(algorithm) => Some(algorithm),
            None => return Ok(None),
        },
    };
    let key = match (text(jwk, "kty"), text(jwk, "crv")) {
        (Some("RSA"), _) => of_rsa_components(&bytes(jwk, "n")?, &bytes(jwk, "e")?)?,
        (Some("EC"), Some("P-256")) => of_point(Curve::P256, &point(jwk, 32)?)?,
        (Some("EC"), Some("P-384")) => of_point(Curve::P384, &point(jwk, 48)?)?,
        (Some("OKP"), Some("Ed25519")) => of_ed25519(&bytes(jwk, "x")?)?,
        (Some("oct"), _) => VerificationKey::of_secret(&bytes(jwk, "k")?)?,
        _ => return Ok(None),
    };
    let mut key = match algorithm {
        Some(algorithm) => key.pinned_to(algorithm)?,
        None => key,
    };
    key.id = text(jwk, "kid").map(ToOwned::to_owned);
    Ok(Some(key))
}

/// Whether whoever has the key may sign with it.
pub(crate) fn is_secret(jwk: &Map<String, Value>) -> bool {
    text(jwk, "kty") == Some("oct")
}

/// RFC 7517 §4.2 and §4.3.
fn is_for_signatures(jwk: &Map<String, Value>) -> bool {
    let is_use_right = text(jwk, "use").is_none_or(|purpose| purpose == "sig");
    let is_verification = |operation: &Value| operation.as_str() == Some("verify");
    let operations = jwk.get("key_ops").and_then(Value::as_array);
    is_use_right && operations.is_none_or(|operations| operations.iter().any(is_verification))
}

fn point(jwk: &Map<String, Value>, size: usize) -> Result<Vec<u8>, KeyError> {
    let (x, y) = (bytes(jwk, "x")?, bytes(jwk, "y")?);
    if x.len() != size || y.len() != size {
        return Err(KeyError(format!("`x` and `y` do not have {size} bytes")));
    }
    // SEC 1 §2.3.3: 4 is an uncompressed point.
    Ok([&[4], x.as_slice(), y.as_slice()].concat())
}

fn bytes(jwk: &Map<String, Value>, name: &str) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let text = text(jwk, name).ok_or_else(|| KeyError(format!("`{name}` is missing")))?;
    let decoded = BASE64URL_NOPAD.decode(text.trim_end_matches('=').as_bytes());
    decoded.map(Zeroizing::new).map_err(|_| KeyError(format!("`{name}` is not base64url")))
}

fn text<'a>(jwk: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    jwk.get(name).and_then(Value::as_str)
}
