//! When a process is started again.

use std::time::{Duration, Instant};

/// When a process is started again: not at once where starts fail, and ever later while they go on failing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    until: Option<Instant>,
    /// In a row.
    failures: u32,
}

impl Backoff {
    /// Nothing is started before this time has passed.
    pub(crate) fn wait(&mut self, time: Duration, now: Instant) {
        self.until = Some(now + time);
    }

    /// A start failed.
    pub(crate) fn fail(&mut self, now: Instant) {
        self.failures = self.failures.saturating_add(1);
        self.wait(RESTART.saturating_mul(self.failures).min(LONGEST), now);
    }

    /// A process is well.
    pub(crate) fn succeed(&mut self) {
        self.failures = 0;
    }

    /// Whether nothing is started yet.
    pub(crate) fn is_on(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until > now)
    }
}

/// How long nothing is started after something failed: an application that dies at once would take a whole processor. One that
/// has lived for longer is started again at once.
pub(crate) const RESTART: Duration = Duration::from_secs(1);

/// How long at most, when it fails again and again.
const LONGEST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_begin_anew() {
        let (mut backoff, now) = (Backoff::default(), Instant::now());
        let pause = |backoff: &Backoff| {
            let is_on = |second: &u64| backoff.is_on(now + Duration::from_secs(*second));
            (0..20).take_while(is_on).count()
        };
        assert_eq!(pause(&backoff), 0);
        let pauses: Vec<_> = (0..12)
            .map(|_| {
                backoff.fail(now);
                pause(&backoff)
            })
            .collect();
        assert_eq!(pauses, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]);
        backoff.succeed();
        backoff.fail(now);
        assert_eq!(pause(&backoff), 1);
        backoff.wait(Duration::from_secs(3), now);
        assert_eq!(pause(&backoff), 3);
    }
}
