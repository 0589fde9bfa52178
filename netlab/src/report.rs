//! The report of a link as JSON: the packets that it carried, and how punctually.

use std::time::Duration;

use crate::link::{Fate, LinkSettings};

/// One direction.
#[derive(Clone, Debug)]
pub(crate) struct DirectionReport {
    rate: u64,
    delay: Duration,
    queue: u64,
    packets: u64,
    bytes: u64,
    dropped: u64,
    lost: u64,
    first: Option<Duration>,
    last_left: Duration,
    most_waiting: u64,
    lateness: Lateness,
    /// How long the link was sending.
    pub(crate) busy: Duration,
    /// Packets that were held back on the way.
    pub(crate) held: u64,
    /// Packets that the receiving device would not take.
    pub(crate) refused: u64,
    /// Packets that the sending device had no room for: the relay was too slow.
    pub(crate) overrun: u64,
}

impl DirectionReport {
    pub(crate) fn new(settings: &LinkSettings) -> Self {
        Self {
            rate: settings.rate,
            delay: settings.delay,
            queue: settings.queue,
            packets: 0,
            bytes: 0,
            dropped: 0,
            lost: 0,
            first: None,
            last_left: Duration::ZERO,
            most_waiting: 0,
            lateness: Lateness::new(),
            busy: Duration::ZERO,
            held: 0,
            refused: 0,
            overrun: 0,
        }
    }

    /// A packet went into the link, with what waits in it then.
    pub(crate) fn taken(&mut self, entered: Duration, length: usize, fate: Fate, waiting: u64) {
        self.first.get_or_insert(entered);
        self.most_waiting = self.most_waiting.max(waiting);
        let leaves = match fate {
            Fate::Drop => {
                self.dropped += 1;
                return;
            }
            Fate::Lose { leaves } => {
                self.lost += 1;
                leaves
            }
            Fate::Deliver { leaves, .. } => leaves,
        };
        self.packets += 1;
        self.bytes += length as u64;
        self.last_left = leaves;
    }

    /// A packet came out of the link, so much later than it should.
    pub(crate) fn delivered(&mut self, late: Duration) {
        self.lateness.note(late);
    }

    fn json(&self) -> String {
        let lasted = self.last_left.saturating_sub(self.first.unwrap_or(self.last_left)).as_secs_f64();
        let achieved = if lasted > 0.0 { self.bytes as f64 * 8.0 / lasted } else { 0.0 };
        format!(
            "{{\"rate\": {}, \"delay_us\": {}, \"queue\": {}, \"packets\": {}, \"bytes\": {}, \"dropped\": {}, \
             \"lost\": {}, \"held\": {}, \"refused\": {}, \"overrun\": {}, \"most_waiting\": {}, \"lasted_s\": {lasted:.6}, \
             \"busy_s\": {:.6}, \"achieved_rate\": {achieved:.0}, \"late_us\": {}}}",
            self.rate,
            self.delay.as_micros(),
            self.queue,
            self.packets,
            self.bytes,
            self.dropped,
            self.lost,
            self.held,
            self.refused,
            self.overrun,
            self.most_waiting,
            self.busy.as_secs_f64(),
            self.lateness.json(),
        )
    }
}

/// Both directions, to the client first.
pub(crate) fn json(to_client: &DirectionReport, to_server: &DirectionReport) -> String {
    format!("{{\"to_client\": {},\n \"to_server\": {}}}\n", to_client.json(), to_server.json())
}

/// How much later than they should packets came out of the link.
#[derive(Clone, Debug)]
struct Lateness {
    /// How many were this many microseconds late; the last stands for all above.
    microseconds: Vec<u64>,
    total: u64,
    most: Duration,
}

impl Lateness {
    fn new() -> Self {
        Self { microseconds: vec![0; MAX_MICROSECONDS + 1], total: 0, most: Duration::ZERO }
    }

    fn note(&mut self, late: Duration) {
        let place = usize::try_from(late.as_micros()).unwrap_or(usize::MAX).min(MAX_MICROSECONDS);
        self.microseconds[place] += 1;
        self.total += 1;
        self.most = self.most.max(late);
    }

    /// The smallest number of microseconds that so many per mille were not later than.
    fn quantile(&self, per_mille: u64) -> usize {
        let wanted = (self.total * per_mille).div_ceil(1_000);
        let mut seen = 0;
        let reached = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.microseconds.iter().position(reached).unwrap_or(0)
    }

    fn json(&self) -> String {
        let (half, most, nearly_all) = (self.quantile(500), self.quantile(990), self.quantile(999));
        let largest = self.most.as_micros();
        format!("{{\"median\": {half}, \"p99\": {most}, \"p999\": {nearly_all}, \"most\": {largest}}}")
    }
}

/// The largest lateness that is counted exactly. A later packet is a fault, whatever its exact lateness.
const MAX_MICROSECONDS: usize = 20_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let mut lateness = Lateness::new();
        assert_eq!(lateness.json(), r#"{"median": 0, "p99": 0, "p999": 0, "most": 0}"#);
        for microseconds in 1..=1_000 {
            lateness.note(Duration::from_micros(microseconds));
        }
        lateness.note(Duration::from_secs(1));
        assert_eq!(lateness.json(), r#"{"median": 501, "p99": 991, "p999": 1000, "most": 1000000}"#);
    }

    #[test]
    fn a_direction() {
        let (delay, hold) = (Duration::ZERO, Duration::ZERO);
        let settings = LinkSettings { rate: 8_000, delay, queue: 9, loss: 0.0, reorder: 0.0, hold, seed: 1 };
        let mut report = DirectionReport::new(&settings);
        let at = Duration::from_secs;
        report.taken(at(10), 1_000, Fate::Deliver { leaves: at(11), arrives: at(12) }, 1_000);
        report.taken(at(10), 1_000, Fate::Lose { leaves: at(12) }, 2_000);
        report.taken(at(10), 1_000, Fate::Drop, 2_000);
        let text = report.json();
        for part in [
            r#""packets": 2, "bytes": 2000, "dropped": 1, "lost": 1, "held": 0"#,
            r#""most_waiting": 2000, "lasted_s": 2.000000"#,
            r#""achieved_rate": 8000"#,
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
