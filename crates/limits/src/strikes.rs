//! How often clients have broken a limit: when one is to be banned.

use std::{
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serow_message::ClientNetwork;

/// When a client that breaks a limit is banned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BanRule {
    /// After so many requests that were refused,
    pub after: u32,
    /// within this time from the first of them,
    pub within: Duration,
    /// for so long.
    pub length: Duration,
}

/// Counts how often clients break a limit, in memory of a fixed size, which threads share.
///
/// A client has a place in one bucket of eight. If the bucket is full, the new client takes the place of the one whose
/// time to reach the number ends first. So an attacker with many addresses makes others start again at most, and cannot
/// use up memory.
#[derive(Debug)]
pub struct Strikes {
    rule: BanRule,
    hasher: RandomState,
    /// Locked only when a request is refused.
    buckets: Mutex<Box<[Bucket]>>,
}

type Bucket = [Strike; WAYS];

/// The refused requests of a client since the first one that counts.
#[derive(Clone, Copy, Debug, Default)]
struct Strike {
    /// The keyed hash of the client; 0 for a free place.
    key: u64,
    /// In milliseconds.
    began: u64,
    count: u32,
}

impl Strikes {
    /// Counts for this rule; no client has broken the limit yet.
    #[must_use]
    pub fn new(rule: BanRule) -> Self {
        let buckets = Mutex::new(vec![Bucket::default(); BUCKETS].into());
        Self { rule, hasher: RandomState::new(), buckets }
    }

    /// When clients are banned.
    #[must_use]
    pub fn rule(&self) -> BanRule {
        self.rule
    }

    /// Counts a refused request of a client; returns whether the client is to be banned. It starts again then.
    #[must_use]
    pub fn add(&self, client: ClientNetwork, now: Duration) -> bool {
        let key = self.hasher.hash_one(client).max(1);
        let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let within = u64::try_from(self.rule.within.as_millis()).unwrap_or(u64::MAX);
        let mut buckets = self.lock();
        let bucket = &mut buckets[key as usize % BUCKETS];
        let place = match bucket.iter_mut().position(|strike| strike.key == key) {
            Some(place) => &mut bucket[place],
            None => {
                let first = bucket.iter().enumerate().min_by_key(|(_, strike)| (strike.key != 0, strike.began));
                let place = &mut bucket[first.map_or(0, |(place, _)| place)];
                *place = Strike { key, began: now, count: 0 };
                place
            }
        };
        if now.saturating_sub(place.began) >= within {
            (place.began, place.count) = (now, 0);
        }
        place.count = place.count.saturating_add(1);
        let is_to_be_banned = place.count >= self.rule.after;
        if is_to_be_banned {
            *place = Strike::default();
        }
        is_to_be_banned
    }

    fn lock(&self) -> MutexGuard<'_, Box<[Bucket]>> {
        // No thread panics while it holds the lock.
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const WAYS: usize = 8;

/// Room for 32,768 clients that break a limit at the same time, in 768 KB.
const BUCKETS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn strikes(after: u32) -> Strikes {
        let seconds = Duration::from_secs;
        Strikes::new(BanRule { after, within: seconds(60), length: seconds(600) })
    }

    fn client(address: &str) -> ClientNetwork {
        address.parse().unwrap()
    }

    #[test]
    fn a_client_is_banned_after_so_many_within_the_time() {
        for (after, times, expected) in [
            (1, &[0, 0][..], &[true, true][..]),
            (3, &[0, 1, 2, 3], &[false, false, true, false]),
            (3, &[0, 1, 59], &[false, false, true]),
            (3, &[0, 1, 60, 61, 62], &[false, false, false, false, true]),
            // The clock of the caller does not go backwards; if it did, nobody would be banned for it.
            (3, &[100, 90, 110], &[false, false, true]),
        ] {
            let strikes = strikes(after);
            let outcomes: Vec<_> =
                times.iter().map(|time| strikes.add(client("192.0.2.1"), Duration::from_secs(*time))).collect();
            assert_eq!(outcomes, expected, "{after} {times:?}");
        }
    }

    #[test]
    fn clients_are_counted_by_themselves() {
        let strikes = strikes(2);
        for (address, expected) in [
            ("192.0.2.1", false),
            ("192.0.2.2", false),
            ("2001:db8::1", false),
            ("192.0.2.1", true),
            ("2001:db8::2", true),
            ("192.0.2.2", true),
        ] {
            assert_eq!(strikes.add(client(address), Duration::from_secs(1)), expected, "{address}");
        }
    }

    #[test]
    fn a_million_addresses_displace_one_another_in_the_same_memory() {
        let strikes = strikes(2);
        for number in 0..1_000_000_u32 {
            let client = ClientNetwork::of(std::net::Ipv4Addr::from_bits(number).into());
            assert!(!strikes.add(client, Duration::from_secs(1)));
        }
        let clients = strikes.lock().iter().flatten().filter(|strike| strike.key != 0).count();
        assert_eq!(clients, BUCKETS * WAYS);
        assert_eq!(size_of::<Bucket>() * BUCKETS, 768 << 10);
    }
}
