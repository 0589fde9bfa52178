//! Passwords that were checked lately.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{credentials::Credentials, keyed_digest::KeyedDigest, password_hash::PasswordHash};

/// Credentials that were right lately, under a keyed digest: nobody who reads the memory finds a password in it.
///
/// The digest covers the hash from the password file as well, so whoever gets another password, or is removed, is found
/// no longer.
pub(crate) struct Verified {
    key: KeyedDigest,
    entries: Mutex<HashMap<[u8; 32], u64>>,
}

impl Verified {
    /// None yet, and a new key.
    pub(crate) fn new() -> Self {
        Self { key: KeyedDigest::new(), entries: Mutex::default() }
    }

    /// The digest that identifies credentials and the hash that they were checked against.
    pub(crate) fn digest(&self, credentials: &Credentials, hash: &PasswordHash) -> [u8; 32] {
        self.key.of([hash.text().as_bytes(), credentials.user().as_bytes(), credentials.password()])
    }

    /// Whether they were right lately. Times are seconds since any fixed moment.
    pub(crate) fn contains(&self, digest: &[u8; 32], now: u64) -> bool {
        self.entries().get(digest).is_some_and(|end| now < *end)
    }

    /// Remembers that they were right.
    pub(crate) fn insert(&self, digest: [u8; 32], now: u64) {
        let mut entries = self.entries();
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, end| now < *end);
        }
        // So many users have a file of a million lines.
        if entries.len() >= MAX_ENTRIES {
            entries.clear();
        }
        entries.insert(digest, now + LIFETIME.as_secs());
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<[u8; 32], u64>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Only right passwords are remembered, so strangers cannot fill it.
const MAX_ENTRIES: usize = 100_000;

/// A user works with a page for some minutes.
const LIFETIME: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use data_encoding::BASE64;
    use serow_message::Headers;

    use super::*;

    fn credentials(text: &str) -> Credentials {
        let mut headers = Headers::default();
        headers.append("authorization", format!("Basic {}", BASE64.encode(text.as_bytes()))).unwrap();
        Credentials::of(&headers).unwrap()
    }

    #[test]
    fn only_the_same_credentials_and_hash_are_found_and_only_for_a_time() {
        let verified = Verified::new();
        let [hash, other] = ["{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="]
            .map(|text| PasswordHash::parse(text).unwrap());
        verified.insert(verified.digest(&credentials("bob:secret"), &hash), 100);
        for (text, hash, now, expected) in [
            ("bob:secret", &hash, 100, true),
            ("bob:secret", &hash, 699, true),
            ("bob:secret", &hash, 700, false),
            ("bob:secret", &other, 100, false),
            ("bob:secre", &hash, 100, false),
            ("bo:bsecret", &hash, 100, false),
            ("eve:secret", &hash, 100, false),
        ] {
            assert_eq!(verified.contains(&verified.digest(&credentials(text), hash), now), expected, "{text} {now}");
        }
    }
}
