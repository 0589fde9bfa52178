//! Encoders that have finished a body, kept for the next one.

use std::cell::RefCell;

use crate::encoder::{CodingEncoder, EncoderSettings};

thread_local! {
    /// Those of this thread, the one used last at the end.
    static IDLE: RefCell<Vec<(EncoderSettings, CodingEncoder)>> = const { RefCell::new(Vec::new()) };
}

/// An idle encoder with these settings.
pub(crate) fn take(settings: EncoderSettings) -> Option<CodingEncoder> {
    IDLE.with_borrow_mut(|idle| {
        let place = idle.iter().rposition(|(others, _)| *others == settings)?;
        Some(idle.remove(place).1)
    })
}

/// Keeps an encoder; the one that was idle for the longest goes where there are too many.
pub(crate) fn keep(settings: EncoderSettings, state: CodingEncoder) {
    IDLE.with_borrow_mut(|idle| {
        if idle.len() == MAX_IDLE {
            idle.remove(0);
        }
        idle.push((settings, state));
    });
}

/// As many bodies as a busy worker compresses at a time: making an encoder costs more than compressing a small body,
/// since the kernel gives it fresh pages. Those kept take 0.3 MB (gzip) to 1 MB (Zstandard) each.
const MAX_IDLE: usize = 32;
