//! The algorithm: what happens to a request of one key.

use std::time::Duration;

use crate::{Rate, Weight};

/// How many requests of a key are allowed: at a rate, and so many more at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    rate: Rate,
    burst: u32,
    delay: Delay,
}

/// The treatment of requests of a burst, which come earlier than the rate allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delay {
    /// They are served at once (nginx's `nodelay`).
    #[default]
    Never,
    /// So many are served at once; the others wait until the rate allows them (nginx's `delay=`, and 0 without it).
    After(u32),
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is served.
    Allowed {
        /// How long it waits before.
        wait: Duration,
        /// How many more would be served now.
        remaining: u32,
        /// The time until the key has all of its burst again.
        reset: Duration,
    },
    /// It is refused, and does not count.
    Refused {
        /// A request that comes so much later is served.
        retry_after: Duration,
    },
}

impl Decision {
    /// Whether the request is served.
    #[must_use]
    pub fn is_allowed(self) -> bool {
        matches!(self, Self::Allowed { .. })
    }
}

impl Limit {
    /// A limit at this rate, without a burst.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self { rate, burst: 0, delay: Delay::Never }
    }

    /// The same, with so many requests more that may come at once.
    #[must_use]
    pub fn with_burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }

    /// The same, with requests of the burst that wait.
    #[must_use]
    pub fn with_delay(self, delay: Delay) -> Self {
        Self { delay, ..self }
    }

    /// The rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// How many requests may come at once besides the first.
    #[must_use]
    pub fn burst(&self) -> u32 {
        self.burst
    }

    /// Decides about a request of a key that counts as `cost` requests, at the time `now`. `end` is the time at which
    /// the key's requests so far would have ended at the rate: 0 for none. Returns the new end, too.
    #[must_use]
    pub fn decide(&self, end: u64, cost: u32, now: u64) -> (u64, Decision) {
        let interval = self.rate.interval();
        self.decide_within(self.capacity(), interval, end, interval.saturating_mul(u64::from(cost)), now)
    }

    /// The same, where each request stands for `weight` of them: for one of several servers that share the limit, which
    /// expects that the others serve as many for each of its own. A single request is always served when the earlier ones
    /// have ended, however much it weighs.
    #[must_use]
    pub fn decide_for_others(&self, end: u64, cost: u32, weight: Weight, now: u64) -> (u64, Decision) {
        let interval = weight.of(self.rate.interval());
        self.decide_within(self.capacity().max(interval), interval, end, interval.saturating_mul(u64::from(cost)), now)
    }

    /// How far ahead of the present a key's requests may end: the time of one request and of the burst.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.rate.interval().saturating_mul(u64::from(self.burst).saturating_add(1))
    }

    #[inline]
    fn decide_within(&self, most: u64, interval: u64, end: u64, time: u64, now: u64) -> (u64, Decision) {
        let new_end = end.max(now).saturating_add(time);
        let used = new_end - now;
        if used > most {
            return (end, Decision::Refused { retry_after: Duration::from_nanos(used - most) });
        }
        let left = (most - used) / interval;
        let wait = match self.delay {
            Delay::Never => 0,
            // A request that comes at the rate has used one interval.
            Delay::After(count) => used.saturating_sub(interval.saturating_mul(u64::from(count).saturating_add(1))),
        };
        let decision = Decision::Allowed {
            wait: Duration::from_nanos(wait),
            remaining: u32::try_from(left).unwrap_or(u32::MAX),
            reset: Duration::from_nanos(used),
        };
        (new_end, decision)
    }

    /// The end after `cost` more requests were counted that are not decided about, or fewer if it is negative. A key
    /// that owes more than its burst is refused until it has waited.
    #[must_use]
    pub fn charge(&self, end: u64, cost: i32, now: u64) -> u64 {
        let time = self.rate.interval().saturating_mul(u64::from(cost.unsigned_abs()));
        let most = self.rate.interval().saturating_mul(u64::from(self.burst).saturating_add(1)).saturating_mul(2);
        match cost {
            0.. => end.max(now).saturating_add(time).min(now.saturating_add(most).max(end)),
            _ => end.saturating_sub(time),
        }
    }
}

#[cfg(test)]
mod tests;
