//! The kernel's clocks. All other code calls these functions, or tokio's `Instant`: clippy forbids the clocks of the
//! standard library (`disallowed-methods`), which a simulation could not replace.
#![expect(clippy::disallowed_methods, reason = "this is the one place that reads the kernel's clocks")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use crate::clock::Reading;

/// This moment, for durations and deadlines. In a tokio runtime whose clock a test has paused, it is that clock's.
#[must_use]
#[inline]
pub fn now() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// The time of day. It jumps when somebody sets the machine's clock.
#[must_use]
#[inline]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// The whole seconds of [`wall`] since the beginning of 1970, UTC; 0 if the machine's clock was set to before that.
#[must_use]
#[inline]
pub fn seconds_since_1970() -> u64 {
    wall().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time since some moment before the program began, exactly (`CLOCK_MONOTONIC`): for measuring what takes
/// microseconds, where [`Clock`](crate::Clock) is too coarse. Costs some 20 ns.
#[must_use]
#[inline]
pub fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// The source of a [`Clock`](crate::Clock): the coarse clocks where their steps are fine enough for timeouts and log
/// lines, else the exact ones.
pub(crate) fn source() -> impl Fn() -> Reading + 'static {
    let realtime = sufficient(ClockId::RealtimeCoarse, ClockId::Realtime);
    let monotonic = sufficient(ClockId::MonotonicCoarse, ClockId::Monotonic);
    move || Reading { monotonic: duration(clock_gettime(monotonic)), since_1970: duration(clock_gettime(realtime)) }
}

fn sufficient(coarse: ClockId, exact: ClockId) -> ClockId {
    if duration(clock_getres(coarse)) <= COARSEST_RESOLUTION { coarse } else { exact }
}

/// A clock that was set to before 1970 counts as 1970.
fn duration(time: Timespec) -> Duration {
    Duration::try_from(time).unwrap_or_default()
}

/// One tick of a kernel built with HZ=100, the slowest in use: a tenth of the finest timeout we keep
/// ([`TICK`](crate::deadlines::TICK)), and a hundredth of what `Date` shows.
const COARSEST_RESOLUTION: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_become_1970() {
        assert_eq!(duration(Timespec { tv_sec: -1, tv_nsec: 0 }), Duration::ZERO);
        assert_eq!(duration(Timespec { tv_sec: 1, tv_nsec: 5 }), Duration::new(1, 5));
    }
}
