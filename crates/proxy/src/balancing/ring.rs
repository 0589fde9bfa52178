//! The same server for the same value: consistent hashing with Tengine's points, and bounded loads.

use std::sync::Arc;

use serow_variables::murmur2;

use super::{Candidate, hash_key::NO_KEY, random::Random};
use crate::server::Server;

/// Servers have points on a ring; a request goes to the server of the first point at or after its own position. The
/// points are those of Tengine's `consistent_hash`, so that a migration from Tengine keeps the servers' caches warm.
///
/// Two things differ. If that server is not available, the next available point in the same direction decides
/// (Tengine's search for the nearest goes backwards at the beginning of the ring). And a server that has far more than
/// its share of the requests in flight is skipped (Mirrokni, Thorup and Zadimoghaddam 2018), so that a popular key does
/// not overload its server.
#[derive(Debug)]
pub(crate) struct Ring {
    /// In the order of their hashes.
    points: Vec<Point>,
    random: Random,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    hash: u32,
    /// The server's, among all of the upstream.
    place: u32,
}

impl Ring {
    /// With the weights that the servers have now; a server without weight has no point.
    pub(crate) fn new(servers: &[Arc<Server>], seed: u64) -> Self {
        let mut points = Vec::new();
        for (place, server) in (0..).zip(servers) {
            let identity = identity(server);
            let count = (u32::from(server.weight()) * POINTS).min(MAX_POINTS);
            let hash = |number: u32| murmur2(&identity.wrapping_mul(STRIDE).wrapping_add(number).to_le_bytes());
            points.extend((0..count).map(|number| Point { hash: hash(number), place }));
        }
        // Stable: a point that two servers share belongs to the first.
        points.sort_by_key(|point| point.hash);
        Self { points, random: Random::new(seed) }
    }

    /// Requests without a key go anywhere, in proportion to the weights.
    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>], key: u64) -> Option<usize> {
        let hash = if key == NO_KEY { self.random.next() } else { key } as u32;
        let start = self.points.partition_point(|point| point.hash < hash);
        let (before, behind) = self.points.split_at(start);
        let mut shares = None;
        for point in behind.iter().chain(before) {
            let Ok(index) = candidates.binary_search_by_key(&(point.place as usize), |candidate| candidate.place)
            else {
                continue;
            };
            let candidate = candidates.get(index)?;
            let active = candidate.server.active();
            if active < FEW || shares.get_or_insert_with(|| Shares::of(candidates)).has_room(candidate, active) {
                return Some(index);
            }
        }
        let load = |index: &usize| candidates.get(*index).map(Candidate::load);
        (0..candidates.len()).min_by(|one, other| match (load(one), load(other)) {
            (Some(one), Some(other)) => one.compare(other),
            _ => std::cmp::Ordering::Equal,
        })
    }
}

/// The load and the weights of all candidates together.
#[derive(Clone, Copy, Debug)]
struct Shares {
    /// Requests in flight, including the new one.
    active: u64,
    weights: u64,
}

impl Shares {
    fn of(candidates: &[Candidate<'_>]) -> Self {
        let active = 1 + candidates.iter().map(|candidate| u64::from(candidate.server.active())).sum::<u64>();
        Self { active, weights: candidates.iter().map(Candidate::share).sum() }
    }

    /// Whether a request more is within the bound: 5/4 of the candidate's share, rounded up. All together may have more
    /// than there is, so one of them has room.
    fn has_room(self, candidate: &Candidate<'_>, active: u32) -> bool {
        let bound = u128::from(self.active) * u128::from(candidate.share()) * 5;
        u128::from(active) * u128::from(self.weights) * 4 < bound
    }
}

/// The basis of a server's points: its id if that is a number of 16 bits, else the hash of its name.
fn identity(server: &Server) -> u32 {
    let id = server.settings().id.as_deref().filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()));
    let number = id.and_then(|id| id.parse::<u16>().ok());
    number.map_or_else(|| murmur2(server.name().as_bytes()), u32::from)
}

/// Points for each of a server's weight: Tengine's number.
const POINTS: u32 = 160;

/// Points of one server at most: Tengine's limit.
const MAX_POINTS: u32 = 1 << 14;

/// How far apart the numbers are that the points of servers with neighbouring ids are made of: Tengine's 256 × 16.
const STRIDE: u32 = 256 * 16;

/// Requests that a server may always have: browsers open six connections to a host, and none of them is to end up
/// elsewhere because nobody else is there.
const FEW: u32 = 8;
