//! One direction of a connection in memory: pure, with the time as an argument.

use std::{collections::VecDeque, task::Waker, time::Duration};

use bytes::{Buf, Bytes};

use super::Link;

/// The bytes from one end to the other.
#[derive(Debug)]
pub(crate) struct Flow {
    link: Link,
    /// Bytes that were not received, with the moments at which they arrive.
    pieces: VecDeque<(Duration, Bytes)>,
    /// How many these are.
    length: usize,
    /// When the link can carry the next byte.
    free_at: Duration,
    /// How the sender has ended it, and when that arrives.
    end: Option<(Duration, End)>,
    /// Whether its receiver is gone.
    is_deaf: bool,
    random: u64,
    /// The task that waits for bytes.
    pub(crate) receiver: Option<Waker>,
    /// The task that waits for room.
    pub(crate) sender: Option<Waker>,
}

/// How a sender ends a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// In order, behind its bytes.
    Finished,
    /// By a reset, which discards what was not received.
    Reset,
}

/// The state of a flow for its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    Bytes,
    End(End),
    /// Something is on its way, and arrives then.
    At(Duration),
    Nothing,
}

impl Flow {
    pub(crate) fn new(link: Link) -> Self {
        let random = link.pieces.unwrap_or_default();
        Self {
            link,
            pieces: VecDeque::new(),
            length: 0,
            free_at: Duration::ZERO,
            end: None,
            is_deaf: false,
            random,
            receiver: None,
            sender: None,
        }
    }

    /// Takes as many of these bytes as there is room for; `None` if its receiver is gone, or it has ended.
    pub(crate) fn push(&mut self, bytes: &[u8], now: Duration) -> Option<usize> {
        let count = self.admit(bytes.len())?;
        self.put(&bytes[..count], now);
        Some(count)
    }

    /// How many of so many bytes it takes now, for [`Self::put`].
    pub(crate) fn admit(&mut self, most: usize) -> Option<usize> {
        if self.is_closed_for_sender() {
            return None;
        }
        Some(self.part(most.min(self.room())))
    }

    /// Takes all of these bytes, as many as it has admitted.
    pub(crate) fn put(&mut self, bytes: &[u8], now: Duration) {
        let count = bytes.len();
        if count > 0 {
            let time = self.link.rate.map_or(Duration::ZERO, |rate| {
                Duration::from_nanos(
                    u64::try_from(count as u128 * 1_000_000_000 / u128::from(rate.max(1))).unwrap_or(u64::MAX),
                )
            });
            self.free_at = self.free_at.max(now) + time;
            self.pieces.push_back((self.free_at + self.link.delay, Bytes::copy_from_slice(bytes)));
            self.length += count;
            self.wake_receiver();
        }
    }

    /// How many bytes it takes.
    pub(crate) fn room(&self) -> usize {
        self.link.capacity.saturating_sub(self.length)
    }

    /// Whether there is so much room that a sender is woken: Linux wakes it when a third is free.
    pub(crate) fn has_drained(&self) -> bool {
        self.room() * 3 >= self.link.capacity
    }

    pub(crate) fn is_closed_for_sender(&self) -> bool {
        self.is_deaf || self.end.is_some()
    }

    /// The state that its receiver finds now.
    pub(crate) fn arrival(&self, now: Duration) -> Arrival {
        if let Some((at, End::Reset)) = self.end
            && at <= now
        {
            return Arrival::End(End::Reset);
        }
        match (self.pieces.front(), self.end) {
            (Some((at, _)), _) if *at <= now => Arrival::Bytes,
            (Some((at, _)), _) => Arrival::At(*at),
            (None, Some((at, end))) if at <= now => Arrival::End(end),
            (None, Some((at, _))) => Arrival::At(at),
            (None, None) => Arrival::Nothing,
        }
    }

    /// Takes at most so many of the bytes that have arrived.
    pub(crate) fn pull(&mut self, most: usize, now: Duration, mut take: impl FnMut(&[u8])) -> usize {
        let most = self.part(most);
        let mut taken = 0;
        while let Some((at, piece)) = self.pieces.front_mut()
            && *at <= now
            && taken < most
        {
            let count = piece.len().min(most - taken);
            take(&piece[..count]);
            piece.advance(count);
            taken += count;
            if piece.is_empty() {
                self.pieces.pop_front();
            }
        }
        self.length -= taken;
        if self.has_drained() {
            self.wake_sender();
        }
        taken
    }

