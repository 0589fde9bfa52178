//! In turns, in proportion to the weights, and without runs: nginx's smooth weighted round robin.

use std::sync::Arc;

use super::Candidate;
use crate::server::Server;

/// Whose turn it is. Each turn, every candidate earns its weight; the richest is chosen, and pays what all have earned. With the
/// weights 5, 1 and 1 that gives a a b a c a a.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    /// What each server has, by its place.
    credits: Vec<i64>,
}

impl RoundRobin {
    /// For these servers. The seed says how many turns are thought to be over.
    pub(crate) fn new(servers: &[Arc<Server>], seed: u64) -> Self {
        let mut turns = Self { credits: vec![0; servers.len()] };
        let weights = || servers.iter().map(|server| u32::from(server.weight())).enumerate();
        let round: u64 = weights().map(|(_, weight)| u64::from(weight)).sum();
        for _ in 0..seed.checked_rem(round.min(MAX_TURNS)).unwrap_or(0) {
            turns.turn(weights());
        }
        turns
    }

    /// Whose turn it is among all candidates.
    pub(crate) fn choose(&mut self, candidates: &[Candidate<'_>]) -> Option<usize> {
        let chosen = self.turn(candidates.iter().map(|candidate| (candidate.place, candidate.weight)))?;
        candidates.iter().position(|candidate| candidate.place == chosen)
    }

    /// Whose turn it is among places with their weights: its place.
    pub(crate) fn turn(&mut self, shares: impl Iterator<Item = (usize, u32)> + Clone) -> Option<usize> {
        let round: i64 = shares.clone().map(|(_, weight)| earnings(weight)).sum();
        let mut richest: Option<(usize, i64)> = None;
        for (place, weight) in shares {
            if place >= self.credits.len() {
                self.credits.resize(place + 1, 0);
            }
            // Nobody gets further than a round from the others by taking turns. Who is further has been away, or others
            // have, or weights were changed; what is left of that time must not become a run of turns.
            let credit = self.credits[place].clamp(-round, round) + earnings(weight);
            self.credits[place] = credit;
            if richest.is_none_or(|(_, most)| credit > most) {
                richest = Some((place, credit));
            }
        }
        let (place, credit) = richest?;
        self.credits[place] = credit - round;
        Some(place)
    }
}

fn earnings(weight: u32) -> i64 {
    i64::from(weight.max(1))
}

/// How many turns are thought to be over at most. It only has to tell threads apart.
const MAX_TURNS: u64 = 1000;
