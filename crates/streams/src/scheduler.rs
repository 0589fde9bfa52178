//! Which stream is served next (RFC 9218 §10).
//!
//! Inside are the streams that have something they may send now. Each stands in one of sixteen places, by what its
//! [`Priority`] says:
//!
//! ```text
//!                     in a row                   in turns
//!               (not incremental)            (incremental)
//!
//! urgency 0     1 ─ 9 ─ 17                   ┌▶ 3 ─▶ 5 ─▶ 21 ─┐        first of all
//!                        ◀── by bytes ──▶    └────────────────┘
//! urgency 1     …                            …                         when nobody is left above
//!   ⋮
//! urgency 7     the background: when there is nothing else
//!
//! tunnels       ┌▶ 7 ─▶ 11 ─┐    each also in turns at its urgency, and of every eight bytes sent
//!               └───────────┘    one may go to them, whatever is above
//! ```
//!
//! * The most urgent come first, all bandwidth theirs. Less urgent streams wait, as the client requested.
//! * Among equally urgent ones those that are not incremental are served whole, one after the other, in the order of
//!   their requests: half of a script is of no use. Incremental ones take turns of [`TURN`] bytes: half of each picture is.
//! * Where both kinds wait at one urgency, each kind gets half of the bytes, so that neither starves the other.
//! * A tunnel has no end, and who waits at its other end is not known. It takes turns at its urgency, and besides, one
//!   byte of [`TUNNEL_SHARE`] may be one of a tunnel even while more urgent responses are endless (RFC 9218 §10.1).
//!
//! Turns go round by number: next is the lowest stream above the last one, as far as the highest that there was when
//! the round began. So a new or returning stream never keeps others from their turn for longer than one round, and
//! nothing but two numbers has to be kept for each ring.
//!
//! Every call costs a few searches in an ordered set, O(log n); there is no other state of a stream. In instructions,
//! by the streams inside:
//!
//! | | 1 | 10 | 100 | 1,000 | 10,000 |
//! |---|---|---|---|---|---|
//! | `remove` and `insert` | 141 | 231 | 373 | 590 | 677 |
//! | `next` | 39 | 58 | 58 | 86 | 90 |
//! | `next` and `note_served` | 76 | 296 | 327 | 673 | 839 |
//!
//! All four for one response alone cost 189.

use alloc::boxed::Box;

use serow_message::Priority;

use crate::StreamId;

mod early;
mod keys;
mod ring;

pub use self::early::{EarlyPriorities, TooManyPriorities};
use self::{keys::Keys, ring::Ring};

/// How many bytes an incremental stream sends before the next one has its turn: one DATA frame of the size that every
/// peer takes (RFC 9113 §6.5.2), and one TLS record. Smaller ones would cost more frames for the same bytes; with
/// larger ones a picture would wait longer for its first bytes than it takes to send them.
pub const TURN: u32 = 16_384;

/// One byte of so many is for tunnels, if they have any to send. Enough for a terminal or a chat beside a download: on
/// 10 Mbit/s a message waits for 112 KiB of others at most, 0.1 s. Too little to make a tunnel a way round priorities.
pub const TUNNEL_SHARE: u32 = 8;

/// The claim of a stream on the scheduler. A [`Priority`] alone is that of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// How urgent it is. An urgency above 7 counts as 7; a tunnel always takes turns.
    pub priority: Priority,
    /// Whether it is a tunnel: an accepted CONNECT, also an extended one (RFC 8441).
    pub tunnel: bool,
}

impl Claim {
    /// That of a tunnel.
    #[must_use]
    pub const fn tunnel(priority: Priority) -> Self {
        Self { priority, tunnel: true }
    }

    fn urgency(self) -> u8 {
        self.priority.urgency.min(Priority::BACKGROUND)
    }

    fn takes_turns(self) -> bool {
        self.tunnel || self.priority.incremental
    }
}

impl From<Priority> for Claim {
    fn from(priority: Priority) -> Self {
        Self { priority, tunnel: false }
    }
}

/// See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct Scheduler {
    /// Every stream that has something to send, and tunnels twice.
    keys: Keys,
    /// How many tunnels are inside.
    tunnels: u32,
    /// Bytes of others since tunnels had their share, not above what pays for one turn.
    owed: u32,
    /// Of no use to one stream alone, nor to streams in a row, so most connections do without.
    turns: Option<Box<Turns>>,
}

/// The stream that was served last, and how much.
#[derive(Clone, Debug, Default)]
struct Turns {
    levels: [Level; LEVELS],
    tunnels: Ring,
}

/// The urgencies there are (RFC 9218 §4.1).
const LEVELS: usize = Priority::BACKGROUND as usize + 1;

/// The state of one urgency.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    ring: Ring,
    /// How many bytes more were sent in a row than in turns while both kinds waited.
    ahead: i32,
}

/// The state before any stream has had a turn.
static FRESH: Turns = Turns { levels: [Level { ring: Ring::NEW, ahead: 0 }; LEVELS], tunnels: Ring::NEW };

/// Bytes that others must have sent before a tunnel has a turn that its urgency does not give it.
const TUNNEL_PRICE: u32 = (TUNNEL_SHARE - 1) * TURN;

