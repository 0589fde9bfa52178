//! Handlers' notes about a request, for its log: which route takes it, who sends it, and the decisions of limits.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use alloc::{boxed::Box, vec::Vec};

use crate::{claims::Claims, request_id::RequestId};

/// Where a handler notes which of its routes takes a request, and what access control finds out about it: in the
/// extensions of the request, if its log asks for it. Clones are the same note.
#[derive(Clone, Debug)]
pub struct RouteNote(Arc<Noted>);

#[derive(Debug)]
struct Noted {
    number: AtomicU32,
    captures: Mutex<Captures>,
    access: Mutex<AccessNote>,
    claims: Mutex<Option<Claims>>,
    id: OnceLock<RequestId>,
}

/// Access control's findings about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessNote {
    /// The name of the user, which has been checked.
    pub user: Option<Arc<str>>,
    /// The limit that decided: of several, the strictest decision.
    pub limit: Option<(Arc<str>, LimitStatus)>,
}

/// The decision of a limit about a request, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LimitStatus {
    /// It was served at once.
    Passed,
    /// It would have waited, but the limit only counts.
    DelayedDryRun,
    /// It would have been refused, but the limit only counts.
    RejectedDryRun,
    /// It waited.
    Delayed,
    /// It was refused.
    Rejected,
}

impl LimitStatus {
    /// Its name, as nginx has it in `$limit_req_status`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::DelayedDryRun => "DELAYED_DRY_RUN",
            Self::RejectedDryRun => "REJECTED_DRY_RUN",
            Self::Delayed => "DELAYED",
            Self::Rejected => "REJECTED",
        }
    }
}

/// The texts that the stars or groups of a route's path matched.
type Captures = Vec<Box<[u8]>>;

impl RouteNote {
    /// A note of no route.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Noted {
            number: AtomicU32::new(NO_ROUTE),
            captures: Mutex::default(),
            access: Mutex::default(),
            claims: Mutex::default(),
            id: OnceLock::new(),
        }))
    }

    /// Notes the number of the route; a later note replaces an earlier one. `u32::MAX` stands for none.
    pub fn set(&self, number: u32) {
        self.0.number.store(number, Ordering::Relaxed);
    }

    /// Notes what the stars or groups of the route's path matched.
    pub fn set_captures(&self, captures: &[&[u8]]) {
        *self.0.captures.lock().unwrap_or_else(PoisonError::into_inner) =
            captures.iter().map(|capture| (*capture).into()).collect();
    }

    /// Notes the claims of a request's token.
    pub fn set_claims(&self, claims: Claims) {
        *self.0.claims.lock().unwrap_or_else(PoisonError::into_inner) = Some(claims);
    }

    /// Returns the claims of the request's token, if they were noted.
    #[must_use]
    pub fn claims(&self) -> Option<Claims> {
        self.0.claims.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes the id of the request; the first note stays.
    pub fn set_id(&self, id: RequestId) {
        let _ = self.0.id.set(id);
    }

    /// The id of the request, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<RequestId> {
        self.0.id.get().copied()
    }

    /// Notes who sends the request.
    pub fn set_user(&self, user: Arc<str>) {
        self.access().user = Some(user);
    }

    /// Notes what a limit decided. A stricter decision replaces another one.
    pub fn add_limit(&self, name: &Arc<str>, status: LimitStatus) {
        let limit = &mut self.access().limit;
        if limit.as_ref().is_none_or(|(_, other)| *other < status) {
            *limit = Some((Arc::clone(name), status));
        }
    }

    /// Reads access control's findings.
    pub fn with_access<T>(&self, read: impl FnOnce(&AccessNote) -> T) -> T {
        read(&self.access())
    }

    fn access(&self) -> MutexGuard<'_, AccessNote> {
        self.0.access.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the route; `None` if no route took the request.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        Some(self.0.number.load(Ordering::Relaxed)).filter(|number| *number != NO_ROUTE)
    }

    /// Reads the texts that the stars or groups of the route's path matched; none if they were not noted.
    pub fn with_captures<T>(&self, read: impl FnOnce(&[Box<[u8]>]) -> T) -> T {
        read(&self.0.captures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Default for RouteNote {
    fn default() -> Self {
        Self::new()
    }
}

/// The number of no route.
const NO_ROUTE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_limit_counts() {
        let note = RouteNote::new();
        let names = ["a", "b", "c", "d"].map(Arc::from);
        for (name, status, expected) in [
            (0, LimitStatus::Passed, 0),
            (1, LimitStatus::RejectedDryRun, 1),
            (2, LimitStatus::DelayedDryRun, 1),
            (3, LimitStatus::Rejected, 3),
            (1, LimitStatus::Delayed, 3),
        ] {
            note.add_limit(&names[name], status);
            let limit = note.with_access(|access| access.limit.clone().unwrap());
            assert_eq!(limit.0, names[expected], "{status:?}");
        }
        note.clone().set_user("alice".into());
        note.with_access(|access| assert_eq!(access.user.as_deref(), Some("alice")));
    }

    #[test]
    fn the_last_note_counts() {
        let note = RouteNote::new();
        assert_eq!(note.number(), None);
        let clone = note.clone();
        clone.set(7);
        clone.set_captures(&[b"a", b""]);
        clone.set(0);
        clone.set_captures(&[b"b"]);
        assert_eq!(note.number(), Some(0));
        note.with_captures(|captures| assert_eq!(captures, [Box::from(&b"b"[..])]));
        note.set(u32::MAX);
        assert_eq!(note.number(), None);
    }
}
