//! Budgets of useless work that a peer may cause before the connection ends with ENHANCE_YOUR_CALM, in HTTP/3
//! H3_EXCESSIVE_LOAD.

use core::time::Duration;

/// A count that is spent by the peer and fills up with time.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    left: u32,
    most: u32,
    each_second: u32,
    since: Duration,
}

impl Budget {
    /// A full one of `most`, which gets `each_second` more per second.
    #[must_use]
    pub const fn new(most: u32, each_second: u32, now: Duration) -> Self {
        Self { left: most, most, each_second, since: now }
    }

    /// Spends; says whether there was enough.
    #[must_use]
    pub fn spend(&mut self, now: Duration) -> bool {
        if self.left == 0 {
            self.fill(now);
        }
        let enough = self.left > 0;
        self.left = self.left.saturating_sub(1);
        enough
    }

    /// Something useful was done.
    #[inline]
    pub fn earn(&mut self, amount: u32) {
        self.left = self.left.saturating_add(amount).min(self.most);
    }

    #[cold]
    fn fill(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.since).as_millis();
        let earned = passed.saturating_mul(u128::from(self.each_second)) / 1000;
        if earned > 0 {
            self.left = u32::try_from(earned).unwrap_or(u32::MAX).min(self.most);
            self.since = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_with_time_and_earnings_and_never_above_its_most() {
        let second = Duration::from_secs(1);
        let mut budget = Budget::new(2, 10, second);
        assert!(budget.spend(second) && budget.spend(second) && !budget.spend(second));
        assert!(!budget.spend(second + Duration::from_millis(99)));
        assert!(budget.spend(second + Duration::from_millis(100)));
        budget.earn(100);
        let later = second * 100;
        assert!(budget.spend(later) && budget.spend(later) && budget.spend(later) && budget.spend(later));
        assert!(!budget.spend(later));
    }
}
