//! The counters of streams, for one version of HTTP.

use super::counter::Counter;

/// A worker's counters of the streams of HTTP/2, or of those of HTTP/3.
#[derive(Debug, Default)]
pub(crate) struct StreamCounters {
    pub(crate) opened: Counter,
    pub(crate) active: Counter,
    pub(crate) reset_by_peer: Counter,
    pub(crate) reset_by_us: Counter,
    pub(crate) refused: Counter,
    /// Connections that the server closed because of an error, by its code; unknown codes are at index 0, which no error
    /// uses.
    connection_errors: [Counter; ERRORS],
}

impl StreamCounters {
    /// Counts a connection that the server closed with the error code of this place.
    #[cold]
    pub(crate) fn note_connection_error(&self, place: usize) {
        let place = if place < ERRORS { place } else { 0 };
        self.connection_errors[place].add(1);
    }

    pub(super) fn connection_errors(&self) -> [u64; ERRORS] {
        self.connection_errors.each_ref().map(Counter::count)
    }
}

/// The codes of HTTP/3 with those of QPACK are 19 (RFC 9114 §8.1, RFC 9204 §6), those of HTTP/2 13 (RFC 9113 §7).
pub(super) const ERRORS: usize = 20;
