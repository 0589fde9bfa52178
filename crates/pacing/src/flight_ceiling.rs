//! The bound on bytes in flight alone, for a transport that sends by itself, and has no unsent bytes to bound: QUIC.

use crate::{TcpInfo, flight::Flight, path::Path};

/// How many bytes may be in flight while only less urgent ones are sent. Times are microseconds since any fixed moment.
#[derive(Clone, Debug, Default)]
pub struct FlightCeiling {
    path: Path,
    flight: Flight,
}

impl FlightCeiling {
    /// Takes a sample of the transport's state, when something was acknowledged.
    pub fn handle_sample(&mut self, info: &TcpInfo, now: u64) {
        self.path.handle_sample(info);
        self.flight.handle_sample(&self.path, info.in_flight(), now);
    }

    /// The most bytes in flight; none if the path needs no bound, or a bound has proved useless.
    #[must_use]
    pub fn bytes(&self, now: u64) -> Option<u32> {
        self.flight.most(&self.path, now)
    }

    /// The bound holds bytes back now.
    pub fn note_held(&mut self, now: u64) {
        self.flight.note_held(now);
    }
}
