//! Timeouts of all the connections of one thread, where moving one costs a memory write.
//!
//! After Warp's timer: deadlines stand in a dense array of numbers, a timeout is postponed by overwriting one number,
//! and one task goes over the array four times a second. A heap or a wheel would do work for each postponement, of
//! which there are several per request; here the work is done once per tick and is a few microseconds for ten
//! thousand connections.
//!
//! Short timeouts, of less than [`PRECISE_BELOW`], are kept to a few milliseconds (`deadlines/precise.rs`). Servers
//! that set none pay a comparison for them.
//!
//! ```text
//!             set(after)                          a tick finds it due
//!   cleared ────────────▶ waiting, until a tick ────────────────────▶ expired
//!      ▲ ▲                  │  ▲ └──┘ set(after)                        │   │
//!      │ └──── clear() ─────┘  └──────────── set(after) ────────────────┘   │
//!      └──────────────────────────── clear() ───────────────────────────────┘
//! ```

mod precise;
mod table;

use std::cell::Cell;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

pub use self::precise::PRECISE_BELOW;
use self::precise::{PRECISE_SECONDS, Precision};
use self::table::{Chunk, EXPIRED, NEVER, PRECISE, Table};
use crate::Clock;

/// The deadlines of one thread. Clones are handles to the same ones.
///
/// The caller advances the time: [`run`](Self::run), or [`tick`](Self::tick) every [`TICK`].
#[derive(Clone, Default)]
pub struct Deadlines {
    table: Rc<Table>,
}

impl Deadlines {
    /// No deadlines yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// No deadlines yet; precise ones read this clock.
    pub fn with_source(source: impl Fn() -> Duration + 'static) -> Self {
        Self { table: Rc::new(Table { precision: Precision::new(source), ..Table::default() }) }
    }

    /// A new deadline, cleared.
    pub fn register(&self) -> Deadline {
        let table = Rc::clone(&self.table);
        let (chunk, slot) = table.take_slot();
        chunk.registered.set(chunk.registered.get() + 1);
        table.registered.set(table.registered.get() + 1);
        if table.registered.get() == 1 {
            table.changed.notify_one();
        }
        Deadline { table, chunk, slot }
    }

    /// How many deadlines there are, cleared ones included.
    pub fn registered(&self) -> usize {
        self.table.registered.get()
    }

    /// Lets one tick pass: expires what is due, and wakes the tasks that wait for it.
    ///
    /// Two calls must be at least [`TICK`] apart for deadlines not to be early.
    pub fn tick(&self) {
        let table = &*self.table;
        if table.now.get() >= REBASE_AT {
            table.rebase();
        }
        table.now.set(table.now.get() + 1);
        table.for_each_chunk(|chunk| chunk.expire(table.now.get()));
    }

    /// Expires the deadline that has been [idle](Deadline::set_idle) for the longest, if it has been for `least` ticks,
    /// and wakes the task that waits for it. Returns whether there was one.
    ///
    /// Checks every deadline: call it only when there is no room for another connection.
    pub fn expire_longest_idle(&self, least: u32) -> bool {
        let mut longest: Option<(u32, usize, usize)> = None;
        self.table.for_each_chunk_numbered(|number, chunk| {
            let since = chunk.idle_since.iter().map(Cell::get).enumerate().min_by_key(|(_, since)| *since);
            if let Some((slot, since)) = since
                && longest.is_none_or(|(longest, ..)| since < longest)
            {
                longest = Some((since, number, slot));
            }
        });
        match longest {
            Some((since, number, slot)) if since.saturating_add(least) <= self.table.now.get() => {
                self.table.expire(number, slot);
                true
            }
            _ => false,
        }
    }

    /// Expires the precise deadlines that are due by now, and wakes the tasks that wait for them.
    pub fn expire_precise(&self) {
        let precision = &self.table.precision;
        if let Some(now) = precision.begin_expiring() {
            self.table.for_each_chunk(|chunk| precision.note_left(chunk.expire_precise(now)));
        }
    }

    /// Wakes every task that waits for one of its deadlines, expired or not: something else happened that it should
    /// check.
    pub fn wake_all(&self) {
        self.table.for_each_chunk(|chunk| {
            for waker in chunk.wakers.iter().filter_map(|waker| waker.take()) {
                waker.wake();
            }
        });
    }

    /// Ticks for ever and updates `clock` at each tick; sleeps, without any tick, while there are no deadlines.
    ///
    /// One task per thread runs this. Time is what ticks have been counted, and each begins to wait when the one
    /// before has been dealt with: in a thread that is kept from running, deadlines wait along, so that peers are not
    /// blamed for silence while we were not listening.
    pub async fn run(&self, clock: &Clock) -> Infallible {
        loop {
            while self.registered() == 0 {
                self.table.changed.notified().await;
                clock.update();
            }
            // Not tokio's `interval`, which makes up for a late tick by shortening the time to the next.
            self.wait_until(Instant::now() + TICK, clock).await;
            self.tick();
        }
    }

    /// Waits for the next tick, and expires precise deadlines until then.
    async fn wait_until(&self, tick: Instant, clock: &Clock) {
        let Table { precision, changed, .. } = &*self.table;
        loop {
            let planned = precision.time_left().map_or(tick, |left| tick.min(Instant::now() + left));
            if timeout_at(planned, changed.notified()).await.is_ok() {
                // One was set that is due before all others.
                continue;
            }
            precision.note_wake(planned);
            clock.update();
            self.expire_precise();
            if planned == tick {
                return;
            }
        }
    }
}

impl fmt::Debug for Deadlines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Deadlines").field("registered", &self.registered()).finish_non_exhaustive()
    }
}

