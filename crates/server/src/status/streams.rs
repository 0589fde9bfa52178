//! The stream counts of a connection, passed on to the counters of its worker.

use std::sync::Arc;

use serow_streams::Counters as Counted;

use super::{Counters, stream_counters::StreamCounters};

/// The counts of a connection that the worker's counters contain. The machine counts by itself; this passes the
/// differences on.
pub(crate) struct StreamCounter {
    counters: Arc<Counters>,
    /// Those of the connection's version of HTTP.
    select: fn(&Counters) -> &StreamCounters,
    told: Counted,
    active: u64,
    is_held_back: bool,
}

impl StreamCounter {
    pub(crate) fn new(counters: &Arc<Counters>, select: fn(&Counters) -> &StreamCounters) -> Self {
        Self { counters: Arc::clone(counters), select, told: Counted::default(), active: 0, is_held_back: false }
    }

    /// Passes the differences on.
    pub(crate) fn tell(&mut self, counted: Counted, active: usize, is_held_back: bool) {
        let (counters, streams, told) = (&*self.counters, (self.select)(&self.counters), &self.told);
        if counted != *told {
            streams.opened.add(counted.opened - told.opened);
            streams.refused.add(counted.refused - told.refused);
            streams.reset_by_peer.add(counted.reset_by_peer - told.reset_by_peer);
            streams.reset_by_us.add(counted.reset_by_us - told.reset_by_us);
            self.told = counted;
        }
        let active = active as u64;
        if active != self.active {
            streams.active.add(active);
            streams.active.take_away(self.active);
            self.active = active;
        }
        if is_held_back != self.is_held_back {
            counters.held_back.add(is_held_back.into());
            counters.held_back.take_away(self.is_held_back.into());
            self.is_held_back = is_held_back;
        }
    }
}

impl Drop for StreamCounter {
    fn drop(&mut self) {
        self.tell(self.told, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_connections_add_up_and_leave_nothing_behind() {
        let counters = Arc::new(Counters::default());
        let new = || StreamCounter::new(&counters, |counters| &counters.streams_http2);
        let counted = Counted { opened: 3, refused: 1, reset_by_peer: 1, reset_by_us: 2 };
        let (mut one, mut other) = (new(), new());
        one.tell(counted, 2, true);
        one.tell(Counted { opened: 5, ..counted }, 1, true);
        other.tell(counted, 3, false);
        let seen = || {
            [
                counters.streams_http2.opened.count(),
                counters.streams_http2.refused.count(),
                counters.streams_http2.reset_by_peer.count(),
                counters.streams_http2.reset_by_us.count(),
                counters.streams_http2.active.count(),
                counters.held_back.count(),
            ]
        };
        assert_eq!(seen(), [8, 2, 2, 4, 4, 1]);
        drop(one);
        assert_eq!(seen(), [8, 2, 2, 4, 3, 0]);
        drop(other);
        assert_eq!(seen(), [8, 2, 2, 4, 0, 0]);
    }
}
