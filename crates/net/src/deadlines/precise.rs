//! Deadlines that are too short for ticks: due at a moment that is read from a clock, and waited for by a timer.
//!
//! They stand beside the others, in memory that a chunk takes when its first one is set. A timer runs for the earliest
//! of all; postponing one is a memory write here as well, and what the timer finds postponed or cleared it passes over.

use std::{
    cell::{Cell, OnceCell},
    time::Duration,
};

use tokio::time::Instant;

use super::CHUNK_LENGTH;
use crate::monotonic;

/// Deadlines shorter than this are precise.
///
/// A user who configures 2 s expects two seconds, but nobody notices half a second of the timeouts for slow clients (10
/// s and more, by default). A precise deadline costs a clock read more, 20 ns.
pub const PRECISE_BELOW: Duration = Duration::from_secs(PRECISE_SECONDS);
pub(super) const PRECISE_SECONDS: u64 = 4;

/// State that the precise deadlines of a thread share.
pub(super) struct Precision {
    source: Box<dyn Fn() -> Duration>,
    /// Time in which the thread did not run, and nobody could answer in time.
    stalled: Cell<Duration>,
    /// None of them is due before this.
    earliest: Cell<Due>,
}

/// Those of a chunk.
#[derive(Default)]
pub(super) struct PreciseChunk {
    times: OnceCell<Box<Times>>,
}

struct Times {
    /// None of the chunk is due before this.
    earliest: Cell<Due>,
    due: [Cell<Due>; CHUNK_LENGTH],
}

/// A moment, in nanoseconds of the clock.
pub(super) type Due = u64;

impl Precision {
    /// With this clock.
    pub(super) fn new(source: impl Fn() -> Duration + 'static) -> Self {
        Self { source: Box::new(source), stalled: Cell::default(), earliest: Cell::new(NEVER) }
    }

    /// The time, without the time in which the thread did not run.
    fn now(&self) -> Duration {
        (self.source)().saturating_sub(self.stalled.get())
    }

    /// When a deadline that is set now is due; also returns whether it is the earliest.
    pub(super) fn due_after(&self, after: Duration) -> (Due, bool) {
        let due = nanoseconds(self.now() + after);
        let is_first = due < self.earliest.get();
        if is_first {
            self.earliest.set(due);
        }
        (due, is_first)
    }

    /// How long the timer has to run, if it has.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let earliest = self.earliest.get();
        (earliest != NEVER).then(|| Duration::from_nanos(earliest).saturating_sub(self.now()).max(PAUSE))
    }

    /// The thread runs again, and was to do so at this moment.
    pub(super) fn note_wake(&self, planned: Instant) {
        let late = planned.elapsed();
        if late > STALL {
            self.stalled.set(self.stalled.get() + late);
        }
    }

    /// Returns the current time if some deadlines may be due. The caller expires all that are due by then, and
    /// [notes](Self::note_left) the earliest of the rest.
    pub(super) fn begin_expiring(&self) -> Option<Due> {
        let now = nanoseconds(self.now());
        if self.earliest.get() > now {
            return None;
        }
        self.earliest.set(NEVER);
        Some(now)
    }

    /// None of a chunk is due before this.
    pub(super) fn note_left(&self, earliest: Due) {
        self.earliest.set(self.earliest.get().min(earliest));
    }
}

impl PreciseChunk {
    /// The deadline at this place is due then.
    pub(super) fn set(&self, place: usize, due: Due) {
        let times = self.times.get_or_init(Box::default);
        times.due[place].set(due);
        if due < times.earliest.get() {
            times.earliest.set(due);
        }
    }

    /// Calls `expire` for the places that are due, of those that `is_precise` is true for; returns before when no other
    /// is due.
    pub(super) fn expire(&self, now: Due, is_precise: impl Fn(usize) -> bool, expire: impl Fn(usize)) -> Due {
        let Some(times) = self.times.get() else { return NEVER };
        if times.earliest.get() > now {
            return times.earliest.get();
        }
        let precise = || times.due.iter().enumerate().filter(|(place, _)| is_precise(*place));
        // First, since a task that is woken may set one.
        times.earliest.set(precise().map(|(_, due)| due.get()).filter(|due| *due > now).min().unwrap_or(NEVER));
        precise().filter(|(_, due)| due.get() <= now).for_each(|(place, _)| expire(place));
        times.earliest.get()
    }
}

impl Default for Precision {
    fn default() -> Self {
        Self::new(monotonic)
    }
}

impl Default for Times {
    fn default() -> Self {
        Self { earliest: Cell::new(NEVER), due: [const { Cell::new(NEVER) }; CHUNK_LENGTH] }
    }
}

/// A clock that counts from the machine's start reaches the end in 584 years.
fn nanoseconds(time: Duration) -> Due {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

/// The shortest time between two looks, so that thousands of deadlines at as many moments wake the thread 500 times a
/// second at most.
const PAUSE: Duration = Duration::from_millis(2);

/// A thread that is so much later than its timer had no time to run. On a quiet machine it is late by 1.5 ms at most.
const STALL: Duration = Duration::from_millis(50);

const NEVER: Due = Due::MAX;
