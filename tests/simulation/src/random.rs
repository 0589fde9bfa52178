//! Random choices that a seed repeats.

use std::time::Duration;

/// Random choices (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// So many milliseconds, the last one included.
    pub(crate) fn milliseconds(&mut self, first: u64, last: u64) -> Duration {
        Duration::from_millis(first + self.next() % (last - first + 1))
    }

    /// A length: often none or a few bytes, sometimes many.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        match self.below(8) {
            0 => 0,
            1..4 => self.below(64),
            4..7 => self.below(5_000),
            _ => self.below(most),
        }
    }
}
