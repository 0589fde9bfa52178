//! Time in the simulation, with the names of `time.rs`: that of tokio's clock, which a test pauses.

use std::{
    cell::OnceCell,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::time::{Instant, Sleep};

use crate::clock::Reading;

thread_local! {
    static START: OnceCell<Instant> = const { OnceCell::new() };
}

/// This moment, for durations and deadlines.
#[must_use]
pub fn now() -> std::time::Instant {
    Instant::now().into_std()
}

/// The time of day: that of a [`Clock`](crate::Clock).
#[must_use]
pub fn wall() -> SystemTime {
    UNIX_EPOCH + since_1970()
}

/// The whole seconds of [`wall`] since the beginning of 1970, UTC.
#[must_use]
pub fn seconds_since_1970() -> u64 {
    since_1970().as_secs()
}

/// The time since the thread asked first.
#[must_use]
pub fn monotonic() -> Duration {
    Instant::now().duration_since(start()) + BEGIN
}

/// Ready at this moment of [`monotonic`].
pub(crate) fn sleep_until(moment: Duration) -> Sleep {
    tokio::time::sleep_until(start() + moment.saturating_sub(BEGIN))
}

/// The time for a clock.
pub(crate) fn source() -> impl Fn() -> Reading + 'static {
    || Reading { monotonic: monotonic(), since_1970: since_1970() }
}

fn since_1970() -> Duration {
    SINCE_1970 + monotonic()
}

fn start() -> Instant {
    START.with(|start| *start.get_or_init(Instant::now))
}

/// No moment is that of a clock which has not begun.
const BEGIN: Duration = Duration::from_secs(1000);

/// 2026-01-01.
const SINCE_1970: Duration = Duration::from_secs(1_767_225_600);
