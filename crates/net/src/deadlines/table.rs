//! The places of deadlines in memory.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::Waker,
};

use tokio::sync::Notify;

use super::{
    CHUNK_LENGTH, Slot,
    precise::{Due, PreciseChunk, Precision},
};

/// All places for deadlines. They grow by a chunk at a time and stay where they are, so that a deadline can hold on to
/// its place.
#[derive(Default)]
pub(super) struct Table {
    /// Ticks counted; at most `REBASE_AT`.
    pub(super) now: Cell<u32>,
    pub(super) chunks: RefCell<Vec<Rc<Chunk>>>,
    /// The free places. The last freed is taken first, so that a quiet server's are close together.
    pub(super) free: RefCell<Vec<(usize, Slot)>>,
    pub(super) registered: Cell<usize>,
    pub(super) precision: Precision,
    /// Notified when `registered` leaves zero, and when the earliest precise deadline changes.
    pub(super) changed: Notify,
}

impl Table {
    pub(super) fn take_slot(&self) -> (Rc<Chunk>, Slot) {
        let mut chunks = self.chunks.borrow_mut();
        let mut free = self.free.borrow_mut();
        if let Some((number, slot)) = free.pop() {
            return (Rc::clone(&chunks[number]), slot);
        }
        let chunk = Rc::new(Chunk::new(chunks.len()));
        free.extend((1..=Slot::MAX).rev().map(|slot| (chunk.number, slot)));
        chunks.push(Rc::clone(&chunk));
        (chunk, 0)
    }

    /// Calls `visit` for each chunk that is in use, with nothing borrowed: a task that is woken may register, set and
    /// drop deadlines.
    pub(super) fn for_each_chunk(&self, visit: impl Fn(&Chunk)) {
        let chunk = |number: usize| self.chunks.borrow().get(number).cloned();
        (0..).map_while(chunk).filter(|chunk| chunk.registered.get() > 0).for_each(|chunk| visit(&chunk));
    }

    pub(super) fn for_each_chunk_numbered(&self, mut visit: impl FnMut(usize, &Chunk)) {
        let chunks = self.chunks.borrow();
        chunks
            .iter()
            .enumerate()
            .filter(|(_, chunk)| chunk.registered.get() > 0)
            .for_each(|(number, chunk)| visit(number, chunk));
    }

    /// Expires the deadline of this place at once.
    pub(super) fn expire(&self, number: usize, slot: usize) {
        let chunk = self.chunks.borrow().get(number).cloned();
        if let Some(chunk) = chunk {
            chunk.expire_slot(slot);
        }
    }

    /// Counts from zero again, so that ticks never wrap around. Happens every 8.5 years.
    pub(super) fn rebase(&self) {
        let passed = self.now.replace(0);
        self.for_each_chunk(|chunk| {
            for due in chunk.due.iter().filter(|due| due.get() < PRECISE) {
                // Deadlines that have not expired are due later than now.
                due.set(due.get() - passed);
            }
            for since in chunk.idle_since.iter().filter(|since| since.get() != NEVER) {
                since.set(since.get().saturating_sub(passed));
            }
            if chunk.earliest.get() < PRECISE {
                chunk.earliest.set(chunk.earliest.get().saturating_sub(passed));
            }
        });
    }
}

/// Some places for deadlines.
pub(super) struct Chunk {
    pub(super) number: usize,
    pub(super) registered: Cell<usize>,
    /// No deadline of the chunk is due before this tick: a tick need not look at those that idle, whose memory the
    /// processor would have to fetch.
    pub(super) earliest: Cell<u32>,
    /// The tick at which each expires, or [`PRECISE`], [`EXPIRED`], or [`NEVER`]. Dense, so that the processor compares
    /// several in one instruction.
    pub(super) due: [Cell<u32>; CHUNK_LENGTH],
    /// The tick at which the owner of each became idle, or [`NEVER`].
    pub(super) idle_since: [Cell<u32>; CHUNK_LENGTH],
    pub(super) wakers: [Cell<Option<Waker>>; CHUNK_LENGTH],
    pub(super) precise: PreciseChunk,
}

impl Chunk {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            registered: Cell::new(0),
            earliest: Cell::new(NEVER),
            due: [const { Cell::new(NEVER) }; CHUNK_LENGTH],
            idle_since: [const { Cell::new(NEVER) }; CHUNK_LENGTH],
            wakers: [const { Cell::new(None) }; CHUNK_LENGTH],
            precise: PreciseChunk::default(),
        }
    }

    pub(super) fn expire(&self, now: u32) {
        if self.earliest.get() > now {
            return;
        }
        // First, since a task that is woken may set a deadline.
        self.earliest.set(self.due.iter().map(Cell::get).filter(|due| *due > now).min().unwrap_or(NEVER));
        for (slot, _) in self.due.iter().enumerate().filter(|(_, due)| due.get() <= now) {
            self.expire_slot(slot);
        }
    }

    pub(super) fn expire_slot(&self, slot: usize) {
        self.due[slot].set(EXPIRED);
        self.idle_since[slot].set(NEVER);
        if let Some(waker) = self.wakers[slot].take() {
            waker.wake();
        }
    }

    /// Expires the precise ones that are due; says before when no other is.
    pub(super) fn expire_precise(&self, now: Due) -> Due {
        self.precise.expire(now, |slot| self.due[slot].get() == PRECISE, |slot| self.expire_slot(slot))
    }
}

/// Due values from here on are not ticks. The order matters: a tick compares `due <= now`, which these never are.
/// Due at the moment that [`PreciseChunk`] has.
pub(super) const PRECISE: u32 = u32::MAX - 2;
pub(super) const EXPIRED: u32 = u32::MAX - 1;
pub(super) const NEVER: u32 = u32::MAX;
