//! One direction of a link: a rate, a delay, a drop-tail queue, loss and reordering. Pure: time is an argument.

use std::time::Duration;

/// The properties of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LinkSettings {
    /// Bits per second.
    pub(crate) rate: u64,
    /// From the last bit's leaving to its arrival.
    pub(crate) delay: Duration,
    /// Bytes that may wait, the packet being sent among them.
    pub(crate) queue: u64,
    /// The share of packets lost on the way, from 0 to 1.
    pub(crate) loss: f64,
    /// The share of the others that is held back on the way, from 0 to 1.
    pub(crate) reorder: f64,
    /// How much longer such a packet is on its way.
    pub(crate) hold: Duration,
    /// Chooses which packets are lost or held back: the same seed, the same packets.
    pub(crate) seed: u64,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The queue was full.
    Drop,
    /// Sent, and lost on the way.
    Lose {
        /// When its last bit leaves the queue.
        leaves: Duration,
    },
    /// Sent and received.
    Deliver {
        /// When its last bit leaves the queue.
        leaves: Duration,
        /// When it is there. Later than a packet that leaves after it, if it is held back.
        arrives: Duration,
    },
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Link {
    settings: LinkSettings,
    /// When everything taken so far has left.
    free_at: Duration,
    /// How long the link has been sending, or will have been once the queue is empty.
    busy: Duration,
    held: u64,
    random: u64,
}

impl Link {
    pub(crate) fn new(settings: LinkSettings) -> Self {
        // Any seed must lead to a state that is not zero, from which xorshift never gets away.
        let random = settings.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        Self { settings, free_at: Duration::ZERO, busy: Duration::ZERO, held: 0, random }
    }

    /// Takes a packet that is there at `now`, which must not go back.
    pub(crate) fn offer(&mut self, now: Duration, length: usize) -> Fate {
        let length = length as u64;
        let waiting = self.waiting(now);
        if waiting > 0 && waiting + length > self.settings.queue {
            return Fate::Drop;
        }
        let time = self.sending_time(length);
        self.free_at = self.free_at.max(now) + time;
        self.busy += time;
        // Both are drawn for each packet, so that a link that holds packets back loses the same ones as one that does not.
        let (is_lost, is_held) = (self.chance() < self.settings.loss, self.chance() < self.settings.reorder);
        if is_lost {
            return Fate::Lose { leaves: self.free_at };
        }
        self.held += u64::from(is_held);
        let hold = if is_held { self.settings.hold } else { Duration::ZERO };
        Fate::Deliver { leaves: self.free_at, arrives: self.free_at + self.settings.delay + hold }
    }

    /// Bytes that have not left yet.
    pub(crate) fn waiting(&self, now: Duration) -> u64 {
        let time = self.free_at.saturating_sub(now).as_nanos();
        u64::try_from(time * u128::from(self.settings.rate) / BIT_NANOSECONDS).unwrap_or(u64::MAX)
    }

    /// How long the link has been sending, or will have been once the queue is empty.
    pub(crate) fn busy(&self) -> Duration {
        self.busy
    }

    /// How many packets were held back.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    fn sending_time(&self, length: u64) -> Duration {
        let nanoseconds = u128::from(length) * BIT_NANOSECONDS / u128::from(self.settings.rate);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Evenly between 0 and 1 (xorshift64).
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        // 53 bits are what an f64 holds.
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Eight bits, and the nanoseconds of a second.
const BIT_NANOSECONDS: u128 = 8 * 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// 8,000 bits a second: a byte takes a millisecond.
    fn settings(queue: u64, loss: f64) -> LinkSettings {
        let (delay, hold) = (Duration::from_millis(150), Duration::from_millis(40));
        LinkSettings { rate: 8_000, delay, queue, loss, reorder: 0.0, hold, seed: 7 }
    }

    fn link(queue: u64, loss: f64) -> Link {
        Link::new(settings(queue, loss))
    }

