//! Whose turn it is among those that take turns.

use super::{Class, TURN, keys::Keys, stream_of};
use crate::StreamId;

/// The streams of one class, taken round by number.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ring {
    /// Whose turn it is, or was, if the turn is over.
    current: StreamId,
    /// The rest of the turn, in bytes.
    left: u32,
    /// Where the round ends: the highest stream when it began. Without it, a client that opens one short stream after
    /// the other would keep the round from ever coming back to a lower one.
    end: StreamId,
}

impl Ring {
    /// No stream has had a turn yet.
    pub(super) const NEW: Self = Self { current: StreamId::CONNECTION, left: 0, end: StreamId::CONNECTION };

    /// The next stream: the one whose turn is not over, else the next one of the round, else the first of a new round.
    pub(super) fn next(&self, keys: &Keys, class: Class) -> Option<StreamId> {
        let begin = if self.left > 0 { class.key(self.current) } else { class.key(self.current) + 1 };
        let last = class.key(self.end);
        let key = keys.from(begin).filter(|&key| key <= last).or_else(|| keys.from(class.first_key()))?;
        (Class::of_key(key) == class).then(|| stream_of(key))
    }

    /// A stream has sent so many bytes.
    pub(super) fn note(&mut self, keys: &Keys, class: Class, stream: StreamId, bytes: u32) {
        if stream != self.current || self.left == 0 {
            if stream <= self.current || stream > self.end {
                let highest = keys.below(class.end_key()).filter(|&key| Class::of_key(key) == class);
                // The stream itself may have left while it had its turn.
                self.end = highest.map_or(stream, stream_of).max(stream);
            }
            self.current = stream;
            self.left = TURN;
        }
        self.left = self.left.saturating_sub(bytes);
    }
}
