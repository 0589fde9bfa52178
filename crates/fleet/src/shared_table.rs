//! The keys of one shared limit, in bounded memory.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
};

use aws_lc_rs::digest::{SHA256, digest};
use serow_limits::{Decision, Limit};

use crate::{
    Consumption, KeyName, Peers, Standing,
    entry::{Entry, Slot},
};

/// This server's knowledge of the keys of a limit that several servers share. It decides about requests at once;
/// another thread exchanges the changes with Redis.
///
/// As in [`KeyTable`](serow_limits::KeyTable), a key has a place in one bucket of eight, and a new key takes the place
/// of the one with the most of its burst left. At most [`MAX_LISTED`] keys wait for the next exchange; others wait until
/// they are used again.
#[derive(Debug)]
pub struct SharedTable {
    name: Box<str>,
    limit: Limit,
    peers: Arc<Peers>,
    hasher: RandomState,
    shards: Box<[Mutex<Shard>]>,
    buckets_per_shard: u64,
    displaced: AtomicU64,
    /// Whether any key is listed, so that nobody has to look into all shards for it.
    waiting: AtomicBool,
    /// Where the next collection begins, so that all shards have their turn.
    next_shard: AtomicUsize,
}

/// A key as this server's table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedKey(u64);

#[derive(Debug)]
struct Shard {
    entries: Box<[Slot]>,
    /// The places of keys that have something for Redis.
    listed: Vec<u32>,
}

impl SharedTable {
    /// A table for so many keys, rounded up; it takes 72 bytes for each. The system provides the memory when it is used.
    #[must_use]
    pub fn new(name: &str, limit: Limit, keys: usize, peers: Arc<Peers>) -> Self {
        let buckets = keys.div_ceil(WAYS).max(1).div_ceil(SHARDS);
        let shard = || Mutex::new(Shard { entries: vec![Slot::default(); buckets * WAYS].into(), listed: Vec::new() });
        Self {
            name: name.into(),
            limit,
            peers,
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
            buckets_per_shard: buckets as u64,
            displaced: AtomicU64::new(0),
            waiting: AtomicBool::new(false),
            next_shard: AtomicUsize::new(0),
        }
    }

    /// The name of the limit, by which servers share it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The limit.
    #[must_use]
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Decides about a request whose key has these bytes, and which counts as `cost` requests.
    #[must_use]
    pub fn decide(&self, key: &[u8], cost: u32, now: u64) -> (SharedKey, Decision) {
        let share = self.peers.weight_without_contact(now);
        // 0 marks a free place.
        let hash = self.hasher.hash_one(key).max(1);
        let mut shard = self.shard(hash);
        let bucket = self.bucket(hash);
        let place = shard.find(bucket, hash).unwrap_or_else(|| self.insert(&mut shard, bucket, hash, key, now));
        let decision = shard.change(place, |entry| entry.decide(&self.limit, cost, now, share));
        self.list(&mut shard, place);
        (SharedKey(hash), decision)
    }

    /// Counts `cost` more requests of a key, or fewer if it is negative, without deciding about one.
    pub fn charge(&self, key: SharedKey, cost: i32, now: u64) {
        let mut shard = self.shard(key.0);
        if let Some(place) = shard.find(self.bucket(key.0), key.0) {
            shard.change(place, |entry| entry.charge(&self.limit, cost, now));
            self.list(&mut shard, place);
        }
    }

    /// Whether Redis does not know of something. Requests that come at the same time may be missed.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes what Redis does not know of, of at most so many keys. The keys stay in the table.
    pub fn collect(&self, most: usize, now: u64) -> Vec<(SharedKey, Consumption)> {
        // Before the shards are looked at: what is listed meanwhile sets it again.
        self.waiting.store(false, Ordering::Relaxed);
        let begin = self.next_shard.fetch_add(1, Ordering::Relaxed);
        let mut collected = Vec::new();
        for number in 0..SHARDS {
            let mut shard = self.lock((begin + number) % SHARDS);
            while collected.len() < most {
                let Some(place) = shard.listed.pop() else { break };
                collected.push(shard.change(place as usize, |entry| (SharedKey(entry.hash), entry.collect(now))));
            }
            if !shard.listed.is_empty() {
                self.waiting.store(true, Ordering::Relaxed);
            }
        }
        collected
    }