    fn at(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn delivered(leaves: u64) -> Fate {
        Fate::Deliver { leaves: at(leaves), arrives: at(leaves + 150) }
    }

    #[test]
    fn an_idle_link_takes_the_time_of_the_packet_and_the_delay() {
        assert_eq!(link(1_000, 0.0).offer(at(5), 100), delivered(105));
    }

    #[test]
    fn packets_wait_for_those_before_them() {
        let mut link = link(1_000, 0.0);
        assert_eq!(link.offer(at(0), 100), delivered(100));
        assert_eq!(link.offer(at(10), 50), delivered(150));
        assert_eq!(link.waiting(at(10)), 140);
        // Idle in between: nothing is made up for.
        assert_eq!(link.offer(at(1_000), 10), delivered(1_010));
        assert_eq!(link.busy(), at(160));
    }

    #[test]
    fn a_packet_that_does_not_fit_the_queue_is_dropped_and_costs_no_time() {
        let mut link = link(200, 0.0);
        assert_eq!(link.offer(at(0), 100), delivered(100));
        assert_eq!(link.offer(at(0), 100), delivered(200));
        assert_eq!(link.offer(at(0), 1), Fate::Drop);
        assert_eq!(link.offer(at(1), 1), delivered(201));
        assert_eq!(link.offer(at(100), 101), Fate::Drop);
    }

    #[test]
    fn an_idle_link_takes_a_packet_larger_than_its_queue() {
        assert_eq!(link(10, 0.0).offer(at(0), 100), delivered(100));
    }

    #[test]
    fn lost_packets_take_their_time_and_are_as_many_as_said() {
        let mut link = link(u64::MAX, 0.1);
        let mut lost = 0;
        for number in 1..=10_000 {
            match link.offer(at(0), 1) {
                Fate::Lose { leaves } => {
                    assert_eq!(leaves, at(number));
                    lost += 1;
                }
                fate => assert_eq!(fate, delivered(number)),
            }
        }
        assert!((900..1_100).contains(&lost), "{lost} of 10,000");
    }

    #[test]
    fn the_same_seed_loses_the_same_packets() {
        let fates = || (0..100).scan(link(u64::MAX, 0.3), |link, _| Some(link.offer(at(0), 1))).collect::<Vec<_>>();
        assert_eq!(fates(), fates());
        assert!(fates().iter().any(|fate| matches!(fate, Fate::Lose { .. })));
    }

    #[test]
    fn packets_held_back_arrive_later_and_delay_no_others() {
        let mut link = Link::new(LinkSettings { reorder: 0.1, ..settings(u64::MAX, 0.0) });
        for number in 1..=10_000 {
            let before = link.held();
            let fate = link.offer(at(0), 1);
            let hold = if link.held() > before { 40 } else { 0 };
            assert_eq!(fate, Fate::Deliver { leaves: at(number), arrives: at(number + 150 + hold) });
        }
        assert!((900..1_100).contains(&link.held()), "{} of 10,000", link.held());
    }

    #[test]
    fn all_or_none_are_lost_or_held_back() {
        let all = Duration::from_millis(1 + 150 + 40);
        let mut late = Link::new(LinkSettings { reorder: 1.0, ..settings(u64::MAX, 0.0) });
        assert_eq!(late.offer(at(0), 1), Fate::Deliver { leaves: at(1), arrives: all });
        let mut lossy = Link::new(LinkSettings { reorder: 1.0, ..settings(u64::MAX, 1.0) });
        assert_eq!(lossy.offer(at(0), 1), Fate::Lose { leaves: at(1) });
        assert_eq!((late.held(), lossy.held()), (1, 0));
    }

    #[test]
    fn a_link_that_holds_packets_back_loses_the_same_ones() {
        let lost = |reorder| {
            let mut link = Link::new(LinkSettings { reorder, ..settings(u64::MAX, 0.2) });
            (0..1_000).map(|_| matches!(link.offer(at(0), 1), Fate::Lose { .. })).collect::<Vec<_>>()
        };
        assert_eq!(lost(0.0), lost(0.3));
    }

    #[test]
    fn a_gigabit_is_exact() {
        let settings = LinkSettings { rate: 1_000_000_000, ..settings(u64::MAX, 0.0) };
        let mut link = Link::new(settings);
        for _ in 0..1_000 {
            link.offer(Duration::ZERO, 1_500);
        }
        assert_eq!(link.busy(), Duration::from_millis(12));
    }
}
