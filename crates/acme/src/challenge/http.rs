//! http-01 (RFC 8555 §8.3): a file at a known path, on port 80.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

/// The answers to http-01, which clones share.
#[derive(Clone, Default)]
pub struct HttpChallenges {
    shared: Arc<RwLock<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// The text for each token.
    texts: HashMap<String, String>,
    lookup: Option<Lookup>,
}

/// The text for a token, from outside of this process.
type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

impl HttpChallenges {
    /// The text to answer a request for this path with, if the path is that of a current validation.
    #[must_use]
    pub fn answer(&self, path: &str) -> Option<String> {
        let token = path.strip_prefix(FOLDER)?;
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = shared.texts.get(token) {
            return Some(text.clone());
        }
        let lookup = shared.lookup.clone()?;
        drop(shared);
        lookup(token)
    }

    pub(super) fn add(&self, token: &str, text: &str) {
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        shared.texts.insert(token.to_owned(), text.to_owned());
    }

    pub(super) fn remove(&self, token: &str) {
        self.shared.write().unwrap_or_else(PoisonError::into_inner).texts.remove(token);
    }

    pub(super) fn look_up(&self, lookup: Lookup) {
        self.shared.write().unwrap_or_else(PoisonError::into_inner).lookup = Some(lookup);
    }
}

/// Where the text of a token is stored. Tokens are base64url (RFC 8555 §8.3), and no names of other files.
pub(super) fn storage_key(token: &str) -> Option<String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_token = (1..=MAX_TOKEN).contains(&token.len()) && token.bytes().all(is_valid);
    is_token.then(|| format!("challenges/http/{token}"))
}

/// The folder of the path (RFC 8555 §8.3).
const FOLDER: &str = "/.well-known/acme-challenge/";

/// Let's Encrypt's tokens have 43 characters; as many as a file name may have leave room for a prefix.
const MAX_TOKEN: usize = 200;

impl fmt::Debug for HttpChallenges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HttpChallenges").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_current_tokens_are_answered() {
        let challenges = HttpChallenges::default();
        challenges.look_up(Arc::new(|token| storage_key(token).filter(|_| token == "theirs")));
        challenges.add("ours", "ours.key");
        for (path, expected) in [
            ("/.well-known/acme-challenge/ours", Some("ours.key")),
            ("/.well-known/acme-challenge/theirs", Some("challenges/http/theirs")),
            ("/.well-known/acme-challenge/other", None),
            ("/.well-known/acme-challenge/", None),
            ("/.well-known/acme-challenge/../theirs", None),
            ("/ours", None),
        ] {
            assert_eq!(challenges.answer(path).as_deref(), expected, "{path}");
        }
        challenges.remove("ours");
        assert_eq!(challenges.answer("/.well-known/acme-challenge/ours"), None);
    }

    #[test]
    fn a_token_cannot_leave_its_folder() {
        for token in ["", "..", "../x", "a/b", "a\0", "ä", &"a".repeat(201)] {
            assert_eq!(storage_key(token), None, "{token}");
        }
    }
}