/// One deadline; dropping it gives its place to another.
///
/// It never expires early. One shorter than [`PRECISE_BELOW`] is late by the resolution of tokio's timer, 1.5 ms, and a
/// pause of 2 ms, in a thread that is not overloaded. Others are late by no more than two [`TICK`]s plus what the ticks
/// in between were late: a minute takes up to 61 seconds.
pub struct Deadline {
    table: Rc<Table>,
    chunk: Rc<Chunk>,
    slot: Slot,
}

impl Deadline {
    /// Expires `after` from now; replaces the earlier setting. Costs two memory writes; the clock is read only where
    /// that is less than [`PRECISE_BELOW`].
    ///
    /// A task that saw it expire has to poll it again to be woken for the new time. More than 8.5 years count as 8.5.
    #[inline]
    pub fn set(&self, after: Duration) {
        self.idle_since().set(NEVER);
        self.set_due(after);
    }

    /// As [`set`](Self::set), for an owner that does nothing until then: it may expire earlier, to make room
    /// ([`Deadlines::expire_longest_idle`]).
    #[inline]
    pub fn set_idle(&self, after: Duration) {
        self.idle_since().set(self.table.now.get());
        self.set_due(after);
    }

    /// As [`set`](Self::set), but reads no clock for short times either, so that they may be two [`TICK`]s late: for
    /// periodic checks.
    #[inline]
    pub fn set_roughly(&self, after: Duration) {
        self.idle_since().set(NEVER);
        self.set_due_roughly(after);
    }

    #[inline]
    fn set_due(&self, after: Duration) {
        if after.as_secs() < PRECISE_SECONDS {
            return self.set_precisely(after);
        }
        self.set_due_roughly(after);
    }

    #[inline]
    fn set_due_roughly(&self, after: Duration) {
        // The tick that comes next may come at once, so it does not count.
        let due = self.table.now.get() + 1 + ticks(after);
        self.due().set(due);
        if due < self.chunk.earliest.get() {
            self.chunk.earliest.set(due);
        }
    }

    #[cold]
    fn set_precisely(&self, after: Duration) {
        let (due, is_first) = self.table.precision.due_after(after);
        self.chunk.precise.set(usize::from(self.slot), due);
        self.due().set(PRECISE);
        if is_first {
            self.table.changed.notify_one();
        }
    }

    /// Does not expire until it is set again.
    #[inline]
    pub fn clear(&self) {
        self.idle_since().set(NEVER);
        self.due().set(NEVER);
    }

    /// Whether it has expired and was neither set nor cleared since.
    #[inline]
    pub fn is_expired(&self) -> bool {
        self.due().get() == EXPIRED
    }

    /// Ready when it has expired; otherwise the task is woken when that happens, as set then. The task that polled last
    /// is the one that is woken.
    #[inline]
    pub fn poll_expired(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_expired() {
            return Poll::Ready(());
        }
        let waiting = self.waker();
        let known = waiting.take().filter(|waker| waker.will_wake(cx.waker()));
        waiting.set(Some(known.unwrap_or_else(|| cx.waker().clone())));
        Poll::Pending
    }

    /// Waits until it has expired. Dropping the future leaves the deadline as it is.
    pub async fn expired(&self) {
        poll_fn(|cx| self.poll_expired(cx)).await;
    }

    fn due(&self) -> &Cell<u32> {
        &self.chunk.due[usize::from(self.slot)]
    }

    fn idle_since(&self) -> &Cell<u32> {
        &self.chunk.idle_since[usize::from(self.slot)]
    }

    fn waker(&self) -> &Cell<Option<Waker>> {
        &self.chunk.wakers[usize::from(self.slot)]
    }
}

impl Drop for Deadline {
    fn drop(&mut self) {
        self.clear();
        drop(self.waker().take());
        self.chunk.registered.set(self.chunk.registered.get() - 1);
        self.table.registered.set(self.table.registered.get() - 1);
        self.table.free.borrow_mut().push((self.chunk.number, self.slot));
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let due = self.due().get();
        match due {
            NEVER => formatter.write_str("Deadline(cleared)"),
            EXPIRED => formatter.write_str("Deadline(expired)"),
            PRECISE => formatter.write_str("Deadline(precise)"),
            due => write!(formatter, "Deadline(in {} ticks)", due.saturating_sub(self.table.now.get())),
        }
    }
}

/// A place within a chunk. A chunk has as many as this type has values, so an index is never out of bounds.
type Slot = u8;

const CHUNK_LENGTH: usize = Slot::MAX as usize + 1;

/// How many ticks `after` is, rounded up.
#[inline]
fn ticks(after: Duration) -> u32 {
    let parts = u64::from(after.subsec_nanos()).div_ceil(TICK.as_nanos() as u64);
    let ticks = after.as_secs().saturating_mul(TICKS_PER_SECOND).saturating_add(parts);
    ticks.min(u64::from(MAX_DURATION)) as u32
}

/// How finely time is counted.
///
/// Such a timeout is a matter of many seconds, so being half of one late is not noticed. The cost of a tick lies not in
/// the check of the deadlines, but in waking up for it: five system calls of the runtime, 80 microseconds. Four ticks a
/// second take a three-thousandth of a processor.
pub const TICK: Duration = Duration::from_millis(250);

const TICKS_PER_SECOND: u64 = 4;

/// A quarter of the range for the time that has passed and a quarter for the time to come (8.5 years each), so that
/// their sum stays below the special values.
const REBASE_AT: u32 = 1 << 30;
const MAX_DURATION: u32 = 1 << 30;
const _: () = assert!(REBASE_AT + 1 + MAX_DURATION < PRECISE);

#[cfg(test)]
mod tests;