    /// Takes in what Redis has answered to a consumption.
    pub fn merge(&self, key: SharedKey, sent: &Consumption, standing: Standing) {
        let most = self.most_ahead();
        let mut shard = self.shard(key.0);
        if let Some(place) = shard.find(self.bucket(key.0), key.0) {
            shard.change(place, |entry| entry.merge(&self.limit, sent, standing, most));
        }
    }

    /// How far in the future the requests of a key may end, in nanoseconds: all servers may have served a burst before
    /// they learned of one another, and repay it. Beyond that, an error of Redis would lock clients out.
    #[must_use]
    pub fn most_ahead(&self) -> u64 {
        let bursts = u64::from(self.peers.instances()) + 1;
        self.limit.capacity().saturating_mul(bursts).saturating_add(SLACK).min(MAX_AHEAD)
    }

    /// How many keys lost their place although they had not all of their burst.
    #[must_use]
    pub fn displaced(&self) -> u64 {
        self.displaced.load(Ordering::Relaxed)
    }

    /// Gives a new key the place of another one.
    fn insert(&self, shard: &mut Shard, bucket: usize, hash: u64, key: &[u8], now: u64) -> usize {
        let end = |place: &usize| Entry::load(&shard.entries[*place]).end();
        let place = (bucket..bucket + WAYS).min_by_key(end).unwrap_or(bucket);
        shard.change(place, |entry| {
            if entry.end() > now {
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
            // The list has the place, and not the key.
            *entry = Entry::new(hash, name_of(key), entry.is_listed);
        });
        place
    }

    /// Has a key exchanged.
    fn list(&self, shard: &mut Shard, place: usize) {
        let is_listed = Entry::load(&shard.entries[place]).is_listed;
        if !is_listed && shard.listed.len() < MAX_LISTED / SHARDS {
            shard.change(place, |entry| entry.is_listed = true);
            shard.listed.push(place as u32);
            self.waiting.store(true, Ordering::Relaxed);
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        self.lock(hash as usize % SHARDS)
    }

    fn lock(&self, number: usize) -> MutexGuard<'_, Shard> {
        // No one panics while it is locked.
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first place of a key's bucket.
    fn bucket(&self, hash: u64) -> usize {
        // The upper bits, scaled: the lower ones have selected the shard.
        ((u128::from(hash) * u128::from(self.buckets_per_shard)) >> 64) as usize * WAYS
    }
}

impl Shard {
    fn change<T>(&mut self, place: usize, change: impl FnOnce(&mut Entry) -> T) -> T {
        let mut entry = Entry::load(&self.entries[place]);
        let found = change(&mut entry);
        entry.store(&mut self.entries[place]);
        found
    }

    fn find(&self, bucket: usize, hash: u64) -> Option<usize> {
        (bucket..bucket + WAYS).find(|place| self.entries[*place][0] == hash)
    }
}

fn name_of(key: &[u8]) -> KeyName {
    let mut name = KeyName::default();
    let length = name.len();
    name.copy_from_slice(&digest(&SHA256, key).as_ref()[..length]);
    name
}

/// With more, displacement finds a better one of them, and each decision compares more keys.
const WAYS: usize = 8;

/// More than there are threads on most machines, so that two seldom want the same.
const SHARDS: usize = 64;

/// How many keys wait for an exchange at most. An attacker who never uses a key twice fills this, and no more.
pub const MAX_LISTED: usize = 65_536;

/// Allowance for requests that servers serve in excess during an exchange, in nanoseconds: longer than a server that
/// falls out of contact needs to notice it.
const SLACK: u64 = 1_000_000_000;

/// 90 years in nanoseconds: nothing that is added to a time of this server overflows.
const MAX_AHEAD: u64 = 2_800_000_000_000_000_000;

#[cfg(test)]
mod tests;