impl Scheduler {
    /// With no stream inside; allocates nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The stream has something that it may send now.
    #[inline]
    pub fn insert(&mut self, stream: StreamId, claim: impl Into<Claim>) {
        let claim = claim.into();
        if self.keys.insert(Class::of(claim).key(stream)) && claim.tunnel {
            self.keys.insert(Class::TUNNELS.key(stream));
            self.tunnels += 1;
        }
    }

    /// It has nothing to send for now, or is closed. The claim is the one it was inserted with; says whether it was
    /// inside.
    #[inline]
    pub fn remove(&mut self, stream: StreamId, claim: impl Into<Claim>) -> bool {
        let claim = claim.into();
        let found = self.keys.remove(Class::of(claim).key(stream));
        if found && claim.tunnel {
            self.keys.remove(Class::TUNNELS.key(stream));
            self.tunnels -= 1;
        }
        found
    }

    /// It has another priority from now on. Where it is not inside, nothing happens, and it says so.
    pub fn reprioritise(&mut self, stream: StreamId, from: impl Into<Claim>, to: impl Into<Claim>) -> bool {
        let found = self.remove(stream, from);
        if found {
            self.insert(stream, to);
        }
        found
    }

    /// The stream that is served next; does not change the state.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<StreamId> {
        let first = self.keys.first()?;
        if self.keys.len() == 1 {
            return Some(stream_of(first));
        }
        let turns = self.turns.as_deref().unwrap_or(&FRESH);
        if self.tunnels > 0 && self.owed >= TUNNEL_PRICE {
            return turns.tunnels.next(&self.keys, Class::TUNNELS);
        }
        let class = Class::of_key(first);
        let level = &turns.levels[class.urgency()];
        if !class.takes_turns() && (level.ahead <= 0 || !self.keys.contains_any(class.in_turns())) {
            return Some(stream_of(first));
        }
        level.ring.next(&self.keys, class.in_turns())
    }

    /// So many bytes of the stream were sent: call it with what [`Self::next`] gave, before the stream is removed, and
    /// also where the frame had no content.
    #[inline]
    pub fn note_served(&mut self, stream: StreamId, claim: impl Into<Claim>, bytes: usize) {
        let claim = claim.into();
        // A frame costs its header too; so nobody keeps a turn for ever by frames without content.
        let bytes = u32::try_from(bytes).unwrap_or(LARGEST).min(LARGEST) + FRAME_HEADER;
        if claim.tunnel {
            self.owed = self.owed.saturating_sub(bytes * (TUNNEL_SHARE - 1));
        } else {
            self.owed = (self.owed + bytes).min(TUNNEL_PRICE);
        }
        if self.keys.len() == 1 {
            return;
        }
        if claim.tunnel {
            self.turns.get_or_insert_default().tunnels.note(&self.keys, Class::TUNNELS, stream, bytes);
        }
        let class = Class::of(claim);
        let signed = bytes.cast_signed();
        if class.takes_turns() {
            let level = &mut self.turns.get_or_insert_default().levels[class.urgency()];
            level.ring.note(&self.keys, class, stream, bytes);
            if self.keys.contains_any(class.in_a_row()) {
                level.ahead = level.ahead.saturating_sub(signed);
            }
        } else if self.keys.contains_any(class.in_turns()) {
            let level = &mut self.turns.get_or_insert_default().levels[class.urgency()];
            level.ahead = level.ahead.saturating_add(signed);
        }
    }

    /// Whether no stream is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.len() == 0
    }

    /// How many streams are inside.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len() - self.tunnels as usize
    }
}

/// RFC 9113 §4.1.
const FRAME_HEADER: u32 = 9;

/// No frame is longer (RFC 9113 §4.2); what is noted beyond it is not counted, so that sums stay small.
const LARGEST: u32 = (1 << 24) - 1;

/// Where a key stands: urgency and kind, or among the tunnels. In the order in which they are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Class(u8);

impl Class {
    /// Behind all urgencies.
    const TUNNELS: Self = Self(16);

    fn of(claim: Claim) -> Self {
        Self(claim.urgency() << 1 | u8::from(claim.takes_turns()))
    }

    fn of_key(key: u64) -> Self {
        Self((key >> STREAM_BITS) as u8)
    }

    fn urgency(self) -> usize {
        usize::from(self.0 >> 1)
    }

    fn takes_turns(self) -> bool {
        self.0 & 1 == 1
    }

    fn in_turns(self) -> Self {
        Self(self.0 | 1)
    }

    fn in_a_row(self) -> Self {
        Self(self.0 & !1)
    }

    /// In the order of classes, then of streams.
    fn key(self, stream: StreamId) -> u64 {
        u64::from(self.0) << STREAM_BITS | stream.get() & STREAM_MASK
    }

    /// No key of the class is lower.
    fn first_key(self) -> u64 {
        u64::from(self.0) << STREAM_BITS
    }

    /// Every key of the class is lower.
    fn end_key(self) -> u64 {
        u64::from(self.0 + 1) << STREAM_BITS
    }
}

/// The number of a stream has 31 bits in HTTP/2 (RFC 9113 §4.1). In HTTP/3 it has 62 (RFC 9000 §2.1), of which a
/// connection with a million requests per second needs this many after five hundred years.
const STREAM_BITS: u32 = 56;

const STREAM_MASK: u64 = (1 << STREAM_BITS) - 1;

fn stream_of(key: u64) -> StreamId {
    StreamId::of_quic(key & STREAM_MASK)
}

#[cfg(test)]
mod tests;
