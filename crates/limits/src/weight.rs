//! How many requests one stands for, where several servers share a limit.

/// How many requests of a fleet one request of this server stands for: 1 and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(
    /// In parts of [`ONE`].
    u32,
);

impl Weight {
    /// It stands for itself.
    pub const ONE: Self = Self(ONE);

    /// The greatest: no fleet is larger, and nothing that another server writes makes a limit stricter than this.
    pub const MAX: Self = Self(1000 * ONE);

    /// `whole` for each of `part`: 10 requests of all for 4 of this server are 2.5. At least 1, at most [`Weight::MAX`].
    #[must_use]
    pub fn ratio(whole: u32, part: u32) -> Self {
        let parts = u64::from(whole) * u64::from(ONE) / u64::from(part.max(1));
        Self(u32::try_from(parts).unwrap_or(u32::MAX).clamp(ONE, Self::MAX.0))
    }

    /// Between this one and another, nearer to this one: a single odd observation changes little.
    #[must_use]
    pub fn approach(self, other: Self) -> Self {
        // At most 2^18 each.
        Self((self.0 * 3 + other.0) / 4)
    }

    /// A number for it, for tables whose memory is zero at first.
    #[must_use]
    pub fn to_bits(self) -> u32 {
        self.0 - ONE
    }

    /// The weight of such a number.
    #[must_use]
    pub fn from_bits(bits: u32) -> Self {
        Self(bits.saturating_add(ONE).min(Self::MAX.0))
    }

    /// So many times an interval in nanoseconds.
    #[must_use]
    pub fn of(self, interval: u64) -> u64 {
        let weighed = u128::from(interval) * u128::from(self.0) / u128::from(ONE);
        u64::try_from(weighed).unwrap_or(u64::MAX)
    }
}

/// A fleet shares a limit exactly enough with steps of 0.4 %.
const ONE: u32 = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_bounded_and_weigh_intervals() {
        for (whole, part, expected) in [
            (10, 4, 2500),
            (4, 4, 1000),
            (1, 4, 1000),
            (0, 0, 1000),
            (10, 0, 10_000),
            (u32::MAX, 1, 1_000_000),
            (u32::MAX, u32::MAX, 1000),
        ] {
            assert_eq!(Weight::ratio(whole, part).of(1000), expected, "{whole} {part}");
        }
        assert_eq!(Weight::MAX.of(u64::MAX), u64::MAX);
        assert_eq!(Weight::MAX.approach(Weight::MAX), Weight::MAX);
        assert_eq!([0, u32::MAX].map(Weight::from_bits), [Weight::ONE, Weight::MAX]);
        assert_eq!(Weight::from_bits(Weight::ratio(7, 2).to_bits()), Weight::ratio(7, 2));
        assert_eq!(Weight::ONE.approach(Weight::ratio(5, 1)).of(1000), 2000);
    }
}
