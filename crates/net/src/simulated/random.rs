//! Random numbers in the simulation, with the names of `random.rs`.

use std::cell::Cell;

thread_local! {
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// A number for a generator of random numbers to begin with: the next of this thread, from that of the test on.
#[must_use]
pub fn seed() -> u64 {
    NEXT.replace(NEXT.get().wrapping_add(1))
}

/// The number from which the thread's go on.
pub(crate) fn set_seed(seed: u64) {
    NEXT.set(seed);
}
