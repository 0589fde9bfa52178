//! The kernel's clocks.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_getres, clock_gettime};

use crate::clock::Reading;

/// The time since some moment before the program began, exactly (`CLOCK_MONOTONIC`): for measuring what takes
/// microseconds, where [`Clock`](crate::Clock) is too coarse. Costs some 20 ns.
#[must_use]
#[inline]
pub fn monotonic() -> Duration {
    Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default()
}

/// What a [`Clock`](crate::Clock) reads: the coarse clocks where their steps are fine enough for timeouts and log lines,
/// else the exact ones.
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
