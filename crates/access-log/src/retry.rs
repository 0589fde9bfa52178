//! When something that failed is tried again.

use std::time::Duration;

use tokio::time::Instant;

/// Doubles its pauses while attempts do not last.
#[derive(Debug)]
pub(super) struct Retry {
    failures: u32,
    began: Option<Instant>,
}

impl Retry {
    pub(super) fn new() -> Self {
        Self { failures: 0, began: None }
    }

    /// It has begun.
    pub(super) fn note_begun(&mut self) {
        self.began = Some(Instant::now());
    }

    /// It has ended, or did not begin: how long to wait before it is tried again.
    pub(super) fn pause(&mut self) -> Duration {
        if self.began.take().is_some_and(|began| began.elapsed() >= STEADY) {
            self.failures = 0;
        }
        let pause = MIN_PAUSE * (1 << self.failures.min(DOUBLINGS));
        self.failures += 1;
        pause
    }
}

/// The first pause: so short a gap goes unnoticed, and ten attempts per second cost nothing.
pub(super) const MIN_PAUSE: Duration = Duration::from_millis(100);

/// Up to 6.4 s: short enough that a destination that comes back has its lines soon, long enough that one that never
/// does costs nothing.
const DOUBLINGS: u32 = 6;

/// An attempt that has lasted so long was a success: pauses after it begin with the shortest again.
const STEADY: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        let mut retry = Retry::new();
        let pauses: Vec<_> = (0..9).map(|_| retry.pause().as_millis()).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400]);
        // An attempt that begins and ends at once is not a success.
        retry.note_begun();
        assert_eq!(retry.pause().as_millis(), 6400);
        retry.began = Instant::now().checked_sub(STEADY);
        assert_eq!(retry.pause().as_millis(), 100);
    }
}
