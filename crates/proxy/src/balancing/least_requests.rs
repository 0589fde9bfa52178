//! The server with the fewest requests in flight.

use std::{cmp::Ordering, sync::Arc};

use super::{Candidate, round_robin::RoundRobin};
use crate::server::Server;

/// The server with the fewest requests in flight, in proportion to the weights; ties take turns.
#[derive(Debug)]
pub(crate) struct LeastRequests {
    turns: RoundRobin,
}

impl LeastRequests {
    pub(crate) fn new(servers: &[Arc<Server>], seed: u64) -> Self {
        Self { turns: RoundRobin::new(servers, seed) }
    }

    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>]) -> Option<usize> {
        let (chosen, least) = candidates
            .iter()
            .enumerate()
            .map(|(index, candidate)| (index, candidate.load()))
            .min_by(|one, other| one.1.compare(other.1))?;
        // Other threads change the numbers at any time: those looked at now need not be those of a moment ago.
        let ties = candidates.iter().filter(|candidate| candidate.load().compare(least) != Ordering::Greater);
        let place = self.turns.turn(ties.map(|candidate| (candidate.place, candidate.weight)));
        place.and_then(|place| candidates.iter().position(|candidate| candidate.place == place)).or(Some(chosen))
    }
}
