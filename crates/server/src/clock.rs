//! The time as the event loop of this thread noted it last: within a tenth of a second, for a memory read.

use std::time::{Duration, SystemTime};

use serow_net::clock::of_thread;

/// Milliseconds since some moment; never goes back.
#[must_use]
pub fn milliseconds() -> u64 {
    u64::try_from(of_thread().monotonic.as_millis()).unwrap_or(u64::MAX)
}

/// The time of day.
#[must_use]
pub fn time_of_day() -> SystemTime {
    SystemTime::UNIX_EPOCH + of_thread().since_1970
}

/// The longest that these may lag behind in a thread that is not overloaded.
pub const LAG: Duration = serow_net::deadlines::TICK;
