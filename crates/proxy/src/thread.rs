//! State that all upstreams share in a thread.

use std::{cell::Cell, collections::hash_map::RandomState, hash::BuildHasher, rc::Rc};

use serow_client::Buffers;
use serow_net::{Clock, Deadlines};

/// State that all upstreams share in a thread: clock, deadlines and buffers.
pub(crate) struct ThreadContext {
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) buffers: Rc<Buffers>,
    seed: Cell<u64>,
}

impl ThreadContext {
    pub(crate) fn new() -> Self {
        Self {
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            buffers: Rc::default(),
            seed: Cell::new(RandomState::new().hash_one(0_u8)),
        }
    }

    /// Another seed each time.
    pub(crate) fn next_seed(&self) -> u64 {
        self.seed.set(self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.seed.get()
    }
}
