//! When a key set is fetched again.

use std::time::{Duration, Instant};

/// When a key set is fetched again: pure, and the time is an argument.
#[derive(Debug)]
pub(crate) struct Schedule {
    due: Instant,
    /// When the last fetch began.
    begun: Option<Instant>,
    /// A fetch runs, or is about to.
    is_running: bool,
    failures: u32,
}

/// The outcome of a demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Demand {
    /// A fetch runs already.
    Running,
    /// A fetch has to begin at once.
    Begin,
    /// The last fetch was a moment ago.
    Refused,
}

impl Schedule {
    /// The first fetch is due at once.
    pub(crate) fn new(now: Instant) -> Self {
        Self { due: now, begun: None, is_running: true, failures: 0 }
    }

    /// When the next fetch begins.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// A token names a key that is not there.
    pub(crate) fn demand(&mut self, now: Instant) -> Demand {
        // A client that sends tokens with unknown keys must not make this server a load on the issuer.
        let is_early = self.begun.is_none_or(|begun| now >= begun + MIN_INTERVAL);
        match (self.is_running, is_early) {
            (true, _) => Demand::Running,
            (false, true) => {
                self.is_running = true;
                Demand::Begin
            }
            (false, false) => Demand::Refused,
        }
    }

    /// A fetch begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        (self.begun, self.is_running) = (Some(now), true);
    }

    /// It has succeeded, and the response may be kept for so long.
    pub(crate) fn succeed(&mut self, now: Instant, max_age: Option<Duration>) {
        let interval = max_age.unwrap_or(INTERVAL).clamp(MIN_MAX_AGE, MAX_MAX_AGE);
        (self.due, self.is_running, self.failures) = (now + interval, false, 0);
    }

    /// It has failed. Returns how long it takes until the next one.
    pub(crate) fn fail(&mut self, now: Instant) -> Duration {
        let delay = FIRST_DELAY.saturating_mul(1 << self.failures.min(16)).min(MAX_DELAY);
        (self.due, self.is_running, self.failures) = (now + delay, false, self.failures.saturating_add(1));
        delay
    }
}

/// Issuers publish a new key hours before they sign with it.
const INTERVAL: Duration = Duration::from_secs(15 * 60);

/// An issuer that forbids caching does not mean key sets.
const MIN_MAX_AGE: Duration = Duration::from_secs(60);

/// A key that an issuer has withdrawn must not be accepted for longer.
const MAX_MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// Between fetches because of unknown keys.
const MIN_INTERVAL: Duration = Duration::from_secs(30);

const FIRST_DELAY: Duration = Duration::from_secs(1);

/// After an outage of the issuer, new keys are there within a minute.
const MAX_DELAY: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_are_regular_and_slower_after_failures() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut schedule = Schedule::new(start);
        assert_eq!(schedule.due(), start);
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            schedule.begin(at(0));
            assert_eq!(schedule.fail(at(10)), Duration::from_secs(expected));
            assert_eq!(schedule.due(), at(10 + expected));
        }
        for (max_age, expected) in [(None, 900), (Some(0), 60), (Some(300), 300), (Some(1 << 40), 3600)] {
            schedule.succeed(at(0), max_age.map(Duration::from_secs));
            assert_eq!(schedule.due(), at(expected), "{max_age:?}");
        }
        assert_eq!(schedule.fail(at(0)), Duration::from_secs(1));
    }

    #[test]
    fn unknown_keys_cause_one_fetch_in_half_a_minute() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut schedule = Schedule::new(start);
        assert_eq!(schedule.demand(at(0)), Demand::Running, "the first fetch is to come");
        schedule.begin(at(0));
        assert_eq!(schedule.demand(at(1)), Demand::Running, "the fetch that runs may bring the key");
        schedule.succeed(at(2), None);
        assert_eq!(schedule.demand(at(3)), Demand::Refused);
        assert_eq!(schedule.demand(at(29)), Demand::Refused);
        assert_eq!(schedule.demand(at(30)), Demand::Begin);
        assert_eq!(schedule.demand(at(30)), Demand::Running);
        schedule.begin(at(30));
        schedule.fail(at(31));
        assert_eq!(schedule.demand(at(31)), Demand::Refused);
        assert_eq!(schedule.due(), at(32), "a retry is not postponed");
    }
}
