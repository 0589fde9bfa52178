//! The token that requests over TCP need to change something.

use std::sync::{Arc, Mutex, PoisonError};

/// The token of an admin endpoint, if it has one. Clones are handles to the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Token(Arc<Mutex<Option<String>>>);

impl Token {
    /// Another generation has another token, or none.
    pub(super) fn replace(&self, token: Option<&str>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = token.map(str::to_owned);
    }

    /// Whether this is it; nothing where there is none.
    pub(super) fn is(&self, given: &[u8]) -> Option<bool> {
        let token = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        token.as_ref().map(|token| is_same(given, token.as_bytes()))
    }
}

/// Whether two texts are the same; how long that takes does not tell how much of them is.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |differing, (one, other)| differing | (one ^ other));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_token_is_accepted() {
        let token = Token::default();
        assert_eq!(token.is(b""), None);
        token.clone().replace(Some("abc"));
        for (given, expected) in [("abc", true), ("abd", false), ("ab", false), ("abcd", false), ("", false)] {
            assert_eq!(token.is(given.as_bytes()), Some(expected), "{given}");
        }
    }
}
