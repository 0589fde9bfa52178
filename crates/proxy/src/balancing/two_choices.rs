//! The better of two servers chosen at random.

use serow_net::Moment;

use super::{Candidate, Load, random::Random};

/// The better of two servers chosen at random (Mitzenmacher 2001), by the cost of one more request: latency × requests,
/// that one included, in proportion to the weight. Two are enough to avoid slow servers, and few enough that threads
/// and proxies with the same knowledge do not all choose the same server.
///
/// A server that was never measured costs nothing while it is idle and is the last choice once it has a request: it is
/// tried at once, by one request.
#[derive(Debug)]
pub(crate) struct TwoChoices {
    random: Random,
}

impl TwoChoices {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed) }
    }

    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>], now: Moment) -> Option<usize> {
        let one = self.random.below(candidates.len());
        let mut other = self.random.below(candidates.len().saturating_sub(1));
        if other >= one {
            other += 1;
        }
        let (Some(first), Some(second)) = (candidates.get(one), candidates.get(other)) else {
            return candidates.first().map(|_| 0);
        };
        Some(if second.cost(now).compare(first.cost(now)).is_lt() { other } else { one })
    }
}

impl Candidate<'_> {
    /// The cost of one more request.
    fn cost(&self, now: Moment) -> Load {
        let active = self.server.active();
        let latency = match (self.server.load.latency.microseconds(now), active) {
            (0, 0) => 0,
            (0, _) => UNKNOWN,
            (known, _) => known.min(UNKNOWN),
        };
        Load { cost: latency.saturating_mul(u64::from(active) + 1), share: self.share() }
    }
}

/// More than any latency that is measured: 71 minutes, in microseconds.
const UNKNOWN: u64 = u32::MAX as u64;