    /// Ends it; the first end counts, but for a reset.
    pub(crate) fn end(&mut self, end: End, now: Duration) {
        if self.end.is_none() || end == End::Reset {
            self.end = Some((self.free_at.max(now) + self.link.delay, end));
        }
        self.wake_receiver();
        self.wake_sender();
    }

    /// Its receiver is gone; whether bytes are lost by that.
    pub(crate) fn abandon(&mut self) -> bool {
        self.is_deaf = true;
        self.wake_sender();
        self.length > 0
    }

    fn wake_sender(&mut self) {
        self.sender.take().into_iter().for_each(Waker::wake);
    }

    fn wake_receiver(&mut self) {
        self.receiver.take().into_iter().for_each(Waker::wake);
    }

    /// A part of so many bytes, as the seed has it; at least one of some.
    fn part(&mut self, most: usize) -> usize {
        if self.link.pieces.is_none() || most == 0 {
            return most;
        }
        // One of four calls takes all, so that a large body comes to an end.
        let choice = self.next_random();
        match choice % 4 {
            0 => most,
            1 => 1,
            _ => 1 + usize::try_from((choice >> 2) % most as u64).unwrap_or(0),
        }
    }

    /// Whether a call finds nothing at first, as the seed has it.
    pub(crate) fn hesitates(&mut self) -> bool {
        self.link.pieces.is_some() && self.next_random().is_multiple_of(8)
    }

    /// SplitMix64.
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 27)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: fn(u64) -> Duration = Duration::from_millis;

    fn received(flow: &mut Flow, most: usize, now: Duration) -> Vec<u8> {
        let mut received = Vec::new();
        flow.pull(most, now, |bytes| received.extend_from_slice(bytes));
        received
    }

    #[test]
    fn bytes_arrive_after_the_delay_and_at_the_rate() {
        let mut flow = Flow::new(Link { delay: AT(10), rate: Some(1000), ..Link::default() });
        assert_eq!(flow.push(b"ab", AT(0)), Some(2));
        assert_eq!(flow.push(b"c", AT(1)), Some(1));
        assert_eq!(flow.arrival(AT(11)), Arrival::At(AT(12)));
        assert_eq!(received(&mut flow, 10, AT(12)), b"ab");
        assert_eq!(flow.arrival(AT(12)), Arrival::At(AT(13)));
        assert_eq!(received(&mut flow, 10, AT(13)), b"c");
        assert_eq!(flow.arrival(AT(13)), Arrival::Nothing);
    }

    #[test]
    fn a_full_flow_takes_what_there_is_room_for() {
        let mut flow = Flow::new(Link { capacity: 3, ..Link::default() });
        assert_eq!(flow.push(b"abcd", AT(0)), Some(3));
        assert_eq!(flow.push(b"d", AT(0)), Some(0));
        assert_eq!(received(&mut flow, 2, AT(0)), b"ab");
        assert_eq!((flow.push(b"def", AT(0)), flow.room()), (Some(2), 0));
    }

    #[test]
    fn an_end_comes_behind_the_bytes_and_a_reset_in_their_place() {
        for (end, arrivals) in [
            (End::Finished, [Arrival::Bytes, Arrival::End(End::Finished)]),
            (End::Reset, [Arrival::End(End::Reset), Arrival::End(End::Reset)]),
        ] {
            let mut flow = Flow::new(Link::default());
            flow.push(b"a", AT(0));
            flow.end(end, AT(0));
            let before = flow.arrival(AT(0));
            received(&mut flow, 1, AT(0));
            assert_eq!([before, flow.arrival(AT(0))], arrivals);
            assert_eq!(flow.push(b"b", AT(0)), None);
        }
    }

    #[test]
    fn a_seed_decides_about_the_pieces() {
        let lengths = |seed| {
            let mut flow = Flow::new(Link { pieces: Some(seed), ..Link::default() });
            let pushed: Vec<_> = (0..20).filter_map(|_| flow.push(&[0; 1000], AT(0))).collect();
            let pulled: Vec<_> = (0..20).map(|_| flow.pull(1000, AT(0), |_| {})).collect();
            (pushed, pulled)
        };
        assert_eq!(lengths(1), lengths(1));
        assert_ne!(lengths(1), lengths(2));
        assert!(lengths(1).0.iter().all(|length| *length > 0));
    }
}
