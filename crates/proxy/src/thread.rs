//! State that all upstreams share in a thread.

use std::{cell::Cell, rc::Rc};

use serow_client::Buffers;
use serow_net::{Clock, Deadlines, event_loop_turn};

/// State that all upstreams share in a thread: clock, deadlines and buffers.
pub(crate) struct ThreadContext {
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) buffers: Rc<Buffers>,
    seed: Cell<u64>,
    /// The turn of the event loop in which the clock was read.
    turn: Cell<u64>,
}

impl ThreadContext {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            buffers: Rc::default(),
            seed: Cell::new(serow_net::random::seed()),
            turn: Cell::new(0),
        }
    }

    /// Lets the clock read the time, once in each turn of the event loop.
    #[inline]
    pub(crate) fn update_clock(&self) {
        let turn = event_loop_turn();
        // Under a runtime that does not count its turns, they are always 0.
        if turn == 0 || self.turn.replace(turn) != turn {
            self.clock.update();
        }
    }

    /// Another seed each time.
    pub(crate) fn next_seed(&self) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.seed.get()
    }
}
