//! Priorities in the words of RFC 7540, for servers that know no other, as Chromium says them.
//!
//! Chromium puts every stream exclusively behind the last one that is at least as urgent: so the tree is a chain in the
//! order of urgencies, which a server that follows it serves from the front. Incremental ones are put there side by
//! side.

use serow_http2::{StreamId, frame::Dependency};
use serow_message::Priority;

/// The streams that are open, in the order of their requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    open: Vec<(StreamId, Priority)>,
}

impl Chain {
    /// The dependency of the next stream.
    pub(super) fn dependency(&self, priority: Priority) -> Dependency {
        let as_urgent = |open: &Priority| {
            // Those that share are siblings, so none of them is behind another.
            open.urgency < priority.urgency || (open.urgency == priority.urgency && !priority.incremental)
        };
        let before = self.open.iter().rev().filter(|(_, open)| as_urgent(open));
        // The last of those that are least urgent: the end of the chain up to here.
        let on = before.max_by_key(|(stream, open)| (open.urgency, *stream)).map(|(stream, _)| *stream);
        let weight = WEIGHTS[usize::from(priority.urgency.min(Priority::BACKGROUND))];
        Dependency { on: on.unwrap_or(StreamId::CONNECTION), weight, exclusive: !priority.incremental }
    }

    /// It was asked for.
    pub(super) fn note_opened(&mut self, stream: StreamId, priority: Priority) {
        self.open.push((stream, priority));
    }

    /// It is over: nothing can depend on it any more (RFC 7540 §5.3.4).
    pub(super) fn note_ended(&mut self, stream: StreamId) {
        self.open.retain(|(open, _)| *open != stream);
    }
}

/// Chromium's, of each urgency: `1 + 255.9 / 7 × (7 - urgency)`, rounded down (`Spdy3PriorityToHttp2Weight`).
const WEIGHTS: [u16; 8] = [256, 220, 183, 147, 110, 74, 37, 1];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_behind_the_last_that_is_as_urgent() {
        let mut chain = Chain::default();
        let incremental = true;
        // The stream, its urgency, whether it shares; what it depends on, and whether exclusively.
        for (stream, urgency, shares, on, exclusive) in [
            (1, 3, false, 0, true),
            (3, 2, false, 0, true),
            (5, 3, false, 1, true),
            (7, 7, incremental, 5, false),
            (9, 7, incremental, 5, false),
            (11, 0, false, 0, true),
            (13, 2, false, 3, true),
        ] {
            let priority = Priority { urgency, incremental: shares };
            let dependency = chain.dependency(priority);
            let expected = Dependency { on: StreamId::new(on), weight: WEIGHTS[usize::from(urgency)], exclusive };
            assert_eq!(dependency, expected, "stream {stream}");
            chain.note_opened(StreamId::new(stream), priority);
        }
        for (ended, on) in [(5, 1), (1, 13), (13, 3), (3, 11), (11, 0)] {
            chain.note_ended(StreamId::new(ended));
            assert_eq!(chain.dependency(Priority::DEFAULT).on, StreamId::new(on), "{ended} has ended");
        }
    }
}
