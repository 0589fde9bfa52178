//! How many requests may be sent again.

use std::sync::atomic::{AtomicU64, Ordering};

use serow_net::Moment;

/// How many requests may be sent again, in per cent of those that came: without a bound, servers that fail because they
/// have too much to do would get as much again with each try. Shared by the threads of an upstream, without a lock:
/// those that ask at the same time may get one more each.
///
/// Each request changes it: on cache lines of its own, since all threads read the settings of the upstream beside it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Budget {
    /// One for each of the last seconds.
    slots: [Slot; SLOTS as usize],
}

/// The counts of one second.
#[derive(Debug, Default)]
struct Slot {
    requests: Count,
    retries: Count,
}

/// The second, modulo 2³², and how many things happened in it.
#[derive(Debug, Default)]
struct Count(AtomicU64);

impl Budget {
    /// A request came.
    pub(crate) fn deposit(&self, now: Moment) {
        self.slot(now).requests.add(second(now));
    }

    /// Whether a request may be sent again; if so, that is counted.
    pub(crate) fn withdraw(&self, now: Moment, percent: u32) -> bool {
        let (slot, second) = (self.slot(now), second(now));
        let allowed = slot.retries.value(second, 1) < ALWAYS || {
            let sum = |count: fn(&Slot) -> &Count| self.slots.iter().map(|slot| count(slot).value(second, SLOTS)).sum();
            let (requests, retries): (u64, u64) = (sum(|slot| &slot.requests), sum(|slot| &slot.retries));
            retries.saturating_mul(100) < requests.saturating_mul(u64::from(percent))
        };
        if allowed {
            slot.retries.add(second);
        }
        allowed
    }

    fn slot(&self, now: Moment) -> &Slot {
        // In range: the divisor is the length.
        &self.slots[(second(now) % SLOTS) as usize]
    }
}

impl Count {
    fn add(&self, second: u32) {
        let now = u64::from(second) << 32;
        let word = self.0.load(Ordering::Relaxed);
        // Another thread may begin a new second in between; then this counts there.
        if word >> 32 == u64::from(second)
            || self.0.compare_exchange(word, now | 1, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How often, if that was in one of the last seconds, this one included.
    fn value(&self, second: u32, seconds: u32) -> u64 {
        let word = self.0.load(Ordering::Relaxed);
        let ago = second.wrapping_sub((word >> 32) as u32);
        if ago < seconds { word & u64::from(u32::MAX) } else { 0 }
    }
}

fn second(now: Moment) -> u32 {
    (now.milliseconds() / 1000) as u32
}

/// The window in seconds: long enough for a percentage to be meaningful, short enough that quiet times do not pay for a
/// storm. Finagle's window.
const SLOTS: u32 = 10;

/// Retries that are always allowed per second. With few requests, a fifth of them is none, and such a request must not
/// fail because one of several servers restarts. Envoy allows three at a time; that overloads no server.
const ALWAYS: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Moment {
        Moment::from_milliseconds(milliseconds)
    }

    /// How many retries are granted at this moment.
    fn granted(budget: &Budget, now: u64, percent: u32) -> usize {
        (0..10_000).take_while(|_| budget.withdraw(at(now), percent)).count()
    }

    #[test]
    fn retries_are_a_share_of_the_requests() {
        // Requests, per cent, retries.
        let cases = [
            (0, 20, 3),
            (10, 20, 3),
            (15, 20, 3),
            (20, 20, 4),
            (100, 20, 20),
            (1000, 0, 3),
            (1000, 100, 1000),
            (50, 200, 100),
        ];
        for (requests, percent, expected) in cases {
            let budget = Budget::default();
            (0..requests).for_each(|_| budget.deposit(at(123_456)));
            assert_eq!(granted(&budget, 123_456, percent), expected, "{requests} {percent}");
        }
    }

    #[test]
    fn requests_count_for_ten_seconds() {
        for start in [0, 5_000, 123_456, (u64::from(u32::MAX) - 3) * 1000] {
            for (later, expected) in [(9_000, 20), (10_000, 3), (11_000, 3)] {
                let budget = Budget::default();
                (0..100).for_each(|_| budget.deposit(at(start)));
                assert_eq!(granted(&budget, start + later, 20), expected, "{start} {later}");
            }
            let budget = Budget::default();
            (0..100).for_each(|_| budget.deposit(at(start)));
            assert_eq!(granted(&budget, start + 9_000, 20), 20, "{start}");
            assert_eq!(granted(&budget, start + 9_000, 20), 0, "{start}");
            // The requests are forgotten, the retries are not.
            assert_eq!(granted(&budget, start + 10_000, 20), 3, "{start}");
            (0..100).for_each(|_| budget.deposit(at(start + 11_000)));
            assert_eq!(granted(&budget, start + 11_000, 50), 50 - 23, "{start}");
            assert_eq!(granted(&budget, start + 100_000, 50), 3, "{start}");
        }
    }

    #[test]
    fn a_storm_gets_its_share_and_no_more() {
        let budget = Budget::default();
        // 500 requests a second for a minute, and each of them fails and would be sent again twice.
        let mut retries = 0;
        for now in (0..60_000).step_by(2) {
            budget.deposit(at(now));
            retries += (0..2).filter(|_| budget.withdraw(at(now), 20)).count();
        }
        assert!((5_900..=6_100).contains(&retries), "{retries}");
    }

    #[test]
    fn threads_count_together() {
        let budget = Budget::default();
        let granted: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        (0..1_000).for_each(|_| budget.deposit(at(7_000)));
                        (0..1_000).filter(|_| budget.withdraw(at(7_000), 10)).count()
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!((100..=404).contains(&granted), "{granted}");
        assert_eq!(super::tests::granted(&budget, 7_000, 10), 400_usize.saturating_sub(granted));
    }
}
