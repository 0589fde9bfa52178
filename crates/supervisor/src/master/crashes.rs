//! The pause before the replacement of a crashed generation.

use std::time::Duration;

/// The number of crashes in a row.
#[derive(Debug, Default)]
pub(super) struct Crashes(u32);

impl Crashes {
    /// The pause after another crash, of a generation that lived this long.
    pub(super) fn pause(&mut self, lived: Duration) -> Duration {
        self.0 = if lived >= STEADY { 1 } else { self.0.saturating_add(1) };
        match self.0 {
            1 => Duration::ZERO,
            number => FIRST_PAUSE.saturating_mul(1 << (number - 2).min(16)).min(MAX_PAUSE),
        }
    }
}

/// A generation that lived this long did not crash at its start: the next one starts at once.
const STEADY: Duration = Duration::from_secs(10);

/// The pause after the second crash in a row; it doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The maximum pause between the starts of a server that crashes again and again.
const MAX_PAUSE: Duration = Duration::from_secs(10);
