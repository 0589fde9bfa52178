//! The times of all keys, in bounded memory.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{Decision, Limit};

/// The times of the keys of one limit, in memory of a fixed size, shared by all threads.
///
/// A key has a place in one bucket of eight. If the bucket is full, the new key takes the place of the one that has the
/// most of its burst left: the oldest, as a rule. So an attacker who never uses a key twice displaces keys like his own
/// before those that are held back.
///
/// Keys are identified by 64 bits of a keyed hash: two of ten million keys share a time with a probability of one in
/// 370,000.
#[derive(Debug)]
pub struct KeyTable {
    hasher: RandomState,
    shards: Box<[Mutex<Box<[Bucket]>>]>,
    buckets_per_shard: u64,
    displaced: AtomicU64,
}

/// A key as its table knows it. Another table has another key for the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

/// Eight keys, and the end of each. A bucket has two cache lines.
type Bucket = [[u64; WAYS]; 2];

impl KeyTable {
    /// A table for so many keys, rounded up; it takes 16 bytes for each. The system provides the memory when it is used.
    #[must_use]
    pub fn new(keys: usize) -> Self {
        let buckets = keys.div_ceil(WAYS).max(1).div_ceil(SHARDS);
        let shard = || Mutex::new(vec![Bucket::default(); buckets].into());
        Self {
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            buckets_per_shard: buckets as u64,
            displaced: AtomicU64::new(0),
        }
    }

    /// The key with these bytes.
    #[must_use]
    pub fn key(&self, bytes: &[u8]) -> Key {
        // 0 marks a free place.
        Key(self.hasher.hash_one(bytes).max(1))
    }

    /// Decides about a request of a key that counts as `cost` requests, at the time `now`.
    #[must_use]
    pub fn decide(&self, limit: &Limit, key: Key, cost: u32, now: u64) -> Decision {
        let (mut shard, bucket) = self.bucket(key);
        let [keys, ends] = &mut shard[bucket];
        let found = keys.iter().position(|other| *other == key.0);
        let (new_end, decision) = limit.decide(found.map_or(0, |place| ends[place]), cost, now);
        match found {
            Some(place) => ends[place] = new_end,
            // A new key is refused only for a cost above the burst; it owes nothing then.
            None if new_end > now => self.insert(keys, ends, key, new_end, now),
            None => {}
        }
        decision
    }

    /// Counts `cost` more requests of a key, or fewer if it is negative, without deciding about one.
    pub fn charge(&self, limit: &Limit, key: Key, cost: i32, now: u64) {
        let (mut shard, bucket) = self.bucket(key);
        let [keys, ends] = &mut shard[bucket];
        let found = keys.iter().position(|other| *other == key.0);
        let new_end = limit.charge(found.map_or(0, |place| ends[place]), cost, now);
        match found {
            Some(place) => ends[place] = new_end,
            None if new_end > now => self.insert(keys, ends, key, new_end, now),
            None => {}
        }
    }

    /// How many keys lost their place although they had not all of their burst: if there are many, the table is too
    /// small for its clients.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    fn insert(&self, keys: &mut [u64; WAYS], ends: &mut [u64; WAYS], key: Key, end: u64, now: u64) {
        let mut place = 0;
        for other in 1..WAYS {
            if ends[other] < ends[place] {
                place = other;
            }
        }
        if ends[place] > now {
            self.displaced.fetch_add(1, Ordering::Relaxed);
        }
        (keys[place], ends[place]) = (key.0, end);
    }

    /// The bucket of a key, and its shard.
    fn bucket(&self, key: Key) -> (MutexGuard<'_, Box<[Bucket]>>, usize) {
        let shard = &self.shards[key.0 as usize % SHARDS];
        // The upper bits, scaled: the lower ones have selected the shard.
        let bucket = ((u128::from(key.0) * u128::from(self.buckets_per_shard)) >> 64) as usize;
        // No thread panics while it holds the lock.
        (shard.lock().unwrap_or_else(PoisonError::into_inner), bucket)
    }
}

/// With more, displacement finds a better one of them, and each decision compares more keys.
const WAYS: usize = 8;

/// More than there are threads on most machines, so that two seldom want the same.
const SHARDS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn limit(rate: &str, burst: u32) -> Limit {
        Limit::new(rate.parse().unwrap()).with_burst(burst)
    }

    #[test]
    fn each_key_has_its_own_rate() {
        let (table, limit) = (KeyTable::new(1000), limit("1/s", 1));
        for name in ["a", "b", ""] {
            let key = table.key(name.as_bytes());
            let outcomes = [0, 0, 0, SECOND, SECOND].map(|now| table.decide(&limit, key, 1, now).is_allowed());
            assert_eq!(outcomes, [true, true, false, true, false], "{name}");
        }
    }

    #[test]
    fn keys_that_are_used_once_displace_one_another_first() {
        let (table, limit) = (KeyTable::new(10_000), limit("10/s", 9));
        let busy: Vec<Key> = (0..100_u32).map(|number| table.key(&number.to_be_bytes())).collect();
        for key in &busy {
            (0..10).for_each(|_| assert!(table.decide(&limit, *key, 1, SECOND).is_allowed()));
        }
        for number in 0..200_000_u32 {
            let key = table.key(format!("attacker {number}").as_bytes());
            assert!(table.decide(&limit, key, 1, SECOND).is_allowed());
        }
        let held = busy.iter().filter(|key| !table.decide(&limit, **key, 1, SECOND).is_allowed()).count();
        assert_eq!(held, 100);
        assert!(table.displaced() > 180_000, "{}", table.displaced());
    }

    #[test]
    fn a_free_place_displaces_nobody() {
        let (table, limit) = (KeyTable::new(1), limit("1/s", 0));
        for second in 0..100 {
            for number in 0..4_u32 {
                let key = table.key(&number.to_be_bytes());
                assert!(table.decide(&limit, key, 1, second * SECOND).is_allowed());
            }
        }
        assert_eq!(table.displaced(), 0);
    }

    #[test]
    fn the_cost_of_responses_is_charged_later() {
        let (table, limit) = (KeyTable::new(100), limit("1/s", 9));
        let key = table.key(b"a");
        assert!(table.decide(&limit, key, 1, SECOND).is_allowed());
        table.charge(&limit, key, 9, SECOND);
        assert!(!table.decide(&limit, key, 1, SECOND).is_allowed());
        table.charge(&limit, key, -1, SECOND);
        assert!(table.decide(&limit, key, 1, SECOND).is_allowed());
    }
}
