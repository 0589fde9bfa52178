//! Sampling: a line for one request of several.

use std::{
    cell::Cell,
    hash::{BuildHasher, Hasher, RandomState},
    num::NonZeroU32,
    ops::RangeInclusive,
};

/// Lines for some of the requests only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Of so many requests, one has a line.
    pub one_of: NonZeroU32,
    /// Statuses whose requests always have a line, and are not counted.
    pub always: Vec<RangeInclusive<u16>>,
}

/// Which request of each group has a line: one worker's count.
///
/// The place within the group is random, so that requests that alternate, as those of a health check, are all seen.
#[derive(Debug)]
pub(super) struct Sampler {
    one_of: NonZeroU32,
    place: Cell<u32>,
    chosen: Cell<u32>,
    random: Cell<u64>,
}

impl Sampler {
    pub(super) fn new(one_of: NonZeroU32) -> Self {
        // Never 0, of which xorshift makes nothing else.
        let seed = RandomState::new().build_hasher().finish() | 1;
        Self { one_of, place: Cell::new(0), chosen: Cell::new(0), random: Cell::new(seed) }
    }

    /// Whether the next request has a line.
    pub(super) fn takes(&self) -> bool {
        let place = self.place.get();
        if place == 0 {
            self.chosen.set(self.choose());
        }
        self.place.set((place + 1) % self.one_of);
        place == self.chosen.get()
    }

    /// A place within a group (Marsaglia's xorshift, which nobody has to guard).
    fn choose(&self) -> u32 {
        let mut random = self.random.get();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        self.random.set(random);
        (random >> 32) as u32 % self.one_of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_of_each_group_is_taken() {
        for one_of in [1, 2, 7, 100] {
            let sampler = Sampler::new(NonZeroU32::new(one_of).unwrap());
            let mut places = vec![0; one_of as usize];
            for _ in 0..1000 {
                let taken: Vec<_> = (0..one_of).map(|_| sampler.takes()).collect();
                assert_eq!(taken.iter().filter(|is_taken| **is_taken).count(), 1);
                places[taken.iter().position(|is_taken| *is_taken).unwrap()] += 1;
            }
            assert!(places.iter().filter(|count| **count > 0).count() * 10 >= places.len() * 9, "{places:?}");
        }
    }
}
