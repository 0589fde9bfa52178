//! A simulated link and kernel: the costs and gains of pacing, without a network.
//!
//! The kernel's window doubles with each round trip, up to what the link and its queue hold, where a real one would
//! lose packets; the client acknowledges every other segment, or one after 40 ms.

use alloc::collections::VecDeque;
use core::time::Duration;

use crate::TcpInfo;
use crate::{DelayHistogram, Demand, Pacer, Pacing, QueueDelay};

const SEGMENT: u32 = 1448;
/// With the headers of Ethernet's IP and TCP.
const ON_THE_WIRE: u64 = 1500;
const DELAYED: u64 = 40_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Link {
    /// Bits per second.
    pub(crate) rate: u64,
    /// Microseconds.
    pub(crate) round_trip: u64,
    /// Segments that the queue holds.
    pub(crate) queue: u64,
    /// Microseconds until the server gets to run after it was woken.
    pub(crate) latency: u64,
}

#[derive(Clone, Copy)]
struct Packet {
    length: u32,
    sent: u64,
    /// When the client has it.
    arrives: u64,
    /// When we know.
    acknowledged: u64,
    delivered_before: u64,
    delivered_at: u64,
}

pub(crate) struct Simulation {
    link: Link,
    pub(crate) now: u64,
    pub(crate) pacer: Pacer,
    low_water: u32,
    wants_room: bool,
    wakes: u64,
    window: u32,
    /// The most segments in flight in this round trip, which ends when so many bytes are acknowledged.
    used: usize,
    round_ends: u64,
    unsent: u32,
    flight: VecDeque<Packet>,
    free: u64,
    sent: u64,
    acknowledged: u64,
    delivered_at: u64,
    rate: u64,
    rate_is_ours: bool,
    smoothed: u64,
    shortest: u64,
    pub(crate) delay: DelayHistogram,
    queue_delay: QueueDelay,
    pub(crate) samples: u64,
}

impl Link {
    fn time_for(&self, bytes: u64) -> u64 {
        bytes * 8 * 1_000_000 / self.rate
    }

    pub(crate) fn segment_time(&self) -> Duration {
        Duration::from_micros(self.time_for(ON_THE_WIRE))
    }
}

impl Simulation {
    pub(crate) fn new(link: Link, pacing: Pacing) -> Self {
        Self {
            link,
            now: 1_000_000,
            pacer: Pacer::new(pacing),
            low_water: 256 * 1024,
            wants_room: false,
            wakes: 0,
            window: 10,
            used: 0,
            round_ends: 0,
            unsent: 0,
            flight: VecDeque::new(),
            free: 0,
            sent: 0,
            acknowledged: 0,
            delivered_at: 0,
            rate: 0,
            rate_is_ours: true,
            smoothed: link.round_trip,
            shortest: link.round_trip,
            delay: DelayHistogram::new(),
            queue_delay: QueueDelay::new(),
            samples: 0,
        }
    }

    /// Sends without end until then.
    pub(crate) fn send_until(&mut self, demand: Demand, end: u64) {
        while self.now < end {
            if self.wakes <= self.now {
                self.serve(demand);
            }
            let acknowledgement = self.flight.front().map_or(u64::MAX, |packet| packet.acknowledged);
            self.now = acknowledgement.min(self.wakes).max(self.now);
            assert!(self.now < u64::MAX, "{:?}: nobody will ever send again: {:?}", self.link, self.pacer);
            if acknowledgement <= self.now {
                self.acknowledge();
            }
        }
        self.now = end;
    }

    /// The server's turn.
    fn serve(&mut self, demand: Demand) {
        for turn in 0.. {
            assert!(turn < 1000, "{:?}: the server spins: {:?}", self.link, self.pacer);
            if self.pacer.needs_sample(self.now) {
                self.samples += 1;
                let info = self.info();
                self.pacer.handle_sample(&info, self.now);
            }
            let allowance = self.pacer.allow(demand, self.now);
            self.low_water = allowance.low_water.unwrap_or(self.low_water);
            if allowance.bytes > 0 {
                // The kernel's own bound.
                let room = self.low_water.saturating_sub(self.unsent).saturating_add(self.info().window_room());
                let bytes = allowance.bytes.min(room as usize).min(1 << 18);
                if bytes == 0 {
                    return self.wait(None);
                }
                self.unsent += bytes as u32;
                self.pacer.note_sent(bytes, self.now);
                self.queue_delay.note_sent(bytes, self.now);
                self.transmit();
            } else if allowance.retry_after.is_some() || self.unsent * 2 >= self.low_water {
                return self.wait(allowance.retry_after);
            }
        }
    }

