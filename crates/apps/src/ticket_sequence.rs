//! Numbers of requests that workers cannot foresee: what one says of a number that was not given to it yet, by mistake or in a
//! process that it has left behind, would otherwise answer the request that gets it.

use std::{collections::hash_map::RandomState, hash::BuildHasher};

use crate::pool::Ticket;

/// A secret permutation of all numbers: what it makes of a count repeats only when the count does, after four thousand million.
#[derive(Debug)]
pub(crate) struct TicketSequence {
    keys: [u32; ROUNDS],
}

impl TicketSequence {
    /// Another one each time.
    pub(crate) fn random() -> Self {
        let random = RandomState::new();
        Self { keys: std::array::from_fn(|round| random.hash_one(round) as u32) }
    }

    /// The number that is given as the so-manieth.
    pub(crate) fn ticket(&self, count: u64) -> Ticket {
        // Each step can be undone (xor, an odd factor, xorshift), so no two counts become the same number.
        self.keys.iter().fold(count as u32, |number, key| {
            let mixed = (number ^ key).wrapping_mul(FACTOR);
            mixed ^ (mixed >> 15)
        })
    }
}

/// Enough that numbers that follow each other have nothing in common.
const ROUNDS: usize = 3;

/// Odd, with as many ones as zeros: lowbias32's, found by search for how well it mixes.
const FACTOR: u32 = 0x7feb_352d;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_number_repeats_and_none_tells_the_next() {
        let numbering = TicketSequence::random();
        let numbers: Vec<_> = (0..100_000).map(|count| numbering.ticket(count)).collect();
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), numbers.len());
        let steps: HashSet<_> = numbers.windows(2).map(|pair| pair[1].wrapping_sub(pair[0])).collect();
        assert!(steps.len() > 90_000, "{}", steps.len());
        assert_ne!(TicketSequence::random().ticket(0), TicketSequence::random().ticket(0));
    }
}
