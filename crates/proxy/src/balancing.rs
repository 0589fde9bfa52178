//! Load balancing: which server gets a request.

mod hash_key;
mod least_requests;
mod random;
mod ring;
mod round_robin;
mod two_choices;

use std::sync::Arc;

use serow_net::Moment;

use self::{least_requests::LeastRequests, ring::Ring, round_robin::RoundRobin, two_choices::TwoChoices};
use crate::{server::Server, settings::Balancing};

/// A server that may get the request now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// Its place among all servers of the upstream.
    pub(crate) place: usize,
    pub(crate) server: &'a Server,
    /// Its share now: [`WEIGHT_UNIT`] for each of its weight, less while it starts slowly.
    pub(crate) weight: u32,
}

/// The unit of weights, so that a server in slow start can have a fraction of 1.
pub(crate) const WEIGHT_UNIT: u32 = 256;

/// A thread's share of an upstream's balancing.
#[derive(Debug)]
pub(crate) enum Balancer {
    RoundRobin(RoundRobin),
    LeastRequests(LeastRequests),
    Latency(TwoChoices),
    Hash(Ring),
}

impl Balancer {
    /// For these servers. The seed differs between threads, so that not all begin with the same server.
    pub(crate) fn new(balancing: &Balancing, servers: &[Arc<Server>], seed: u64) -> Self {
        match balancing {
            Balancing::RoundRobin => Self::RoundRobin(RoundRobin::new(servers, seed)),
            Balancing::LeastRequests => Self::LeastRequests(LeastRequests::new(servers, seed)),
            Balancing::Latency => Self::Latency(TwoChoices::new(seed)),
            Balancing::Hash(_) => Self::Hash(Ring::new(servers, seed)),
        }
    }

    /// The index of the chosen candidate; candidates are sorted by place. `None` if there are none.
    ///
    /// The key is the result of [`HashKey::of`](crate::HashKey::of). A candidate without weight counts as one with the
    /// smallest weight: servers that must not be used are not candidates.
    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>], key: u64, now: Moment) -> Option<usize> {
        match (self, candidates.len()) {
            (_, 0) => None,
            (_, 1) => Some(0),
            (Self::RoundRobin(turns), _) => turns.choose(candidates),
            (Self::LeastRequests(least), _) => least.choose(candidates),
            (Self::Latency(choices), _) => choices.choose(candidates, now),
            (Self::Hash(ring), _) => ring.choose(candidates, key),
        }
    }
}

impl Candidate<'_> {
    /// Its share as a number to divide by.
    fn share(&self) -> u64 {
        u64::from(self.weight.max(1))
    }

    /// Requests that it has for each of its weight, as a number to compare with another's.
    fn load(&self) -> Load {
        Load { cost: u64::from(self.server.active()), share: self.share() }
    }
}

/// The cost of a request at a server, in proportion to its share. Compared exactly, without a division.
#[derive(Clone, Copy, Debug)]
struct Load {
    cost: u64,
    share: u64,
}

impl Load {
    fn compare(self, other: Self) -> std::cmp::Ordering {
        let product = |cost: u64, share: u64| u128::from(cost) * u128::from(share);
        product(self.cost, other.share).cmp(&product(other.cost, self.share))
    }
}

#[cfg(test)]
mod tests;
