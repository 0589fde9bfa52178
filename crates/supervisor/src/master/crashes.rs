//! How soon a generation takes the place of one that crashed.

use std::time::Duration;

/// Crashes in a row.
#[derive(Debug, Default)]
pub(super) struct Crashes(u32);

impl Crashes {
    /// How long to wait after one more, of a generation that lived so long.
    pub(super) fn pause(&mut self, lived: Duration) -> Duration {
        self.0 = if lived >= STEADY { 1 } else { self.0.saturating_add(1) };
        match self.0 {
            1 => Duration::ZERO,
            number => FIRST_PAUSE.saturating_mul(1 << (number - 2).min(16)).min(MAX_PAUSE),
        }
    }
}

/// One that lived so long does not crash for what made it: the next one starts at once.
const STEADY: Duration = Duration::from_secs(10);

/// Before the second of several in a row; then twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// A server that crashes again and again is tried as often as that.
const MAX_PAUSE: Duration = Duration::from_secs(10);
