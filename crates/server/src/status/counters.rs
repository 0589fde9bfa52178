//! The counters of a worker.

use serow_message::StatusCode;
use serow_pacing::DelayHistogram;

use super::{counter::Counter, stream_counters::StreamCounters};
use crate::client_rules::ClientRefusal;
use crate::connection_counter::ConnectionCounter;

/// The counters of a worker. Only its own thread writes them, except for the connections. They begin on a cache line of
/// their own, so that no core waits for another's counters: 128 bytes, since processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Counters {
    pub(crate) requests_http1: Counter,
    pub(crate) requests_http2: Counter,
    pub(crate) requests_http3: Counter,
    /// Finished requests by the class of their status; index 0: the client disconnected before the response (499).
    answered: [Counter; 10],
    pub(crate) body_bytes_received: Counter,
    pub(crate) body_bytes_sent: Counter,
    pub(crate) accepted: Counter,
    pub(crate) accepted_tls: Counter,
    pub(crate) accepted_quic: Counter,
    pub(crate) refused: Counter,
    refused_banned: Counter,
    refused_crowded: Counter,
    pub(crate) handshakes_failed: Counter,
    pub(crate) begun_http1: Counter,
    pub(crate) begun_http2: Counter,
    pub(crate) begun_http3: Counter,
    pub(crate) open_http1: Counter,
    pub(crate) open_http2: Counter,
    pub(crate) open_http3: Counter,
    pub(crate) streams_http2: StreamCounters,
    pub(crate) streams_http3: StreamCounters,
    /// Connections that have more to send than they may send at present.
    pub(crate) held_back: Counter,
    pub(crate) queue_delay: DelayHistogram,
    /// The open connections; some may have been handed over to other threads.
    pub(crate) connections: ConnectionCounter,
}

impl Counters {
    /// Counts a finished request.
    #[inline]
    pub(crate) fn note_answered(&self, status: StatusCode) {
        let class = match status.as_u16() {
            CLIENT_LEFT => 0,
            status => usize::from(status / 100),
        };
        if let Some(counter) = self.answered.get(class) {
            counter.add(1);
        }
    }

    /// Counts an invalid HTTP/1 request that got an error response.
    #[cold]
    pub(crate) fn note_refused_http1(&self, status: StatusCode) {
        self.requests_http1.add(1);
        self.note_answered(status);
    }

    /// Counts a connection that is closed because of its client.
    #[cold]
    pub(crate) fn note_refused_client(&self, refusal: ClientRefusal) {
        match refusal {
            ClientRefusal::Banned => self.refused_banned.add(1),
            ClientRefusal::TooManyConnections => self.refused_crowded.add(1),
        }
    }

    /// The connections that were closed because of their clients: of banned ones, and of those with too many.
    pub(super) fn refused_clients(&self) -> [u64; 2] {
        [self.refused_banned.count(), self.refused_crowded.count()]
    }

    /// Finished requests by the class of their status; index 0: the client disconnected before the response.
    pub(super) fn answered(&self) -> [u64; 10] {
        self.answered.each_ref().map(Counter::count)
    }
}

/// See [`crate::exchange::client_left`].
const CLIENT_LEFT: u16 = 499;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_their_class() {
        let counters = Counters::default();
        for status in [200, 206, 304, 404, 499, 499, 500, 999, 101] {
            counters.note_answered(StatusCode::from_u16(status).unwrap());
        }
        assert_eq!(counters.answered(), [2, 1, 2, 1, 1, 1, 0, 0, 0, 1]);
    }

    #[test]
    fn no_two_workers_share_a_cache_line() {
        assert_eq!((align_of::<Counters>(), size_of::<Counters>() % 128), (128, 0));
    }
}
