//! The request streams of a connection that are not closed, and which ones were ever opened (RFC 9000 §2.1).

use alloc::{collections::VecDeque, vec::Vec};
use core::{cell::Cell, ops::Range};

use crate::{StreamId, stream::Stream};

/// Those that live, in the order of their numbers. Peers open them in that order, and mostly they end in that order, so
/// both ends are where things happen; any other is found by halving.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    alive: VecDeque<Stream>,
    /// The stream that was looked for last, and its place: most steps of a request look for it again.
    last: Cell<Option<(StreamId, usize)>>,
    /// The first number above all that were opened.
    next: u64,
    /// Lower numbers of streams that were not opened yet, in order: packets may overtake each other. Each counts for QUIC's
    /// limit on streams.
    gaps: Vec<Range<u64>>,
}

/// More streams were passed over than QUIC's limit on them allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManyGaps;

impl Streams {
    pub(crate) fn len(&self) -> usize {
        self.alive.len()
    }

    /// The first number above all that were opened.
    pub(crate) fn next(&self) -> StreamId {
        StreamId::of_quic(self.next)
    }

    #[inline]
    pub(crate) fn find(&mut self, id: StreamId) -> Option<&mut Stream> {
        let place = self.place(id)?;
        self.alive.get_mut(place)
    }

    #[inline]
    pub(crate) fn peek(&self, id: StreamId) -> Option<&Stream> {
        self.alive.get(self.place(id)?)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Stream> {
        self.alive.iter()
    }

    /// Whether the stream was not opened yet.
    pub(crate) fn is_idle(&self, id: StreamId) -> bool {
        let id = id.get();
        id >= self.next || self.gaps.get(self.gap_above(id)).is_some_and(|gap| gap.contains(&id))
    }

    /// Notes that this stream is opened; it is idle.
    pub(crate) fn note_opened(&mut self, id: StreamId) -> Result<(), TooManyGaps> {
        let id = id.get();
        if id >= self.next {
            if id > self.next {
                self.gaps.push(self.next..id);
            }
            self.next = id + STEP;
        } else {
            let place = self.gap_above(id);
            let Some(gap) = self.gaps.get_mut(place).filter(|gap| gap.contains(&id)) else { return Ok(()) };
            let above = id + STEP..gap.end;
            gap.end = id;
            if gap.is_empty() {
                self.gaps.remove(place);
                if !above.is_empty() {
                    self.gaps.insert(place, above);
                }
            } else if !above.is_empty() {
                self.gaps.insert(place + 1, above);
            }
        }
        if self.gaps.len() > MAX_GAPS { Err(TooManyGaps) } else { Ok(()) }
    }

    /// Adds one, and gives it back.
    #[inline]
    pub(crate) fn insert(&mut self, stream: Stream) {
        let place = match self.alive.back() {
            Some(last) if last.id >= stream.id => self.alive.partition_point(|other| other.id < stream.id),
            _ => self.alive.len(),
        };
        self.last.set(Some((stream.id, place)));
        self.alive.insert(place, stream);
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: StreamId) -> Option<Stream> {
        let removed = match self.place(id)? {
            0 => self.alive.pop_front(),
            place => self.alive.remove(place),
        };
        self.last.set(None);
        // The memory that a burst needed is given back.
        if self.alive.is_empty() && self.alive.capacity() > KEPT {
            self.alive = VecDeque::new();
        }
        removed
    }

    /// Where a stream stands; good until one is added or removed.
    #[inline]
    fn place(&self, id: StreamId) -> Option<usize> {
        match self.last.get() {
            Some((last, place)) if last == id => Some(place),
            _ => self.search(id).inspect(|place| self.last.set(Some((id, *place)))),
        }
    }

    fn search(&self, id: StreamId) -> Option<usize> {
        // Where it would stand if none between it and the oldest had ended; it stands there or before.
        let distance = id.get().checked_sub(self.alive.front()?.id.get())? / STEP;
        let most = usize::try_from(distance).unwrap_or(usize::MAX).min(self.alive.len() - 1);
        if self.alive.get(most)?.id == id {
            return Some(most);
        }
        self.alive.binary_search_by_key(&id, |stream| stream.id).ok()
    }

    /// The first gap that ends above this number.
    fn gap_above(&self, id: u64) -> usize {
        self.gaps.partition_point(|gap| gap.end <= id)
    }
}

/// Two bits of a number say whose stream it is, and of which kind (RFC 9000 §2.1).
pub(crate) const STEP: u64 = 4;

/// Streams whose memory is kept while there are none.
const KEPT: usize = 8;

/// Each gap is at least one stream of those that QUIC allows at once, which are some hundreds.
const MAX_GAPS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> StreamId {
        StreamId::of_quic(number)
    }

    #[test]
    fn a_stream_is_found_whatever_was_looked_for_before() {
        let mut streams = Streams::default();
        let mut state = 1_u64;
        for _ in 0..10_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (number, is_alive) = (id((state >> 40) % 16 * 4), streams.peek(id((state >> 40) % 16 * 4)).is_some());
            match state >> 62 {
                0 if !is_alive => streams.insert(Stream::new(number)),
                1 => assert_eq!(streams.remove(number).is_some(), is_alive),
                _ => {}
            }
            let alive = streams.iter().any(|stream| stream.id == number);
            assert_eq!(streams.find(number).map(|stream| stream.id), alive.then_some(number));
        }
    }

    #[test]
    fn streams_open_in_any_order_and_once() {
        let mut streams = Streams::default();
        assert!(streams.is_idle(id(0)));
        for number in [20, 0, 8, 12, 28] {
            assert!(streams.is_idle(id(number)));
            streams.note_opened(id(number)).unwrap();
            streams.insert(Stream::new(id(number)));
            assert!(!streams.is_idle(id(number)));
        }
        for number in [4, 16, 24, 32] {
            assert!(streams.is_idle(id(number)) && streams.find(id(number)).is_none());
        }
        assert_eq!((streams.next(), streams.gaps.len()), (id(32), 3));
        for number in [16, 4, 24] {
            streams.note_opened(id(number)).unwrap();
            assert!(!streams.is_idle(id(number)));
        }
        assert!(streams.gaps.is_empty());
        assert!(streams.iter().map(|stream| stream.id.get()).eq([0, 8, 12, 20, 28]));
        assert_eq!(streams.remove(id(12)).map(|stream| stream.id), Some(id(12)));
        assert!(streams.remove(id(12)).is_none() && !streams.is_idle(id(12)));
        assert_eq!(streams.find(id(20)).map(|stream| stream.id), Some(id(20)));
        assert_eq!(streams.len(), 4);
    }

    #[test]
    fn a_wide_gap_is_divided() {
        let mut streams = Streams::default();
        for number in [400, 200, 100, 300, 104, 96] {
            streams.note_opened(id(number)).unwrap();
        }
        assert_eq!(streams.gaps, [0..96, 108..200, 204..300, 304..400]);
    }

    #[test]
    fn gaps_are_bounded() {
        let mut streams = Streams::default();
        let opened = (0..=MAX_GAPS as u64).map(|number| streams.note_opened(id(8 * number + 4)));
        assert_eq!(opened.filter(Result::is_err).count(), 1);
    }
}
