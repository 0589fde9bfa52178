//! The time, read once per turn of the event loop and cached in between.

use std::cell::Cell;
use std::fmt;
use std::io::Write;
use std::ops::Add;
use std::time::{Duration, SystemTime};

use httpdate::HttpDate;

use crate::time;

/// The time for all connections of one thread.
///
/// Reading it is a memory read. [`update`](Self::update) reads the kernel's clocks, once after each wait for events;
/// between two updates time stands still. (tokio's `on_thread_unpark` is called at that moment; it wants the clock in a
/// thread-local.)
///
/// The clocks read are the coarse ones (`CLOCK_REALTIME_COARSE`, `CLOCK_MONOTONIC_COARSE`) where their resolution is 10
/// ms or better, which is checked when the clock is made: the kernel only copies out what its last tick noted, instead
/// of reading hardware, and even where the hardware's clock needs a system call (some virtual machines) these do not.
/// They are also the clock that file systems stamp modification times with, so a file never seems to be from the
/// future.
///
/// It belongs to one thread; share it there in an `Rc`.
pub struct Clock {
    source: Box<dyn Fn() -> Reading>,
    latest: Cell<Reading>,
    date: Cell<DateLine>,
}

/// A reading of a source of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Time since some fixed moment; never goes back.
    pub monotonic: Duration,
    /// Time since the beginning of 1970, UTC; jumps when somebody sets the machine's clock.
    pub since_1970: Duration,
}

/// A moment for measuring durations, in milliseconds since some moment before the program began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Clock {
    /// A clock that reads the kernel's time, beginning with now.
    pub fn new() -> Self {
        Self::with_source(time::source())
    }

    /// A clock that reads the time from `source`, such as one a test makes up.
    pub fn with_source(source: impl Fn() -> Reading + 'static) -> Self {
        let latest = source();
        Self { source: Box::new(source), latest: Cell::new(latest), date: Cell::new(DateLine::of(latest.second())) }
    }

    /// Reads the source; all answers are from this moment until the next update.
    pub fn update(&self) {
        self.latest.set((self.source)());
    }

    /// The moment of the latest update.
    #[inline]
    pub fn now(&self) -> Moment {
        Moment(milliseconds(self.latest.get().monotonic))
    }

    /// The wall clock at the latest update: time since the beginning of 1970, UTC.
    #[inline]
    pub fn since_1970(&self) -> Duration {
        self.latest.get().since_1970
    }

    /// The header line for a response: `Date: Sun, 06 Nov 1994 08:49:37 GMT` and CR LF (RFC 9110 §6.6.1, IMF-fixdate).
    ///
    /// It is formatted again only when the second has changed since the last call.
    #[inline]
    pub fn date_line(&self) -> [u8; DATE_LINE_LENGTH] {
        let second = self.latest.get().second();
        if self.date.get().second != second {
            self.date.set(DateLine::of(second));
        }
        self.date.get().text
    }
}

impl Clock {
    /// The value in [`Self::date_line`].
    #[inline]
    pub fn date_value(&self) -> [u8; DATE_LENGTH] {
        let mut value = [0; DATE_LENGTH];
        value.copy_from_slice(&self.date_line()[DATE_LINE_LENGTH - 2 - DATE_LENGTH..DATE_LINE_LENGTH - 2]);
        value
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Clock").field("latest", &self.latest.get()).finish_non_exhaustive()
    }
}

impl Reading {
    fn second(self) -> u64 {
        self.since_1970.as_secs()
    }
}

