//! Sessions that are being refreshed, or were: each once, whatever number of requests come with it.
//!
//! Many providers accept a refresh token once, and end the session if it comes a second time (RFC 9700 §4.14.2). A
//! browser sends many requests with the same cookie before it has the next one, and it never gets the next one if the
//! connection breaks. So what a session has become is known until its end.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::watch;

use crate::openid::session::{Session, SessionState};

/// The outcome of a refresh.
#[derive(Clone, Debug)]
pub(crate) enum RefreshOutcome {
    /// It goes on, with new tokens.
    New(Arc<Session>),
    /// Its user may not have it any more.
    Over,
    /// The provider does not know the token (any more): it has ended the session, or another server has refreshed it.
    Refused,
    /// The provider does not answer.
    Unavailable,
}

/// Where the outcome of a refresh is put.
pub(crate) type OutcomeSender = watch::Sender<Option<RefreshOutcome>>;

/// A session that is refreshed.
#[derive(Clone, Debug)]
pub(crate) struct Refresh {
    /// The session to refresh: that of the request, or a newer one that an earlier refresh made of it.
    pub(crate) session: Arc<Session>,
    pub(crate) begin: u64,
    pub(crate) outcome: watch::Receiver<Option<RefreshOutcome>>,
}

/// Sessions that are being refreshed, or were, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Refreshes {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    refreshes: HashMap<[u8; 16], Entry>,
    /// Of all entries.
    size: usize,
}

#[derive(Debug)]
struct Entry {
    refresh: Refresh,
    /// When it began.
    size: usize,
}

impl Refreshes {
    /// The refresh of a session that is due, and where its outcome has to be put if it begins now.
    pub(crate) fn join(&self, session: &Session, now: u64) -> (Refresh, Option<OutcomeSender>) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let due = match entries.of(session) {
            None => Arc::new(session.clone()),
            Some(known) => match known.due(now) {
                None => return (known.clone(), None),
                Some(due) => due,
            },
        };
        let (sender, outcome) = watch::channel(None);
        let refresh = Refresh { session: due, begin: now, outcome };
        entries.insert(refresh.clone(), now);
        (refresh, Some(sender))
    }

    /// Ends a session whose user has logged out: none of its cookies leads to a newer session, or refreshes it.
    pub(crate) fn end(&self, session: &Session, now: u64) {
        let (_, outcome) = watch::channel(Some(RefreshOutcome::Over));
        let ended = Session { count: u32::MAX, refresh_token: None, ..session.clone() };
        let refresh = Refresh { session: Arc::new(ended), begin: now, outcome };
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).insert(refresh, now);
    }
}

impl Entries {
    /// Returns the last refresh of a session, unless another server has refreshed it since.
    fn of(&self, session: &Session) -> Option<&Refresh> {
        let refresh = &self.refreshes.get(&session.id)?.refresh;
        (refresh.newest().count >= session.count).then_some(refresh)
    }

    fn insert(&mut self, refresh: Refresh, now: u64) {
        let size = refresh.size();
        if self.size + size > MAX_SIZE {
            self.forget(now);
        }
        let before = self.refreshes.insert(refresh.session.id, Entry { refresh, size });
        self.size = self.size + size - before.map_or(0, |before| before.size);
    }

    /// Forgets sessions that have ended, and if that is not enough, those that were refreshed first: their browsers have
    /// long had their new cookies. A refresh that runs stays, since a second one would end the session.
    fn forget(&mut self, now: u64) {
        self.refreshes.retain(|_, Entry { refresh, .. }| refresh.is_running() || now < refresh.session.end);
        self.refreshes.values_mut().for_each(|entry| entry.size = entry.refresh.size());
        self.size = self.refreshes.values().map(|entry| entry.size).sum();
        let rested = self.refreshes.iter().filter(|(_, entry)| !entry.refresh.is_running());
        let mut rested: Vec<_> = rested.map(|(id, entry)| (entry.refresh.begin, *id)).collect();
        rested.sort_unstable();
        for (_, id) in rested {
            if self.size <= MAX_SIZE / 2 {
                break;
            }
            self.size -= self.refreshes.remove(&id).map_or(0, |entry| entry.size);
        }
    }
}

impl Refresh {
    /// Returns the newest version of the session.
    fn newest(&self) -> Arc<Session> {
        match &*self.outcome.borrow() {
            Some(RefreshOutcome::New(session)) => Arc::clone(session),
            _ => Arc::clone(&self.session),
        }
    }

    /// Returns the session that has to be refreshed (again) now.
    fn due(&self, now: u64) -> Option<Arc<Session>> {
        let is_due = match &*self.outcome.borrow() {
            // Its thread has ended.
            None => !self.is_running(),
            Some(RefreshOutcome::New(session)) => session.state(now) == SessionState::Due,
            Some(RefreshOutcome::Over | RefreshOutcome::Refused) => false,
            // Clocks may be set: a refresh that began in the future is one of the past as well.
            Some(RefreshOutcome::Unavailable) => now.abs_diff(self.begin) >= RETRY,
        };
        is_due.then(|| self.newest())
    }

    fn is_running(&self) -> bool {
        self.outcome.borrow().is_none() && self.outcome.has_changed().is_ok()
    }

    /// Roughly the bytes of both sessions, before and after.
    fn size(&self) -> usize {
        ENTRY_SIZE + self.session.size() + self.newest().size()
    }
}

/// Seconds in which there is no other attempt at a provider that is down.
const RETRY: u64 = 30;

