//! An issuer of tokens (JWT) with a key of its own.

use std::sync::OnceLock;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use data_encoding::BASE64URL_NOPAD;

/// Tokens with one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Valid,
    Expired,
    /// Signed with another key of the same name.
    OfAnotherKey,
    /// With other claims than those that were signed.
    Changed,
    Unsigned,
}

impl Token {
    /// A token of bob. Tokens with different numbers are different.
    pub(super) fn text(self, number: u64) -> String {
        let user = if self == Self::Valid { "bob" } else { "eve" };
        let end = if self == Self::Expired { PAST } else { FUTURE };
        let payload = |user: &str| encode(format!(r#"{{"sub":"{user}","role":"staff","exp":{end},"jti":"{number}"}}"#));
        let algorithm = if self == Self::Unsigned { "none" } else { "EdDSA" };
        let header = encode(format!(r#"{{"alg":"{algorithm}","kid":"one"}}"#));
        let signed = format!("{header}.{}", payload(user));
        let key = if self == Self::OfAnotherKey { &keys()[1] } else { &keys()[0] };
        let signature = if self == Self::Unsigned { String::new() } else { encode(key.sign(signed.as_bytes())) };
        let sent = if self == Self::Changed { format!("{header}.{}", payload("mallory")) } else { signed };
        format!("{sent}.{signature}")
    }
}

/// The file of the public key.
pub(super) fn key_set() -> String {
    let point = encode(keys()[0].public_key());
    format!(r#"{{"keys":[{{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":"one","x":"{point}"}}]}}"#)
}

fn keys() -> &'static [Ed25519KeyPair; 2] {
    static KEYS: OnceLock<[Ed25519KeyPair; 2]> = OnceLock::new();
    KEYS.get_or_init(|| [7, 8].map(|byte| Ed25519KeyPair::from_seed_unchecked(&[byte; 32]).unwrap()))
}

fn encode(bytes: impl AsRef<[u8]>) -> String {
    BASE64URL_NOPAD.encode(bytes.as_ref())
}

/// The years 2001 and 2096: no test depends on the clock.
const PAST: u64 = 1_000_000_000;
const FUTURE: u64 = 4_000_000_000;
