//! How hard each coding tries.

use std::ops::RangeInclusive;

use crate::Coding;

/// The level of each coding: higher ones take longer for smaller results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Of brotli, 1 to 9. Default: 4, the highest that compresses faster than common lines carry, and what Cloudflare
    /// chose for content made on the fly.
    pub brotli: u32,
    /// Of Zstandard, 1 to 12. Default: 3, its own.
    pub zstd: u32,
    /// Of gzip, 1 to 9. Default: 6, zlib's own.
    pub gzip: u32,
}

impl Levels {
    /// The levels that a coding has here. Beyond them, a piece of 64 KiB takes ten milliseconds and more, in which the
    /// thread answers nobody else; brotli's 10 and 11, and zstd's 13 to 22, are made for compressing beforehand.
    #[must_use]
    pub const fn range(coding: Coding) -> RangeInclusive<u32> {
        match coding {
            Coding::Brotli | Coding::Gzip => 1..=9,
            Coding::Zstd => 1..=12,
        }
    }

    /// That of a coding, brought into its range.
    #[must_use]
    pub fn of(&self, coding: Coding) -> u32 {
        let level = match coding {
            Coding::Brotli => self.brotli,
            Coding::Zstd => self.zstd,
            Coding::Gzip => self.gzip,
        };
        let range = Self::range(coding);
        level.clamp(*range.start(), *range.end())
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self { brotli: 4, zstd: 3, gzip: 6 }
    }
}