    fn wait(&mut self, time: Option<Duration>) {
        self.wants_room = time.is_none();
        self.wakes = time.map_or(u64::MAX, |time| self.now + time.as_micros() as u64 + self.link.latency);
    }

    fn transmit(&mut self) {
        while self.unsent > 0 && self.flight.len() < self.window as usize {
            let length = self.unsent.min(SEGMENT);
            let wire = self.link.time_for(u64::from(length) + ON_THE_WIRE - u64::from(SEGMENT));
            self.free = self.free.max(self.now) + wire;
            let arrives = self.free + self.link.round_trip / 2;
            let back = self.free + self.link.round_trip;
            // The second of two brings the first's acknowledgement along.
            if let Some(last) = self.flight.back_mut()
                && last.acknowledged == last.arrives + self.link.round_trip / 2 + DELAYED
                && back < last.acknowledged
            {
                last.acknowledged = back;
                self.push(length, arrives, back);
            } else {
                self.push(length, arrives, back + DELAYED);
            }
            self.unsent -= length;
            self.sent += u64::from(length);
        }
        if self.flight.len() > self.used || self.acknowledged >= self.round_ends {
            self.used = self.flight.len();
            self.round_ends = self.sent;
        }
        self.rate_is_ours = self.unsent == 0 && self.flight.len() < self.window as usize;
        let info = self.info();
        self.queue_delay.handle_sample(&info, self.now, &self.delay);
    }

    fn push(&mut self, length: u32, arrives: u64, acknowledged: u64) {
        if self.flight.is_empty() {
            self.delivered_at = self.now;
        }
        let (delivered_before, delivered_at) = (self.acknowledged, self.delivered_at);
        self.flight.push_back(Packet { length, sent: self.now, arrives, acknowledged, delivered_before, delivered_at });
    }

    fn acknowledge(&mut self) {
        // Linux lets it double beyond what was used of it in the last round trip (tcp_is_cwnd_limited).
        let full = 2 * self.used > self.window as usize;
        while let Some(packet) = self.flight.pop_front_if(|packet| packet.acknowledged <= self.now) {
            self.acknowledged += u64::from(packet.length);
            self.delivered_at = self.now;
            let rate =
                (self.acknowledged - packet.delivered_before) * 1_000_000 / (self.now - packet.delivered_at).max(1);
            if !self.rate_is_ours || rate > self.rate {
                self.rate = rate;
            }
            let round_trip = self.now - packet.sent;
            self.smoothed = (self.smoothed * 7 + round_trip) / 8;
            self.shortest = self.shortest.min(round_trip);
            let most = self.link.round_trip / self.link.time_for(ON_THE_WIRE).max(1) + self.link.queue;
            self.window += u32::from(full && u64::from(self.window) < most);
        }
        self.transmit();
        if self.wants_room && self.unsent * 2 < self.low_water {
            self.wants_room = false;
            self.wakes = self.now + self.link.latency;
        }
    }

    fn info(&self) -> TcpInfo {
        TcpInfo {
            segment: SEGMENT,
            round_trip: self.smoothed as u32,
            shortest_round_trip: self.shortest as u32,
            window: self.window,
            unacknowledged: self.flight.len() as u32,
            unsent: self.unsent,
            sent: self.sent,
            acknowledged: self.acknowledged,
            rate: self.rate,
            rate_is_ours: self.rate_is_ours,
            ..TcpInfo::default()
        }
    }

    /// Bytes that are acknowledged.
    pub(crate) fn delivered(&self) -> u64 {
        self.acknowledged
    }

    /// How long a segment would take to reach the client if it were sent now.
    pub(crate) fn time_to_arrive(&self) -> Duration {
        let before = self.free.max(self.now) - self.now + self.link.time_for(self.unsent.into());
        Duration::from_micros(before + self.link.round_trip / 2) + self.link.segment_time()
    }
}