/// Bytes of all sessions that are remembered: those of tens of thousands of users. Users of the provider could log in
/// any number of times to fill the memory; they displace the sessions that were refreshed first.
const MAX_SIZE: usize = 64 << 20;

/// Bytes that an entry takes beside its sessions.
const ENTRY_SIZE: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: u16, count: u32) -> Session {
        let mut name = [0; 16];
        name[..2].copy_from_slice(&id.to_be_bytes());
        Session {
            id: name,
            count,
            subject: "alice".to_owned(),
            user: None,
            fields: Vec::new(),
            begin: 0,
            refresh: Some(100 * u64::from(count + 1)),
            end: 1000,
            refresh_token: Some("a".to_owned()),
            tokens_end: 0,
            from_user_info: Vec::new(),
        }
    }

    /// The findings of a request with this session at this time: whether it has to refresh, the count of the session to
    /// refresh, and that of the outcome.
    fn found(refreshes: &Refreshes, (id, count): (u16, u32), now: u64) -> (bool, u32, Option<u32>) {
        let (refresh, sender) = refreshes.join(&session(id, count), now);
        let outcome = match &*refresh.outcome.borrow() {
            Some(RefreshOutcome::New(session)) => Some(session.count),
            _ => None,
        };
        (sender.is_some(), refresh.session.count, outcome)
    }

    #[test]
    fn the_outcome_is_known_as_long_as_the_old_cookie_may_come() {
        let refreshes = Refreshes::default();
        let (_, sender) = refreshes.join(&session(1, 0), 100);
        let sender = sender.unwrap();
        assert_eq!(found(&refreshes, (1, 0), 104), (false, 0, None), "it runs");
        sender.send_replace(Some(RefreshOutcome::New(Arc::new(session(1, 1)))));
        drop(sender);
        for now in [105, 131, 199] {
            assert_eq!(found(&refreshes, (1, 0), now), (false, 0, Some(1)), "{now}");
        }
        assert_eq!(found(&refreshes, (2, 0), 131), (true, 0, None), "another session");
        // The new session is due: the old cookie leads to it as well as the new one.
        let (refresh, sender) = refreshes.join(&session(1, 0), 200);
        assert_eq!(refresh.session.count, 1);
        assert_eq!(found(&refreshes, (1, 1), 200), (false, 1, None));
        sender.unwrap().send_replace(Some(RefreshOutcome::New(Arc::new(session(1, 2)))));
        for count in [0, 1] {
            assert_eq!(found(&refreshes, (1, count), 299), (false, 1, Some(2)), "{count}");
        }
        // Another server has refreshed it meanwhile.
        assert_eq!(found(&refreshes, (1, 5), 600), (true, 5, None));
    }

    #[test]
    fn only_a_provider_that_did_not_answer_is_tried_again() {
        for (outcome, again) in
            [(RefreshOutcome::Unavailable, true), (RefreshOutcome::Over, false), (RefreshOutcome::Refused, false)]
        {
            let refreshes = Refreshes::default();
            let (_, sender) = refreshes.join(&session(1, 0), 100);
            sender.unwrap().send_replace(Some(outcome.clone()));
            assert_eq!(found(&refreshes, (1, 0), 129), (false, 0, None), "{outcome:?}");
            assert_eq!(found(&refreshes, (1, 0), 130).0, again, "{outcome:?}");
        }
        // The thread has ended without an outcome.
        let refreshes = Refreshes::default();
        drop(refreshes.join(&session(1, 0), 100));
        assert!(found(&refreshes, (1, 0), 100).0);
    }

    #[test]
    fn no_cookie_leads_to_a_session_whose_user_has_logged_out() {
        let refreshes = Refreshes::default();
        let (_, sender) = refreshes.join(&session(1, 0), 100);
        sender.unwrap().send_replace(Some(RefreshOutcome::New(Arc::new(session(1, 1)))));
        refreshes.end(&session(1, 1), 150);
        for count in [0, 1] {
            let (refresh, sender) = refreshes.join(&session(1, count), 250);
            assert!(sender.is_none() && matches!(&*refresh.outcome.borrow(), Some(RefreshOutcome::Over)), "{count}");
        }
    }

    #[test]
    fn memory_is_bounded_and_refreshes_that_run_are_not_forgotten() {
        let (refreshes, long) = (Refreshes::default(), "r".repeat(4000));
        let running: Vec<_> = (0..10).map(|id| refreshes.join(&session(id, 0), 100).1.unwrap()).collect();
        for id in 10..20_000 {
            let due = Session { refresh_token: Some(long.clone()), ..session(id, 0) };
            let (_, sender) = refreshes.join(&due, 101 + u64::from(id) / 100);
            let next = Session { refresh_token: Some(long.clone()), ..session(id, 1) };
            sender.unwrap().send_replace(Some(RefreshOutcome::New(Arc::new(next))));
        }
        let size = |refreshes: &Refreshes| {
            let entries = refreshes.entries.lock().unwrap();
            (entries.refreshes.values().map(|entry| entry.refresh.size()).sum::<usize>(), entries.refreshes.len())
        };
        let (bytes, count) = size(&refreshes);
        assert!(bytes <= MAX_SIZE + MAX_SIZE / 4 && count > 2000, "{bytes} bytes, {count} entries");
        assert_eq!(found(&refreshes, (0, 0), 310), (false, 0, None));
        assert!(found(&refreshes, (10, 0), 310).0, "the first");
        assert_eq!(found(&refreshes, (19_999, 0), 190), (false, 0, Some(1)), "the last");
        drop(running);
        refreshes.entries.lock().unwrap().forget(1000);
        assert_eq!(size(&refreshes), (0, 0));
    }
}
