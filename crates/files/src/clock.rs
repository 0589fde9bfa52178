//! Where this crate asks for the time.

use std::{
    sync::OnceLock,
    time::{Instant, SystemTime},
};

/// Two plain functions that say what time it is.
///
/// A server that keeps the time of its event loop in a thread-local variable passes functions that read it, so that a
/// request costs no clock call; tests pass functions that read a time they set.
///
/// ```
/// use serow_files::{Clock, Files};
///
/// fn turn() -> u64 {
///     // The milliseconds that the event loop noted when its turn began.
///     4_711
/// }
/// let files = Files::new(".")?.with_clock(Clock { milliseconds: turn, ..Clock::default() });
/// # Ok::<(), serow_files::FilesError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Milliseconds since any fixed moment, never running backwards; read once a request. It may lag behind the true
    /// time by some tens of milliseconds.
    pub milliseconds: fn() -> u64,
    /// The time of day; read when a file is opened or checked again, at most about once a second for each. It may also
    /// lag.
    pub time_of_day: fn() -> SystemTime,
}

impl Default for Clock {
    /// The system's clocks, asked each time (without a system call on Linux, but not for nothing).
    fn default() -> Self {
        Self { milliseconds: milliseconds_of_system, time_of_day: time_of_day_of_system }
    }
}

#[expect(clippy::disallowed_methods, reason = "this crate depends on no server; a server passes its own clock")]
pub(crate) fn milliseconds_of_system() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(u64::MAX)
}

#[expect(clippy::disallowed_methods, reason = "this crate depends on no server; a server passes its own clock")]
fn time_of_day_of_system() -> SystemTime {
    SystemTime::now()
}
