//! Which server is asked.

use std::sync::Arc;

use serow_message::Request;
use serow_net::Moment;

use crate::server::Server;

/// How requests are shared out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// In turns, in proportion to the weights.
    #[default]
    RoundRobin,
    /// The one with the fewest requests under way, in proportion to the weights.
    LeastRequests,
    /// The better of two chosen at random: by measured latency and requests under way.
    Latency,
    /// The same one for the same value of a request, as long as it is there.
    Hash(HashKey),
}

/// What of a request decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HashKey {
    /// The client's address, without its port.
    #[default]
    Client,
    /// The path, without the query.
    Path,
    /// The path with the query.
    Target,
    /// The host.
    Host,
    /// A header field.
    Header(String),
    /// A cookie.
    Cookie(String),
    /// A parameter of the query.
    Query(String),
}

/// A server that may be asked now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// Its place among all servers of the upstream.
    pub(crate) place: usize,
    pub(crate) server: &'a Server,
    /// Its share now: [`WEIGHT_UNIT`] for each of its weight, less while it starts slowly.
    pub(crate) weight: u32,
}

/// What a weight of 1 is, so that a server that starts slowly can have a part of it.
pub(crate) const WEIGHT_UNIT: u32 = 256;

/// A thread's share of an upstream's balancing.
#[derive(Debug)]
pub(crate) struct Balancer {
    next: usize,
}

impl Balancer {
    /// For these servers. The seed differs between threads, so that not all begin with the same server.
    pub(crate) fn new(_balancing: &Balancing, _servers: &[Arc<Server>], seed: u64) -> Self {
        Self { next: seed as usize }
    }

    /// Which of the candidates is asked; they are in the order of their places. `None` where there is none.
    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>], _key: u64, _now: Moment) -> Option<usize> {
        self.next = self.next.wrapping_add(1);
        self.next.checked_rem(candidates.len())
    }
}

impl HashKey {
    /// The value of a request as a number.
    pub(crate) fn of(&self, _request: &Request) -> u64 {
        0
    }
}
