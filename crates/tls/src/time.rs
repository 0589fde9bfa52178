//! The clocks as this crate reads them. It cannot ask `serow_net::time`, since that crate depends on this one.

use std::time::{Instant, SystemTime};

/// This moment.
#[expect(clippy::disallowed_methods, reason = "serow-net, which has the clock, depends on this crate")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time of day.
#[expect(clippy::disallowed_methods, reason = "serow-net, which has the clock, depends on this crate")]
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}
