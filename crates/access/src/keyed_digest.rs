//! Digests of secrets under a key that only this process has.

use aws_lc_rs::{
    hmac::{self, HMAC_SHA256, Key},
    rand::SystemRandom,
};

/// Makes digests of secrets under a key that only this process has: nobody who reads its tables finds a secret in them,
/// or makes a text with the same digest.
pub struct KeyedDigest {
    key: Key,
}

impl KeyedDigest {
    /// Under a new key.
    #[must_use]
    pub fn new() -> Self {
        // It fails only where the system has no random numbers, and TLS would not work either.
        let key =
            Key::generate(HMAC_SHA256, &SystemRandom::new()).unwrap_or_else(|_| Key::new(HMAC_SHA256, &fallback_key()));
        Self { key }
    }

    /// The digest of these parts. Each counts with its length, so that no other parts have the same digest.
    #[must_use]
    pub fn of<'p>(&self, parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.key);
        for part in parts {
            context.update(&part.len().to_be_bytes());
            context.update(part);
        }
        let mut digest = [0; 32];
        digest.copy_from_slice(context.sign().as_ref());
        digest
    }
}

impl Default for KeyedDigest {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for KeyedDigest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("KeyedDigest").finish_non_exhaustive()
    }
}

/// A key from the addresses and the seed that the process has for its hash tables.
fn fallback_key() -> [u8; 32] {
    use std::hash::{BuildHasher, RandomState};
    let mut key = [0; 32];
    for (number, piece) in key.chunks_exact_mut(8).enumerate() {
        piece.copy_from_slice(&RandomState::new().hash_one(number).to_be_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_parts_under_the_same_key_have_the_same_digest() {
        let digest = KeyedDigest::new();
        let of = |parts: &[&str]| digest.of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        for parts in [&["a", "bc"][..], &["abc"], &["ab", "c", ""], &["ab", "C"], &[]] {
            assert_ne!(of(parts), of(&["ab", "c"]), "{parts:?}");
        }
        assert_ne!(KeyedDigest::new().of([&b"a"[..]]), digest.of([&b"a"[..]]));
    }
}
