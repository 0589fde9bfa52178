//! In turns, in proportion to the weights, and without runs: nginx's smooth weighted round robin.

use std::sync::Arc;

use super::Candidate;
use crate::server::Server;

/// Smooth weighted round robin. In each turn, every candidate earns its weight as credit; the one with the most credit
/// is chosen and pays the sum of all weights. The weights 5, 1 and 1 give a a b a c a a.
#[derive(Debug)]
pub(crate) struct RoundRobin {
    /// The credit of each server, by its place.
    credits: Vec<i64>,
}

impl RoundRobin {
    /// For these servers. The seed sets how many turns are skipped.
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
            // By taking turns alone, no server is more than one round ahead. A larger difference stems from servers
            // that were absent or from changed weights, and must not turn into a run of turns.
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

/// The maximum of skipped turns. It only has to tell threads apart.
const MAX_TURNS: u64 = 1000;
