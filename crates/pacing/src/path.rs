//! The properties of a path, as far as they are known.

use crate::TcpInfo;

/// Times in microseconds, sizes in bytes, the rate in bytes per second; 0 is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    pub(crate) segment: u32,
    pub(crate) round_trip: u32,
    /// Without queues, as far as that was ever seen.
    pub(crate) shortest_round_trip: u32,
    pub(crate) rate: u64,
    /// Bytes that have arrived.
    pub(crate) delivered: u64,
}

impl Path {
    pub(crate) fn handle_sample(&mut self, info: &TcpInfo) {
        // IP has no larger ones; and so no sum below runs over.
        self.segment = info.segment.clamp(1, u16::MAX.into());
        self.round_trip = info.round_trip;
        self.shortest_round_trip = info.shortest_round_trip;
        self.delivered = info.acknowledged;
        // A measurement can be low for reasons that pass (a lost packet, a late acknowledgement) and is seldom too
        // high.
        self.rate = info.rate.max(self.rate - self.rate / FORGETTING);
    }

    /// The bytes that the path delivers in a time.
    pub(crate) fn within(&self, microseconds: u64) -> u32 {
        let bytes = self.rate.saturating_mul(microseconds) / 1_000_000;
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// The time in which the path delivers so many bytes; none if the rate is not known.
    pub(crate) fn time_for(&self, bytes: u32) -> Option<u64> {
        (u64::from(bytes) * 1_000_000).checked_div(self.rate)
    }

    /// So many bytes without the last, broken segment: half-filled packets cost the link as many headers as full ones.
    pub(crate) fn whole_segments(&self, bytes: u32) -> usize {
        (bytes - bytes % self.segment.max(1)) as usize
    }
}

/// With each sample an old rate loses this part of itself, so that a path that became slower is known after a dozen.
const FORGETTING: u64 = 8;
