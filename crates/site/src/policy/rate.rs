//! How fast responses are sent.

use std::{num::NonZeroU64, time::Duration};

use serow_message::{Body, Response};

use super::{Asked, rated_body::RatedBody};

/// The bandwidth of each response. It keeps one client from taking all of a link; pieces are held back before they are
/// scheduled, so other responses of the connection, and their priorities, do not notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Bytes of a body in a second.
    pub per_second: NonZeroU64,
    /// Bytes at the beginning of each body that are sent without a limit.
    pub after: u64,
}

impl Rate {
    /// Has a response sent no faster.
    pub(super) fn apply(self, asked: &Asked, response: &mut Response) {
        if !asked.is_head && !asked.is_tunnel {
            self.limit(response);
        }
    }

    /// Has a response with a body sent no faster.
    pub(crate) fn limit(self, response: &mut Response) {
        if response.body.length().is_none_or(|length| length > self.after) {
            let body = std::mem::take(&mut response.body);
            response.body = Body::stream(RatedBody::new(body, self));
        }
    }
}

/// How much of a body may be sent by now. Times are those since the body was first asked for.
#[derive(Debug)]
pub(super) struct Allowance {
    rate: u64,
    /// Bytes that may be sent at once.
    free: u64,
    /// When the bytes sent so far are paid for.
    due: Duration,
}

impl Allowance {
    pub(super) fn new(rate: Rate) -> Self {
        Self { rate: rate.per_second.get(), free: rate.after, due: Duration::ZERO }
    }

    /// How many of so many bytes may be sent now; if none, when to ask again.
    pub(super) fn bytes(&mut self, now: Duration, wanted: usize) -> Result<usize, Duration> {
        if self.free > 0 {
            // The time of the others begins with the last of these.
            self.due = now;
            return Ok(usize::try_from(self.free).unwrap_or(usize::MAX).min(wanted));
        }
        // A response that is shorter than a step does not wait at all.
        let now = now + STEP;
        let step = self.in_time(STEP).max(1).min(wanted as u64);
        let max_credit = MAX_CREDIT + self.time_of(step);
        self.due = self.due.max(now.saturating_sub(max_credit));
        let allowed = self.in_time(now.saturating_sub(self.due));
        if allowed < step {
            return Err((self.due + self.time_of(step)).saturating_sub(STEP));
        }
        Ok(usize::try_from(allowed).unwrap_or(usize::MAX).min(wanted))
    }

    /// So many bytes are sent.
    pub(super) fn spend(&mut self, bytes: usize) {
        let bytes = bytes as u64;
        let free = self.free.min(bytes);
        self.free -= free;
        self.due += self.time_of(bytes - free);
    }

    /// The bytes that a span of time is worth.
    fn in_time(&self, span: Duration) -> u64 {
        u64::try_from(u128::from(self.rate) * span.as_nanos() / NANOSECONDS).unwrap_or(u64::MAX)
    }

    /// The time that so many bytes take, rounded up: what is due then can be sent.
    fn time_of(&self, bytes: u64) -> Duration {
        let nanoseconds = (u128::from(bytes) * NANOSECONDS).div_ceil(u128::from(self.rate));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

const NANOSECONDS: u128 = 1_000_000_000;

/// The time that is sent for at once: short enough that the flow is even, long enough that a slow response costs few
/// timers and packets.
const STEP: Duration = Duration::from_millis(25);

/// The time that can be made up for, if the client or this thread was slow for a while: more would be a burst far above
/// the rate.
const MAX_CREDIT: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_second: u64, after: u64) -> Allowance {
        Allowance::new(Rate { per_second: per_second.try_into().unwrap(), after })
    }

    /// The bytes that are sent in this time to a client that takes all at once, by timers that are late by `late`.
    fn sent(mut allowance: Allowance, time: Duration, late: Duration) -> u64 {
        let (mut now, mut sent) = (Duration::ZERO, 0);
        while now <= time {
            match allowance.bytes(now, 64 * 1024) {
                Ok(bytes) => {
                    allowance.spend(bytes);
                    sent += bytes as u64;
                }
                Err(next) => {
                    assert!(next > now, "{next:?}");
                    now = next + late;
                }
            }
        }
        sent
    }

    #[test]
    fn bytes_in_two_seconds_are_those_of_the_rate() {
        for late in [0, 1, 5, 200].map(Duration::from_millis) {
            for per_second in [10, 1_000, 64 * 1024, 1_000_000, 100_000_000] {
                let expected = 2 * per_second;
                let got = sent(rate(per_second, 0), Duration::from_secs(2), late);
                // The last timer may have been late.
                let lost = expected / 50 + per_second * u64::try_from(late.as_millis()).unwrap() / 1000 + 1;
                assert!(
                    (expected - lost..=expected + expected / 50 + 1).contains(&got),
                    "{per_second} {late:?}: {got}"
                );
            }
        }
    }

    #[test]
    fn the_first_bytes_are_free() {
        let mut allowance = rate(1_000, 100_000);
        assert_eq!(allowance.bytes(Duration::ZERO, 64_000), Ok(64_000));
        allowance.spend(64_000);
        let later = Duration::from_secs(5);
        assert_eq!(allowance.bytes(later, 64_000), Ok(36_000));
        allowance.spend(36_000);
        assert_eq!(allowance.bytes(later, 64_000), Ok(25));
        allowance.spend(25);
        assert_eq!(allowance.bytes(later, 64_000), Err(later + STEP));
    }

    #[test]
    fn a_pause_is_made_up_for_by_a_short_burst_only() {
        let mut allowance = rate(1_000, 0);
        assert_eq!(allowance.bytes(Duration::from_secs(60), 64_000), Ok(275));
    }

    #[test]
    fn a_byte_in_a_second_is_possible() {
        // Longer than the time that can be made up for.
        let mut allowance = rate(1, 0);
        for second in 1..5 {
            let due = Duration::from_secs(second) - STEP;
            assert_eq!(allowance.bytes(due - Duration::from_millis(1), 10), Err(due));
            assert_eq!(allowance.bytes(due, 10), Ok(1));
            allowance.spend(1);
        }
    }
}
