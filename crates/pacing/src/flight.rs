//! How much may be on the way to the client, sent and unsent, when less urgent bytes are next.
//!
//! The first window of a connection, ten segments, is a second of a link with 128 kbit/s, and the windows after it fill
//! whatever queue the link has: seconds, often. A response that becomes urgent waits for all of it. So while less
//! urgent bytes are sent, a *ceiling* on unsent and unacknowledged bytes holds them back:
//!
//! * Not even that much was ever delivered, so the rate is not known: [`FIRST_SEGMENTS`].
//! * Round trips are hardly longer than the shortest: twice what fits on the path, and two segments. So the ceiling
//!   nearly doubles with each round trip, like TCP's own window, as long as no queue grows. In the beginning "hardly"
//!   is a third, since the first flights leave in one burst each, and queue up for that reason alone.
//! * A queue has grown: what fits on the path, and [`QUEUE_TIME`] of the rate, and two segments, since the client
//!   acknowledges every other segment. Whatever the ceiling keeps off the path stays with us, where the more urgent
//!   overtakes it.
//!
//! Where the last of these is above [`MAX_CEILING`], there is no ceiling. Paths with round trips under [`SHORT_PATH`]
//! have none.
//!
//! # The trade-off
//!
//! When the queue is not ours, but that of another transfer over the same link which fills it until packets are lost,
//! the ceiling does not make it shorter: it only gives our share away, as every delay-based congestion control does
//! (RFC 6817 wants it so for LEDBAT). A link that became slower, or whose round trips vary much (mobile networks),
//! looks the same. A client that called a response less urgent wants it behind its *other* responses of ours, not
//! behind everybody's. So when the ceiling has held for [`PROOF_TIME`] and round trips are still clearly longer than it
//! allows for, it is *lifted* for [`LIFTED_TIME`], in which the kernel's congestion control alone decides and the rate
//! is measured again. On such a path we get nine tenths of our share, and priorities act on the unsent bytes only. The
//! kernel's BBR would be the better answer, but not every kernel has it, and it is not ours to choose for a whole
//! connection.

use core::time::Duration;

use crate::path::Path;

/// The bytes in flight, and whether the ceiling holds them back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flight {
    /// Bytes handed over and not acknowledged.
    bytes: u32,
    /// A queue was seen on the path.
    queued: bool,
    state: CeilingState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CeilingState {
    /// The ceiling did not hold bytes back.
    #[default]
    Free,
    /// It has held bytes back since then.
    Held { since: u64 },
    /// It proved useless and is lifted until then.
    Lifted { until: u64 },
}

impl Flight {
    /// So much is on the way.
    pub(crate) fn handle_sample(&mut self, path: &Path, bytes: u32, now: u64) {
        self.bytes = bytes;
        self.queued |= queue(path) > (QUEUE_TIME / 2).max(u64::from(path.shortest_round_trip) / 3);
        match self.state {
            CeilingState::Lifted { until } if now >= until => self.state = CeilingState::Free,
            CeilingState::Held { since } => {
                let Some(ceiling) = self.ceiling(path) else {
                    self.state = CeilingState::Free;
                    return;
                };
                // More than that is from before, or urgent; such a queue is ours.
                if bytes > ceiling.saturating_add(2 * path.segment) {
                    self.state = CeilingState::Free;
                } else if now.saturating_sub(since) >= PROOF_TIME.max(PROOF_TRIPS * u64::from(path.round_trip))
                    && round_trips_are_longer_than_ours(path, ceiling)
                {
                    self.state = CeilingState::Lifted { until: now.saturating_add(LIFTED_TIME) };
                }
            }
            _ => {}
        }
    }

