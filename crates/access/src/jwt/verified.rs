//! Tokens that were verified lately.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aws_lc_rs::{
    hmac::{self, HMAC_SHA256, Key},
    rand::SystemRandom,
};

use crate::jwt::verifier::Token;

/// Tokens that were verified with the present keys, under a keyed digest: an attacker who reads the memory does not
/// find a token that a server would accept.
pub(crate) struct Verified {
    key: Option<Key>,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    /// The key set that verified them.
    generation: u64,
    tokens: HashMap<[u8; 32], Entry>,
    size: usize,
}

struct Entry {
    token: Arc<Token>,
    size: usize,
}

impl Verified {
    /// None yet, and a new key.
    pub(crate) fn new() -> Self {
        // It fails only where the system has no random numbers; then each token is verified each time.
        let key = Key::generate(HMAC_SHA256, &SystemRandom::new());
        Self { key: key.ok(), entries: Mutex::default() }
    }

    /// Returns the keyed digest that identifies a token.
    pub(crate) fn digest(&self, token: &str) -> Option<[u8; 32]> {
        hmac::sign(self.key.as_ref()?, token.as_bytes()).as_ref().try_into().ok()
    }

    /// A token that this key set has verified.
    pub(crate) fn find(&self, digest: &[u8; 32], generation: u64) -> Option<Arc<Token>> {
        let entries = self.entries();
        let entry = entries.tokens.get(digest).filter(|_| entries.generation == generation)?;
        Some(Arc::clone(&entry.token))
    }

    /// Remembers a token of so many bytes.
    pub(crate) fn insert(&self, digest: [u8; 32], generation: u64, token: Arc<Token>, length: usize, now: u64) {
        let size = ENTRY_SIZE + length * SIZE_FACTOR;
        let mut entries = self.entries();
        if entries.generation != generation {
            *entries = Entries { generation, ..Entries::default() };
        }
        if entries.size + size > MAX_SIZE {
            entries.tokens.retain(|_, entry| !entry.token.is_over(now));
            entries.size = entries.tokens.values().map(|entry| entry.size).sum();
        }
        // So many users at a time are more than the server was made for; their tokens are verified again.
        if entries.size + size > MAX_SIZE {
            *entries = Entries { generation, ..Entries::default() };
        }
        let before = entries.tokens.insert(digest, Entry { token, size });
        entries.size = entries.size + size - before.map_or(0, |entry| entry.size);
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of all tokens; 20,000 of the usual size. A user of the issuer could get any number of tokens.
const MAX_SIZE: usize = 64 << 20;

/// The memory that claims take as values, in relation to their text.
const SIZE_FACTOR: usize = 4;

/// Bytes that an entry takes beside the claims.
const ENTRY_SIZE: usize = 256;