impl Moment {
    /// The moment `milliseconds` after the beginning of counting.
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the beginning of counting.
    pub const fn milliseconds(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; none if that is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Self;

    /// The moment `duration` later, rounded up to a millisecond; out of range, it is the last possible moment.
    fn add(self, duration: Duration) -> Self {
        let up = duration.saturating_add(Duration::from_nanos(999_999));
        Self(self.0.saturating_add(milliseconds(up)))
    }
}

/// The length of an IMF-fixdate.
pub const DATE_LENGTH: usize = 29;

/// The length of [`Clock::date_line`]: `Date: `, the 29 bytes of an IMF-fixdate, CR LF.
pub const DATE_LINE_LENGTH: usize = 37;

#[derive(Clone, Copy)]
struct DateLine {
    second: u64,
    text: [u8; DATE_LINE_LENGTH],
}

impl DateLine {
    fn of(second: u64) -> Self {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second.min(LAST_SECOND));
        let mut text = [0; DATE_LINE_LENGTH];
        let mut rest = &mut text[..];
        // An IMF-fixdate always has 29 bytes (RFC 9110 §5.6.7), so it fits.
        let written = write!(rest, "Date: {}\r\n", HttpDate::from(time));
        debug_assert!(written.is_ok() && rest.is_empty());
        Self { second, text }
    }
}

/// Whole milliseconds, in 64 bits: enough for 584 million years.
fn milliseconds(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1000).saturating_add(u64::from(duration.subsec_millis()))
}

/// 9999-12-31 23:59:59, the last second whose year has the four digits of an IMF-fixdate.
const LAST_SECOND: u64 = 253_402_300_799;

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    /// A clock together with the time it will read next.
    fn made_up(second: u64) -> (Clock, Rc<Cell<Reading>>) {
        let reading = Reading { monotonic: Duration::ZERO, since_1970: Duration::from_secs(second) };
        let time = Rc::new(Cell::new(reading));
        let source = Rc::clone(&time);
        (Clock::with_source(move || source.get()), time)
    }

    fn date(clock: &Clock) -> String {
        clock.date_line().escape_ascii().to_string()
    }

    #[test]
    fn the_date_line_is_an_imf_fixdate() {
        let cases = [
            (0, r"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
            // RFC 9110 §5.6.7, its example.
            (784_111_777, r"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
            (951_782_400, r"Date: Tue, 29 Feb 2000 00:00:00 GMT\r\n"),
            (LAST_SECOND, r"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
            (LAST_SECOND + 1, r"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
            (u64::MAX, r"Date: Fri, 31 Dec 9999 23:59:59 GMT\r\n"),
        ];
        for (second, line) in cases {
            assert_eq!(date(&made_up(second).0), line, "{second}");
        }
    }

    #[test]
    fn time_passes_with_updates_only() {
        let (clock, time) = made_up(784_111_777);
        let before = clock.now();
        time.set(Reading { monotonic: Duration::from_micros(2_999_999), since_1970: Duration::from_secs(784_111_778) });
        assert_eq!(clock.now(), before);
        assert_eq!(date(&clock), r"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
        clock.update();
        assert_eq!(clock.now().since(before), Duration::from_millis(2999));
        assert_eq!(clock.since_1970(), Duration::from_secs(784_111_778));
        assert_eq!(date(&clock), r"Date: Sun, 06 Nov 1994 08:49:38 GMT\r\n");
    }

    #[test]
    fn the_date_follows_a_clock_that_is_set_back() {
        let (clock, time) = made_up(784_111_777);
        time.set(Reading { since_1970: Duration::ZERO, ..time.get() });
        clock.update();
        assert_eq!(date(&clock), r"Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
    }

    #[test]
    fn moments_are_never_early_and_never_wrap() {
        let moment = Moment::from_milliseconds(5);
        assert_eq!(moment + Duration::from_millis(2), Moment::from_milliseconds(7));
        assert_eq!(moment + Duration::from_nanos(1), Moment::from_milliseconds(6));
        assert_eq!(moment + Duration::MAX, Moment::from_milliseconds(u64::MAX));
        assert_eq!(moment.since(moment + Duration::from_secs(1)), Duration::ZERO);
        assert!(moment < moment + Duration::from_millis(1));
    }

    #[test]
    fn the_kernels_time_is_the_time() {
        let clock = Clock::new();
        let exact = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        assert!(exact.abs_diff(clock.since_1970()) < Duration::from_secs(1));
        let before = clock.now();
        clock.update();
        assert!(clock.now() >= before);
        assert_eq!(
            clock.now().since(before),
            Duration::from_millis(clock.now().milliseconds() - before.milliseconds())
        );
    }
}
