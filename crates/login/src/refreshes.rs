//! Sessions that are being refreshed: each once, whatever number of requests come with it.
//!
//! Many providers accept a refresh token once, and end the session if it comes a second time (RFC 9700 §4.14.2). A
//! browser sends many requests with the same cookie before it has the next one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::session::Session;

/// What has become of a session.
#[derive(Clone, Debug)]
pub(crate) enum RefreshOutcome {
    /// It goes on, with new tokens.
    New(Arc<Session>),
    /// The provider has ended it.
    Over,
    /// The provider does not answer.
    Unavailable,
}

/// Sessions that are being refreshed, or were lately.
#[derive(Debug, Default)]
pub(crate) struct Refreshes {
    entries: Mutex<HashMap<([u8; 16], u32), Entry>>,
}

#[derive(Debug)]
struct Entry {
    begin: u64,
    outcome: watch::Receiver<Option<RefreshOutcome>>,
}

impl Refreshes {
    /// The outcome for a session, and where it has to be put if nobody refreshes the session yet.
    pub(crate) fn join(
        &self,
        session: &Session,
        now: u64,
    ) -> (watch::Receiver<Option<RefreshOutcome>>, Option<watch::Sender<Option<RefreshOutcome>>>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // Clocks may be set: what begins in the future is of the past as well.
        let is_recent = |entry: &Entry| now.abs_diff(entry.begin) < LIFETIME;
        let key = (session.id, session.count);
        if let Some(entry) = entries.get(&key).filter(|entry| is_recent(entry)) {
            return (entry.outcome.clone(), None);
        }
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, entry| is_recent(entry));
        }
        let (sender, outcome) = watch::channel(None);
        if entries.len() < MAX_ENTRIES {
            entries.insert(key, Entry { begin: now, outcome: outcome.clone() });
        }
        (outcome, Some(sender))
    }
}

/// Seconds in which requests with the old cookie come, and in which there is no other attempt at a provider that is down.
const LIFETIME: u64 = 30;

/// Only those who have logged in have an entry; with more, a session may be refreshed twice.
const MAX_ENTRIES: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: u8, count: u32) -> Session {
        Session {
            id: [id; 16],
            count,
            subject: "alice".to_owned(),
            user: None,
            fields: Vec::new(),
            begin: 0,
            refresh: Some(0),
            end: 100,
            refresh_token: Some("a".to_owned()),
        }
    }

    #[test]
    fn a_session_is_refreshed_once_in_a_while() {
        let refreshes = Refreshes::default();
        let (_, sender) = refreshes.join(&session(1, 0), 100);
        sender.unwrap().send_replace(Some(RefreshOutcome::Over));
        for (id, count, now, is_first) in [
            (1, 0, 100, false),
            (1, 0, 129, false),
            (1, 1, 100, true),
            (2, 0, 100, true),
            (1, 0, 130, true),
            (1, 0, 0, true),
        ] {
            let (outcome, sender) = refreshes.join(&session(id, count), now);
            assert_eq!(sender.is_some(), is_first, "{id} {count} {now}");
            assert_eq!(outcome.borrow().is_some(), !is_first);
        }
    }
}
