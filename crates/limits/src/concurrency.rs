//! How many things of each key go on at the same time.

use std::{
    collections::HashMap,
    hash::{BuildHasher, Hash, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Counts the things of each key that go on at the same time, such as connections of a client. Threads share it.
///
/// It has an entry for each key of which something goes on, so its memory is bounded by what is counted: a thing that
/// costs nothing must not be counted here.
///
/// ```
/// use serow_limits::Concurrency;
///
/// let connections = Concurrency::default();
/// let first = connections.enter("a", 1).expect("there is none yet");
/// assert!(connections.enter("a", 1).is_none());
/// drop(first);
/// assert!(connections.enter("a", 1).is_some());
/// ```
#[derive(Debug)]
pub struct Concurrency<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    /// Clients choose their keys: the hash is keyed.
    hasher: RandomState,
    shards: [Mutex<HashMap<K, u32>>; SHARDS],
}

/// Counts one thing of a key until it is dropped.
#[derive(Debug)]
pub struct ConcurrencyGuard<K: Hash + Eq + Copy> {
    shared: Arc<Shared<K>>,
    key: K,
}

impl<K: Hash + Eq + Copy> Concurrency<K> {
    /// Counts one more of this key until the guard is dropped; `None` if there are `max` already.
    #[must_use]
    pub fn enter(&self, key: K, max: u32) -> Option<ConcurrencyGuard<K>> {
        let mut shard = self.shared.shard(key);
        let count = shard.entry(key).or_insert(0);
        if *count >= max {
            if *count == 0 {
                shard.remove(&key);
            }
            return None;
        }
        *count += 1;
        drop(shard);
        Some(ConcurrencyGuard { shared: Arc::clone(&self.shared), key })
    }

    /// How many keys there are of which something goes on.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.shared.shards.iter().map(|shard| lock(shard).len()).sum()
    }
}

impl<K: Hash + Eq + Copy> Clone for Concurrency<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: Hash + Eq + Copy> Default for Concurrency<K> {
    fn default() -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { shared: Arc::new(Shared { hasher: RandomState::new(), shards }) }
    }
}

impl<K: Hash + Eq + Copy> Shared<K> {
    fn shard(&self, key: K) -> MutexGuard<'_, HashMap<K, u32>> {
        lock(&self.shards[self.hasher.hash_one(key) as usize % SHARDS])
    }
}

impl<K: Hash + Eq + Copy> Drop for ConcurrencyGuard<K> {
    fn drop(&mut self) {
        let mut shard = self.shared.shard(self.key);
        match shard.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(shard.remove(&self.key)),
        }
    }
}

/// No one panics while it is locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More than there are threads on most machines, so that two seldom want the same.
const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_counted_by_themselves_and_forgotten_at_zero() {
        let concurrency = Concurrency::default();
        let guards: Vec<_> = [1, 1, 2, 1, 2, 2, 3].iter().map(|key| concurrency.enter(*key, 2)).collect();
        let entered: Vec<_> = guards.iter().map(Option::is_some).collect();
        assert_eq!(entered, [true, true, true, false, true, false, true]);
        assert_eq!(concurrency.keys(), 3);
        assert!(concurrency.enter(9, 0).is_none());
        drop(guards);
        assert_eq!(concurrency.keys(), 0);
    }

    #[test]
    fn threads_never_exceed_the_limit_and_leave_nothing_behind() {
        let concurrency = Concurrency::default();
        let inside = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        if let Some(_guard) = concurrency.enter(7, 3) {
                            let others = inside.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                            assert!(others < 3);
                            inside.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        }
                    }
                });
            }
        });
        assert_eq!(concurrency.keys(), 0);
    }
}