    pub(crate) fn note_sent(&mut self, bytes: u32) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Whether the ceiling holds bytes back.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.state, CeilingState::Held { .. })
    }

    fn ceiling(&self, path: &Path) -> Option<u32> {
        ceiling(path, !self.queued)
    }

    /// How much more may be on the way; `u32::MAX` if there is no ceiling.
    pub(crate) fn room(&self, path: &Path, now: u64) -> u32 {
        self.most(path, now).map_or(u32::MAX, |ceiling| ceiling.saturating_sub(self.bytes))
    }

    /// How much may be on the way; none if there is no ceiling.
    pub(crate) fn most(&self, path: &Path, now: u64) -> Option<u32> {
        match self.state {
            CeilingState::Lifted { until } if now < until => None,
            _ => self.ceiling(path),
        }
    }

    /// Notes that bytes are held back.
    pub(crate) fn note_held(&mut self, now: u64) {
        if !self.waits() {
            self.state = CeilingState::Held { since: now };
        }
    }

    /// Notes that bytes are held back; says when there may be room for a segment.
    ///
    /// No event tells of acknowledgements while nothing is unsent. They come as fast as segments leave the link.
    pub(crate) fn wait(&mut self, path: &Path, now: u64) -> Duration {
        self.note_held(now);
        let most = self.ceiling(path).unwrap_or(u32::MAX);
        let excess = self.bytes.saturating_add(path.segment).saturating_sub(most);
        let time = match path.time_for(excess) {
            // Slightly late acknowledgements do not cause a query every millisecond.
            Some(time) => time.max(path.time_for(path.segment / 4).unwrap_or_default()),
            None => u64::from(path.round_trip / 4),
        };
        Duration::from_micros(time.clamp(MIN_WAIT, MAX_WAIT))
    }
}

/// The most bytes that may be on the way, if that is bounded.
fn ceiling(path: &Path, starting: bool) -> Option<u32> {
    let shortest = u64::from(path.shortest_round_trip);
    if shortest < SHORT_PATH {
        return None;
    }
    let first = FIRST_SEGMENTS * path.segment;
    if path.delivered < first.into() {
        return Some(first);
    }
    let standing = path.within(shortest + QUEUE_TIME).saturating_add(2 * path.segment);
    if standing > MAX_CEILING {
        return None;
    }
    let growing = path.within(2 * shortest).saturating_add(2 * path.segment).min(MAX_CEILING);
    let queue = queue(path);
    if queue <= QUEUE_TIME / 2 || starting && queue <= shortest / 3 {
        return Some(growing.max(standing).max(first));
    }
    Some(standing.max(MIN_SEGMENTS * path.segment))
}

/// How much longer round trips are than the shortest, in microseconds.
fn queue(path: &Path) -> u64 {
    path.round_trip.saturating_sub(path.shortest_round_trip).into()
}

/// Bytes on the way take `ceiling / rate` to get there and back if the path still has its rate. Much more than that
/// means that others are in the queue, or that the path has changed.
fn round_trips_are_longer_than_ours(path: &Path, ceiling: u32) -> bool {
    path.time_for(ceiling + 2 * path.segment).is_some_and(|ours| u64::from(path.round_trip) > ours + ours / 2)
}

/// The first flight while nothing is known: 380 ms of a link with 128 kbit/s, where ten segments are a second.
const FIRST_SEGMENTS: u32 = 4;

/// Two on the way and one that waits for its acknowledgement.
const MIN_SEGMENTS: u32 = 3;

/// The queue that we let stand, in microseconds of the rate. Round trips vary by less than this on most paths without
/// any queue; LEDBAT's is at most 100 ms (RFC 6817 §2.5).
const QUEUE_TIME: u64 = 60_000;

/// The highest ceiling in bytes, h2o's bound too. Above it the link has 5 Mbit/s or more, and its queue is drained in a
/// tenth of a second.
const MAX_CEILING: u32 = 65_535;

/// Shorter round trips, in microseconds: a link that delivers a SYN and its acknowledgement in that time has a few
/// hundred kbit/s at least, and our timers (1 ms) are too coarse to hold it back well.
const SHORT_PATH: u64 = 8_000;

/// How long the ceiling must have held before round trips prove anything: until what was on the way before has arrived
/// and the kernel's average (1/8 of each new one) has followed.
const PROOF_TIME: u64 = 2_000_000;
const PROOF_TRIPS: u64 = 8;

/// How long a ceiling of no use is lifted: long against [`PROOF_TIME`], so that little is lost.
const LIFTED_TIME: u64 = 20_000_000;

/// The resolution of timers.
const MIN_WAIT: u64 = 1_000;

/// Half a segment of 128 kbit/s; slower links lose nothing by forty looks a second.
const MAX_WAIT: u64 = 50_000;
