//! The id of a request.

use std::{
    cell::Cell,
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher,
    sync::atomic::{AtomicBool, Ordering},
    thread_local,
};

use crate::Extensions;

/// The id of a request, by which logs of several servers can be compared: 128 random bits, displayed as 32 hexadecimal
/// digits. It is in the extensions of requests, if it [is wanted](Self::want). It is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(u128);

impl RequestId {
    /// A new id.
    #[must_use]
    pub fn random() -> Self {
        // A keyed hash of a counter: the keys are the system's random numbers, of which each thread has its own.
        let (high, low) = GENERATOR.with(|(high, low, counter)| {
            let number = counter.replace(counter.get().wrapping_add(1));
            (high.hash_one(number), low.hash_one(number))
        });
        Self(u128::from(high) << 64 | u128::from(low))
    }

    /// From now on, all requests of this process get an id: something in the settings reads it. Requests of servers whose
    /// settings do not read it pay nothing for it.
    pub fn want() {
        IS_WANTED.store(true, Ordering::Relaxed);
    }

    /// Whether requests get an id.
    #[must_use]
    #[inline]
    pub fn is_wanted() -> bool {
        IS_WANTED.load(Ordering::Relaxed)
    }

    /// The id in these extensions.
    #[must_use]
    #[inline]
    pub fn of(extensions: &Extensions) -> Option<Self> {
        if Self::is_wanted() { extensions.get().copied() } else { None }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

thread_local! {
    static GENERATOR: (RandomState, RandomState, Cell<u64>) = (RandomState::new(), RandomState::new(), Cell::new(0));
}

/// Settings are read by many parts, before there is a server, and each of them may name the variable.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

#[cfg(test)]
mod tests {
    use std::{collections::HashSet, string::ToString, thread, vec::Vec};

    use super::*;

    #[test]
    fn ids_are_different_in_all_threads_and_have_32_digits() {
        let ids = || (0..1_000).map(|_| RequestId::random().to_string()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(ids)).collect();
        let all: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(all.iter().all(|id| id.len() == 32 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte))));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 4_000);
    }
}
