//! The rule of the scheduler once more, over a list that is searched from end to end. The fuzz target uses it too.

use serow_streams::{
    StreamId,
    scheduler::{Claim, TUNNEL_SHARE, TURN},
};

/// The same calls as those of the scheduler.
#[derive(Debug, Default)]
pub(crate) struct Model {
    inside: Vec<(StreamId, Claim)>,
    levels: [Level; 8],
    tunnels: Ring,
    owed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    ring: Ring,
    ahead: i64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    current: StreamId,
    left: u64,
    end: StreamId,
}

/// Of a frame.
const HEADER: u64 = 9;

impl Model {
    pub(crate) fn insert(&mut self, stream: StreamId, claim: Claim) {
        if !self.contains(stream, claim) {
            self.inside.push((stream, claim));
        }
    }

    pub(crate) fn remove(&mut self, stream: StreamId, claim: Claim) -> bool {
        let before = self.inside.len();
        self.inside.retain(|&entry| entry != (stream, claim));
        self.inside.len() < before
    }

    pub(crate) fn reprioritise(&mut self, stream: StreamId, from: Claim, to: Claim) -> bool {
        let found = self.remove(stream, from);
        if found {
            self.insert(stream, to);
        }
        found
    }

    pub(crate) fn len(&self) -> usize {
        self.inside.len()
    }

    pub(crate) fn inside(&self) -> &[(StreamId, Claim)] {
        &self.inside
    }

    pub(crate) fn contains(&self, stream: StreamId, claim: Claim) -> bool {
        self.inside.contains(&(stream, claim))
    }

    pub(crate) fn next(&self) -> Option<StreamId> {
        let urgency = self.inside.iter().map(|&(_, claim)| urgency(claim)).min()?;
        let tunnels = self.streams(|claim| claim.tunnel);
        if !tunnels.is_empty() && self.owed >= u64::from((TUNNEL_SHARE - 1) * TURN) {
            return Some(self.tunnels.next(&tunnels));
        }
        let level = &self.levels[urgency];
        let in_a_row = self.streams(|claim| self::urgency(claim) == urgency && !takes_turns(claim));
        let in_turns = self.streams(|claim| self::urgency(claim) == urgency && takes_turns(claim));
        match in_a_row.first() {
            Some(&first) if in_turns.is_empty() || level.ahead <= 0 => Some(first),
            _ => Some(level.ring.next(&in_turns)),
        }
    }

    pub(crate) fn note_served(&mut self, stream: StreamId, claim: Claim, bytes: usize) {
        let bytes = bytes as u64 + HEADER;
        let tunnels = self.streams(|claim| claim.tunnel);
        let price = u64::from((TUNNEL_SHARE - 1) * TURN);
        if claim.tunnel {
            self.owed = self.owed.saturating_sub(bytes * u64::from(TUNNEL_SHARE - 1));
        } else {
            self.owed = (self.owed + bytes).min(price);
        }
        // One that is alone has no turns.
        if self.inside.len() == 1 && tunnels.is_empty() {
            return;
        }
        if claim.tunnel {
            self.tunnels.note(&tunnels, stream, bytes);
        }
        let same = |other| urgency(other) == urgency(claim);
        let in_a_row = self.streams(|other| same(other) && !takes_turns(other));
        let in_turns = self.streams(|other| same(other) && takes_turns(other));
        let level = &mut self.levels[urgency(claim)];
        if takes_turns(claim) {
            level.ring.note(&in_turns, stream, bytes);
            level.ahead -= if in_a_row.is_empty() { 0 } else { bytes as i64 };
        } else {
            level.ahead += if in_turns.is_empty() { 0 } else { bytes as i64 };
        }
    }

    fn streams(&self, accept: impl Fn(Claim) -> bool) -> Vec<StreamId> {
        let mut streams: Vec<_> =
            self.inside.iter().filter(|(_, claim)| accept(*claim)).map(|&(stream, _)| stream).collect();
        streams.sort_unstable();
        streams
    }
}

impl Ring {
    fn next(&self, streams: &[StreamId]) -> StreamId {
        if self.left > 0 && streams.contains(&self.current) {
            return self.current;
        }
        let in_round = streams.iter().find(|&&stream| stream > self.current && stream <= self.end);
        *in_round.unwrap_or(&streams[0])
    }

    fn note(&mut self, streams: &[StreamId], stream: StreamId, bytes: u64) {
        if stream != self.current || self.left == 0 {
            if stream <= self.current || stream > self.end {
                self.end = streams.last().copied().unwrap_or(stream).max(stream);
            }
            self.current = stream;
            self.left = u64::from(TURN);
        }
        self.left = self.left.saturating_sub(bytes);
    }
}

fn urgency(claim: Claim) -> usize {
    usize::from(claim.priority.urgency.min(7))
}

fn takes_turns(claim: Claim) -> bool {
    claim.tunnel || claim.priority.incremental
}
