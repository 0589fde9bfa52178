//! The stream counts of a connection, passed on to the counters of its worker.

use std::sync::Arc;

use serow_http2::Counters as Counted;

use super::Counters;

/// The counts of an HTTP/2 connection that the worker's counters contain. The machine counts by itself; this passes the
/// differences on.
pub(crate) struct StreamCounter {
    counters: Arc<Counters>,
    told: Counted,
    active: u64,
    is_held_back: bool,
}

impl StreamCounter {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        Self { counters: Arc::clone(counters), told: Counted::default(), active: 0, is_held_back: false }
    }

    /// Passes the differences on.
    pub(crate) fn tell(&mut self, counted: Counted, active: usize, is_held_back: bool) {
        let (counters, told) = (&*self.counters, &self.told);
        if counted != *told {
            counters.streams_opened.add(counted.opened - told.opened);
            counters.streams_refused.add(counted.refused - told.refused);
            counters.streams_reset_by_peer.add(counted.reset_by_peer - told.reset_by_peer);
            counters.streams_reset_by_us.add(counted.reset_by_us - told.reset_by_us);
            self.told = counted;
        }
        let active = active as u64;
        if active != self.active {
            counters.streams_active.add(active);
            counters.streams_active.take_away(self.active);
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
        let counted = Counted { opened: 3, refused: 1, reset_by_peer: 1, reset_by_us: 2 };
        let (mut one, mut other) = (StreamCounter::new(&counters), StreamCounter::new(&counters));
        one.tell(counted, 2, true);
        one.tell(Counted { opened: 5, ..counted }, 1, true);
        other.tell(counted, 3, false);
        let seen = || {
            [
                counters.streams_opened.count(),
                counters.streams_refused.count(),
                counters.streams_reset_by_peer.count(),
                counters.streams_reset_by_us.count(),
                counters.streams_active.count(),
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
