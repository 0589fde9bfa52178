//! How fast a path delivers bytes, and how long they take: what the kernel knows of a TCP connection.

use std::time::{Duration, Instant};

use serow_pacing::TcpInfo;

/// Measurements of a path by its acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivery {
    /// Bytes of packets that have arrived.
    delivered: u64,
    round_trip: Duration,
    shortest: ShortestRoundTrip,
    round: Round,
    rate: Rate,
}

/// From an acknowledgement to that of the first packet sent after it: what arrived meanwhile arrived within a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    began: Instant,
    /// How much had arrived before.
    delivered: u64,
    is_app_limited: bool,
}

/// The rate of the latest round, in bytes per second.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    bytes: u64,
    /// There was not more to send: the path may be faster.
    is_app_limited: bool,
}

/// The packet with the shortest round trip.
///
/// TCP's is that of a SYN. This one is mostly that of a full packet, since handshakes are padded (RFC 9000 §14.1), and a
/// slow link takes long for it.
#[derive(Clone, Copy, Debug)]
struct ShortestRoundTrip {
    time: Duration,
    bytes: u64,
}

impl Delivery {
    pub(super) fn begin(now: Instant) -> Self {
        Self {
            delivered: 0,
            round_trip: Duration::ZERO,
            shortest: ShortestRoundTrip { time: Duration::MAX, bytes: 0 },
            round: Round { began: now, delivered: 0, is_app_limited: false },
            rate: Rate::default(),
        }
    }

    /// A packet that was sent at this time has arrived; the round trip is the smoothed one.
    pub(super) fn handle_acknowledgement(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        is_app_limited: bool,
        round_trip: Duration,
    ) {
        self.delivered += bytes;
        self.round_trip = round_trip;
        let time = now.saturating_duration_since(sent);
        if time < self.shortest.time {
            self.shortest = ShortestRoundTrip { time, bytes };
        }
        self.round.is_app_limited |= is_app_limited;
        if sent >= self.round.began {
            self.end_round(now);
        }
    }

    fn end_round(&mut self, now: Instant) {
        let lasted = now.saturating_duration_since(self.round.began).as_micros();
        let delivered = self.delivered - self.round.delivered;
        if let Some(rate) = (u128::from(delivered) * MICROSECONDS).checked_div(lasted) {
            let bytes = u64::try_from(rate).unwrap_or(u64::MAX);
            self.rate = Rate { bytes, is_app_limited: self.round.is_app_limited };
        }
        self.round = Round { began: now, delivered: self.delivered, is_app_limited: false };
    }

    /// As TCP_INFO says it.
    pub(super) fn sample(&self, in_flight: u64, mtu: u16) -> TcpInfo {
        TcpInfo {
            segment: mtu.into(),
            round_trip: microseconds(self.round_trip),
            shortest_round_trip: self.shortest.of_empty_packet(self.rate),
            sent: self.delivered + in_flight,
            acknowledged: self.delivered,
            rate: self.rate.bytes,
            rate_is_ours: self.rate.is_app_limited,
            ..TcpInfo::default()
        }
    }
}

impl ShortestRoundTrip {
    /// In microseconds, without the time that the packet itself took; 0 is not known.
    fn of_empty_packet(self, rate: Rate) -> u32 {
        if self.bytes == 0 {
            return 0;
        }
        let time = microseconds(self.time);
        if rate.is_app_limited {
            return time;
        }
        let own = (u128::from(self.bytes) * MICROSECONDS).checked_div(rate.bytes.into()).unwrap_or_default();
        // A rate may be measured too low.
        time - u32::try_from(own).unwrap_or(u32::MAX).min(time / 2)
    }
}

fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

const MICROSECONDS: u128 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// A full packet each 100 ms, 400 ms on the way.
    fn deliver(packets: u32, is_app_limited: bool) -> Delivery {
        let began = Instant::now();
        let mut delivery = Delivery::begin(began);
        for packet in 0..packets {
            let sent = began + Duration::from_millis(100) * packet;
            let trip = Duration::from_millis(400);
            delivery.handle_acknowledgement(sent + trip, sent, 1200, is_app_limited, trip);
        }
        delivery
    }

    #[test]
    fn nothing_is_known_before_an_acknowledgement() {
        let info = deliver(0, false).sample(0, 1200);
        assert_eq!(info, TcpInfo { segment: 1200, ..TcpInfo::default() });
    }

    #[test]
    fn a_round_has_the_rate_at_which_packets_arrive() {
        let info = deliver(20, false).sample(3600, 1200);
        assert_eq!((info.rate, info.rate_is_ours), (12_000, false));
        assert_eq!((info.acknowledged, info.in_flight()), (24_000, 3600));
        assert_eq!(info.round_trip, 400_000);
    }

    #[test]
    fn the_shortest_round_trip_is_that_of_the_path() {
        // The packet itself takes 100 ms at this rate.
        assert_eq!(deliver(20, false).sample(0, 1200).shortest_round_trip, 300_000);
        // A rate that the path does not limit says nothing of it.
        assert_eq!(deliver(20, true).sample(0, 1200).shortest_round_trip, 400_000);
        // One packet in 400 ms: a rate that is too low, most likely.
        assert_eq!(deliver(1, false).sample(0, 1200).shortest_round_trip, 200_000);
    }
}
