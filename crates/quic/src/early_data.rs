//! Bounds of the replay of early data (0-RTT, RFC 9001 §9.2): sessions that are resumed once, and proofs of an address
//! that are used once.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use quinn_proto::{TokenLog, TokenReuseError, ValidationTokenConfig};
use rustls::server::{ProducesTickets, StoresServerSessions};
use serow_net::time;

/// Whether a server takes data that a client sends with its first packets, before the handshake is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyData {
    /// It does not; clients send it again after the handshake.
    #[default]
    Refused,
    /// It does, from clients that have been there before, where no certificates of clients are requested.
    Accepted,
}

/// State that the endpoints of a server share to accept early data.
#[derive(Clone, Debug)]
pub(crate) struct EarlyDataStore {
    sessions: Arc<Sessions>,
    tokens: Arc<UsedTokens>,
}

impl EarlyDataStore {
    pub(crate) fn new() -> Self {
        // Tokens tell the second in which they were issued: those of this one are ours.
        let before = time::wall().checked_sub(Duration::from_secs(1)).unwrap_or(SystemTime::UNIX_EPOCH);
        Self { sessions: Arc::new(Sessions::default()), tokens: Arc::new(UsedTokens::new(before)) }
    }

    /// Has clients told that they may send early data, and each session resumed once.
    pub(crate) fn allow_in(&self, tls: &mut rustls::ServerConfig) {
        // RFC 9001 §4.6.1: QUIC limits the amount by its windows.
        tls.max_early_data_size = u32::MAX;
        // With tickets that contain the session, which could be used any number of times, rustls accepts none.
        tls.ticketer = Arc::new(NoTickets);
        tls.session_storage = Arc::clone(&self.sessions) as _;
    }

    /// Proofs of the client's address for its next connections (NEW_TOKEN, RFC 9000 §8.1.3).
    pub(crate) fn address_tokens(&self) -> ValidationTokenConfig {
        let mut config = ValidationTokenConfig::default();
        config.sent(TOKENS).lifetime(TOKEN_LIFETIME).log(Arc::clone(&self.tokens) as _);
        config
    }
}

/// The sessions of clients. A session is forgotten when it is resumed, so that a copy of the client's first packets is
/// another handshake, whose early data is refused (RFC 8446 §8.1).
#[derive(Default)]
struct Sessions(Mutex<Recent<Vec<u8>, Vec<u8>>>);

/// No tickets that contain a session.
#[derive(Debug)]
struct NoTickets;

/// The address tokens that were used.
struct UsedTokens(Mutex<TokenState>);

struct TokenState {
    used: Recent<u128, SystemTime>,
    /// Tokens that were issued until then may have been used and forgotten.
    forgotten: SystemTime,
}

/// The entries that were added last: when there are twice [`HALF`], the older half is forgotten.
struct Recent<K, V> {
    newer: HashMap<K, V>,
    older: HashMap<K, V>,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    /// Adds an entry; gives those that are forgotten for it.
    fn add(&mut self, key: K, value: V) -> HashMap<K, V> {
        let forgotten = match self.newer.len() < HALF {
            true => HashMap::new(),
            false => std::mem::replace(&mut self.older, std::mem::take(&mut self.newer)),
        };
        self.newer.insert(key, value);
        forgotten
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { newer: HashMap::new(), older: HashMap::new() }
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, Recent<Vec<u8>, Vec<u8>>> {
        // No code panics while it holds this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoresServerSessions for Sessions {
    fn put(&self, key: Vec<u8>, value: Vec<u8>) -> bool {
        self.lock().add(key, value);
        true
    }

    /// Only sessions of TLS 1.2 are looked at without being taken, which QUIC does not have.
    fn get(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn take(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mut sessions = self.lock();
        sessions.newer.remove(key).or_else(|| sessions.older.remove(key))
    }

    fn can_cache(&self) -> bool {
        true
    }
}

impl fmt::Debug for Sessions {
    /// They are secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Sessions")
    }
}

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl UsedTokens {
    /// `since`: earlier tokens are another process's, which knows whether they were used.
    fn new(since: SystemTime) -> Self {
        Self(Mutex::new(TokenState { used: Recent::default(), forgotten: since }))
    }
}

impl TokenLog for UsedTokens {
    fn check_and_insert(&self, nonce: u128, issued: SystemTime, _: Duration) -> Result<(), TokenReuseError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if issued <= state.forgotten || state.used.newer.contains_key(&nonce) || state.used.older.contains_key(&nonce) {
            return Err(TokenReuseError);
        }
        let forgotten = state.used.add(nonce, issued);
        if let Some(last) = forgotten.into_values().max() {
            state.forgotten = state.forgotten.max(last);
        }
        Ok(())
    }
}

impl fmt::Debug for UsedTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("UsedTokens")
    }
}

/// Half of the sessions, and of the used tokens, that are kept for each address. A session has about 200 bytes, so that
/// clients can make the server keep 5 MB.
const HALF: usize = 8192;

/// Address tokens for each client: as many as tickets, since each new connection uses one of both.
const TOKENS: u32 = 2;

/// As long as rustls allows a stored session to be resumed.
const TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_resumed_once() {
        let sessions = Sessions::default();
        assert!(sessions.put(b"id".to_vec(), b"session".to_vec()));
        assert_eq!(sessions.take(b"id").as_deref(), Some(&b"session"[..]));
        assert_eq!(sessions.take(b"id"), None);
    }

    #[test]
    fn many_sessions_displace_the_oldest() {
        let sessions = Sessions::default();
        for number in 0..3 * HALF {
            assert!(sessions.put(number.to_be_bytes().to_vec(), Vec::new()));
        }
        let kept: Vec<_> = (0..3 * HALF).filter(|number| sessions.take(&number.to_be_bytes()).is_some()).collect();
        assert_eq!((kept.first(), kept.last(), kept.len()), (Some(&HALF), Some(&(3 * HALF - 1)), 2 * HALF));
    }

    #[test]
    fn a_token_is_used_once() {
        let began = SystemTime::UNIX_EPOCH;
        let later = |seconds| began + Duration::from_secs(seconds);
        let tokens = UsedTokens::new(began);
        let use_token = |nonce, issued| tokens.check_and_insert(nonce, issued, TOKEN_LIFETIME).is_ok();
        assert!(!use_token(1, began), "of an earlier process");
        assert!(use_token(2, later(1)));
        assert!(!use_token(2, later(1)));
        assert!(use_token(3, later(1)));
    }

    #[test]
    fn tokens_whose_use_may_be_forgotten_are_refused() {
        let began = SystemTime::UNIX_EPOCH;
        let tokens = UsedTokens::new(began);
        let use_token = |nonce: usize| {
            let issued = began + Duration::from_secs(nonce as u64);
            tokens.check_and_insert(nonce as u128, issued, TOKEN_LIFETIME).is_ok()
        };
        for nonce in 1..=3 * HALF {
            assert!(use_token(nonce));
        }
        for nonce in 1..=3 * HALF {
            assert!(!use_token(nonce), "{nonce}");
        }
    }
}
