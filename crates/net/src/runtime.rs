//! The runtime of a thread that has connections of its own.

use std::{cell::Cell, io};

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::cores::InheritableCores;

/// A runtime for the calling thread alone: its tasks need not be `Send`, and stay where they are. If the thread is pinned
/// to a core by now ([`pin_thread`](crate::cores::pin_thread)), its blocking threads are not.
///
/// # Errors
///
/// When the process cannot open more descriptors.
pub fn thread_runtime() -> io::Result<LocalRuntime> {
    let cores = InheritableCores::of_this_thread();
    Builder::new_current_thread()
        .enable_all()
        // The blocking threads, which the thread itself starts.
        .on_thread_start(move || cores.restore())
        .event_interval(EVENT_INTERVAL)
        .on_thread_unpark(|| TURN.set(TURN.get().wrapping_add(1)))
        .build_local(LocalOptions::default())
}

/// The turn of this thread's [runtime](thread_runtime): it changes each time that the runtime has waited for events,
/// and so has learned from the kernel which sockets are readable. Under another runtime it never changes.
#[inline]
#[must_use]
pub fn event_loop_turn() -> u64 {
    TURN.get()
}

thread_local! {
    static TURN: Cell<u64> = const { Cell::new(0) };
}

/// Turns of tasks before the runtime looks for events of the system in between. tokio's 61 would ask the kernel once
/// more in each round of a thread with more busy connections than that; twice as many cost a hundredth of a call each,
/// and a handler that keeps waking itself still lets the others' sockets have their turn soon.
const EVENT_INTERVAL: u32 = 128;
