//! The time as this crate counts it.

use std::sync::OnceLock;

use tokio::time::Instant;

/// Nanoseconds since the first call in this process, and at least 1.
#[must_use]
pub fn now() -> u64 {
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    // 584 years.
    BEGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}
