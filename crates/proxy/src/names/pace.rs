//! When a name is looked up again. Pure.

use std::time::Duration;

/// How the look-ups of one name went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pace {
    /// Failures since the last answer.
    failures: u32,
}

impl Pace {
    /// A lookup succeeded, with this TTL. Returns the pause until the next one, and whether lookups had failed before.
    pub(super) fn handle_answer(&mut self, lifetime: Duration) -> (Duration, bool) {
        let before = std::mem::take(&mut self.failures);
        (lifetime.clamp(MIN_PAUSE, MAX_PAUSE), before > 0)
    }

    /// A lookup failed. Returns the pause until the next one, which doubles each time, and whether this is the first
    /// failure.
    pub(super) fn handle_failure(&mut self) -> (Duration, bool) {
        let pause = MIN_PAUSE.saturating_mul(1 << self.failures.min(16)).min(MAX_PAUSE);
        self.failures = self.failures.saturating_add(1);
        (pause, self.failures == 1)
    }
}

/// A TTL of 0 is common; one query a second is not a burden.
const MIN_PAUSE: Duration = Duration::from_secs(1);

/// An upper limit for the delay after a server has moved.
const MAX_PAUSE: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_hold_for_between_a_second_and_five_minutes() {
        for (lifetime, expected) in [(0, 1), (1, 1), (60, 60), (300, 300), (86_400, 300)] {
            let found = Pace::default().handle_answer(Duration::from_secs(lifetime));
            assert_eq!(found, (Duration::from_secs(expected), false), "{lifetime}");
        }
    }

    #[test]
    fn failures_are_told_once_and_take_longer_and_longer() {
        let mut pace = Pace::default();
        for _ in 0..2 {
            for (place, seconds) in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].into_iter().enumerate() {
                assert_eq!(pace.handle_failure(), (Duration::from_secs(seconds), place == 0), "{place}");
            }
            assert_eq!(pace.handle_answer(Duration::ZERO), (MIN_PAUSE, true));
        }
        let mut long = Pace { failures: u32::MAX };
        assert_eq!(long.handle_failure(), (MAX_PAUSE, false));
    }
}
