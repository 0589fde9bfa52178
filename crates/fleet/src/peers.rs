//! A server's knowledge of the others: how many there are, and when the last exchange with them was.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use serow_limits::Weight;

/// A server's knowledge of the others. All threads read it, and the thread that talks to Redis writes it.
#[derive(Debug)]
pub struct Peers {
    /// When the last exchange that succeeded was sent; 0 for never.
    exchanged: AtomicU64,
    /// How many servers there are, this one included.
    instances: AtomicU32,
}

impl Peers {
    /// Nothing is known but that there should be so many servers.
    #[must_use]
    pub fn new(instances: u32) -> Self {
        Self { exchanged: AtomicU64::new(0), instances: AtomicU32::new(instances.clamp(1, MAX_INSTANCES)) }
    }

    /// An exchange has succeeded, which was sent then.
    pub fn note_exchange(&self, sent: u64) {
        self.exchanged.fetch_max(sent.max(1), Ordering::Relaxed);
    }

    /// There are so many servers, this one included.
    pub fn note_instances(&self, instances: u32) {
        self.instances.store(instances.clamp(1, MAX_INSTANCES), Ordering::Relaxed);
    }

    /// How many servers there are as far as is known, this one included.
    #[must_use]
    pub fn instances(&self) -> u32 {
        self.instances.load(Ordering::Relaxed)
    }

    /// Whether an exchange has succeeded a moment ago.
    #[must_use]
    pub fn are_in_contact(&self, now: u64) -> bool {
        let exchanged = self.exchanged.load(Ordering::Relaxed);
        exchanged != 0 && now.saturating_sub(exchanged) < CONTACT_LIFE
    }

    /// Out of contact, each server has its share of a limit, and each of its requests stands for one of each server.
    pub(crate) fn weight_without_contact(&self, now: u64) -> Option<Weight> {
        (!self.are_in_contact(now)).then(|| Weight::ratio(self.instances(), 1))
    }
}

/// How long an exchange tells enough of the others, in nanoseconds: three times the longest pause between two exchanges.
const CONTACT_LIFE: u64 = 300_000_000;

/// More servers hardly share a limit; and a program that can write to Redis could otherwise reduce all shares to nothing.
pub const MAX_INSTANCES: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_its_share_while_it_is_out_of_contact() {
        let peers = Peers::new(4);
        let weight = |now| peers.weight_without_contact(now).map(|weight| weight.of(1));
        assert_eq!(weight(0), Some(4));
        peers.note_exchange(1000);
        assert_eq!(weight(1000), None);
        assert_eq!(weight(1000 + CONTACT_LIFE - 1), None);
        peers.note_instances(10);
        assert_eq!(weight(1000 + CONTACT_LIFE), Some(10));
        // An older one, which was answered late.
        peers.note_exchange(500);
        assert!(peers.are_in_contact(1000));
        for (instances, expected) in [(0, 1), (1, 1), (u32::MAX, u64::from(MAX_INSTANCES))] {
            peers.note_instances(instances);
            assert_eq!(weight(u64::MAX), Some(expected));
        }
    }
}
