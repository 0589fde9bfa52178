//! Time limits for programs of this machine.

use std::time::{Duration, Instant};

use serow_net::time::now;

/// The end of a time limit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn after(duration: Duration) -> Self {
        Self(now() + duration)
    }

    /// The time that is left.
    pub(super) fn left(self) -> Duration {
        self.0.saturating_duration_since(now())
    }

    pub(super) fn is_over(self) -> bool {
        self.left().is_zero()
    }
}
