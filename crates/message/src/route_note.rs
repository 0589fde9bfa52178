//! Where handlers note which route takes a request and whose it is, for whoever logs the request.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use alloc::{boxed::Box, vec::Vec};

use crate::{claims::Claims, user::User};

/// Where a handler notes which of its routes takes a request: in the extensions of the request, if its log asks for it.
/// Clones are the same note.
#[derive(Clone, Debug)]
pub struct RouteNote(Arc<Noted>);

#[derive(Debug)]
struct Noted {
    number: AtomicU32,
    captures: Mutex<Captures>,
    identity: Mutex<(Option<User>, Option<Claims>)>,
}

/// What the stars or groups of a route's path matched.
type Captures = Vec<Box<[u8]>>;

impl RouteNote {
    /// A note of no route.
    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(Noted {
            number: AtomicU32::new(NO_ROUTE),
            captures: Mutex::default(),
            identity: Mutex::default(),
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

    /// Notes the user who sends the request, and what the user's token says.
    pub fn set_identity(&self, user: Option<User>, claims: Option<Claims>) {
        *self.0.identity.lock().unwrap_or_else(PoisonError::into_inner) = (user, claims);
    }

    /// The user who sends the request, and what the user's token says, if that was noted.
    #[must_use]
    pub fn identity(&self) -> (Option<User>, Option<Claims>) {
        self.0.identity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of the route; `None` if no route took the request.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        Some(self.0.number.load(Ordering::Relaxed)).filter(|number| *number != NO_ROUTE)
    }

    /// What the stars or groups of the route's path matched, if that was noted.
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
