//! The keys of a provider, and when Serow requests them again.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crate::jwt::KeySet;

/// The keys of a provider: pure, and the time is an argument.
#[derive(Debug, Default)]
pub(super) struct KnownKeys {
    keys: Option<(Arc<KeySet>, Instant)>,
    /// When the provider was asked for them last.
    asked: Option<Instant>,
}

/// Why keys are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyNeed {
    /// For a token.
    Usual,
    /// For a token that the known ones do not fit: the provider may have new ones, also under the same names.
    Unfitting,
}

impl KnownKeys {
    /// The last good keys.
    pub(super) fn current(&self) -> Option<Arc<KeySet>> {
        self.keys.as_ref().map(|(keys, _)| Arc::clone(keys))
    }

    /// Whether to request keys from the provider now. A request counts from now on.
    pub(super) fn ask(&mut self, need: KeyNeed, now: Instant) -> bool {
        let is_wanted = match (&self.keys, need) {
            (None, _) | (Some(_), KeyNeed::Unfitting) => true,
            (Some((_, fetched)), KeyNeed::Usual) => now.duration_since(*fetched) >= LIFETIME,
        };
        let interval = if self.keys.is_some() { MIN_INTERVAL } else { FIRST_INTERVAL };
        let is_due = is_wanted && self.asked.is_none_or(|asked| now.duration_since(asked) >= interval);
        if is_due {
            self.asked = Some(now);
        }
        is_due
    }

    /// The provider has given out these.
    pub(super) fn set(&mut self, keys: Arc<KeySet>, now: Instant) {
        self.keys = Some((keys, now));
    }
}

/// Keys are changed every few weeks, and a new one is known before it is used.
const LIFETIME: Duration = Duration::from_secs(3600);

/// Tokens that do not fit do not make this server ask for keys all the time.
const MIN_INTERVAL: Duration = Duration::from_secs(30);

/// Without any key, nobody can log in.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_is_asked_hourly_and_at_most_twice_a_minute_for_what_does_not_fit() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut keys = KnownKeys::default();
        assert!(keys.ask(KeyNeed::Usual, at(0)));
        assert!(!keys.ask(KeyNeed::Usual, at(0)) && keys.ask(KeyNeed::Unfitting, at(1)), "there are none yet");
        let set = KeySet::of_secret("a secret that has at least 32 bytes").unwrap();
        keys.set(Arc::new(set), at(2));
        for (need, now, expected) in [
            (KeyNeed::Usual, 40, false),
            (KeyNeed::Unfitting, 30, false),
            (KeyNeed::Unfitting, 31, true),
            (KeyNeed::Unfitting, 60, false),
            (KeyNeed::Unfitting, 61, true),
            (KeyNeed::Usual, 3601, false),
            (KeyNeed::Usual, 3602, true),
            // The provider does not answer: not with each token.
            (KeyNeed::Usual, 3603, false),
            (KeyNeed::Usual, 3632, true),
        ] {
            assert_eq!(keys.ask(need, at(now)), expected, "{need:?} {now}");
        }
    }
}
