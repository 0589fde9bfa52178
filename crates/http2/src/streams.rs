//! The streams of a connection that are not closed, and what is remembered of closed ones (RFC 9113 §5.1).

use alloc::collections::VecDeque;

use crate::{StreamId, stream::Stream};

/// Those that live, in the order of their numbers. Peers open them in that order, and mostly they end in that order, so
/// both ends are where things happen; any other is found by halving.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    alive: VecDeque<Stream>,
    /// Streams that we reset, the latest last: frames that were on their way meanwhile are not errors.
    cut_off: VecDeque<StreamId>,
    /// Whether some of those were forgotten.
    forgot: bool,
    /// The highest number opened.
    highest: StreamId,
    /// The last numbers that were passed over: never used, and closed for ever (RFC 9113 §5.1.1).
    passed_over: (u32, u32),
}

/// The state of a stream that is not alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It was not opened yet.
    Idle,
    /// Its number was passed over.
    PassedOver,
    /// We cut it off; the peer may not know it yet.
    CutOff,
    /// Both sides know that it is closed.
    Closed,
}

impl Streams {
    pub(crate) fn len(&self) -> usize {
        self.alive.len()
    }

    pub(crate) fn highest(&self) -> StreamId {
        self.highest
    }

    #[inline]
    pub(crate) fn find(&mut self, id: StreamId) -> Option<&mut Stream> {
        let place = self.place(id)?;
        self.alive.get_mut(place)
    }

    /// The stream of a place.
    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut Stream> {
        self.alive.get_mut(place)
    }

    #[inline]
    pub(crate) fn peek(&self, id: StreamId) -> Option<&Stream> {
        self.alive.get(self.place(id)?)
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &Stream> {
        self.alive.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.alive.iter_mut()
    }

    /// The state of a stream that [`Self::find`] does not find. The number must be one of those this connection opens.
    pub(crate) fn gone(&self, id: StreamId) -> Gone {
        let (first, last) = self.passed_over;
        if id > self.highest {
            Gone::Idle
        } else if self.forgot || self.cut_off.contains(&id) {
            Gone::CutOff
        } else if (first..=last).contains(&id.bits()) {
            Gone::PassedOver
        } else {
            Gone::Closed
        }
    }

    /// Notes that this number is used now; it is higher than all before.
    #[inline]
    pub(crate) fn note_opened(&mut self, id: StreamId) {
        // Both roles' streams have odd numbers: nobody takes pushes.
        let next = if self.highest.is_connection() { 1 } else { self.highest.bits() + 2 };
        if id.bits() > next {
            self.passed_over = (next, id.bits() - 2);
        }
        self.highest = id;
    }

    /// Adds one; its number is the highest.
    #[inline]
    pub(crate) fn push(&mut self, stream: Stream) -> &mut Stream {
        debug_assert!(self.alive.back().is_none_or(|last| last.id < stream.id));
        self.alive.push_back(stream);
        let last = self.alive.len() - 1;
        &mut self.alive[last]
    }

    /// Removes the stream of a place.
    #[inline]
    pub(crate) fn remove_at(&mut self, place: usize) {
        match place {
            0 => drop(self.alive.pop_front()),
            place => drop(self.alive.remove(place)),
        }
        // The memory that a burst needed is given back.
        if self.alive.is_empty() && self.alive.capacity() > KEPT {
            self.alive = VecDeque::new();
        }
    }

    /// Remembers that we cut it off.
    pub(crate) fn note_cut_off(&mut self, id: StreamId) {
        if self.cut_off.len() >= REMEMBERED {
            self.cut_off.pop_front();
            self.forgot = true;
        }
        self.cut_off.push_back(id);
    }

    /// Where a stream stands; good until one is removed.
    #[inline]
    pub(crate) fn place(&self, id: StreamId) -> Option<usize> {
        // Very often there is one only, or it is the oldest or the latest.
        match (self.alive.front(), self.alive.back()) {
            (Some(first), _) if first.id == id => Some(0),
            (_, Some(last)) if last.id == id => Some(self.alive.len() - 1),
            (Some(first), Some(last)) if first.id < id && id < last.id => {
                self.alive.binary_search_by_key(&id, |stream| stream.id).ok()
            }
            _ => None,
        }
    }
}

/// Streams whose memory is kept while there are none.
const KEPT: usize = 8;

/// More than may be open at once by default, so that one round of them is remembered. Behind that, frames of closed
/// streams are passed over without asking.
const REMEMBERED: usize = 160;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> StreamId {
        StreamId::new(number)
    }

    fn open(streams: &mut Streams, number: u32) {
        streams.note_opened(id(number));
        streams.push(Stream::new(id(number), 0, 0));
    }

    #[test]
    fn found_while_alive_and_remembered_behind() {
        let mut streams = Streams::default();
        assert_eq!(streams.gone(id(1)), Gone::Idle);
        for number in [1, 3, 9, 11] {
            open(&mut streams, number);
        }
        for number in [1, 3, 9, 11] {
            assert_eq!(streams.find(id(number)).map(|stream| stream.id), Some(id(number)));
        }
        for number in [5, 7] {
            assert!(streams.find(id(number)).is_none());
            assert_eq!(streams.gone(id(number)), Gone::PassedOver);
        }
        assert_eq!(streams.gone(id(13)), Gone::Idle);
        streams.remove_at(streams.place(id(3)).unwrap());
        assert!(streams.place(id(3)).is_none());
        assert_eq!(streams.gone(id(3)), Gone::Closed);
        streams.note_cut_off(id(3));
        assert_eq!(streams.gone(id(3)), Gone::CutOff);
        assert_eq!(streams.len(), 3);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
    fn streams_that_we_have_forgotten_are_not_held_against_the_peer() {
        let mut streams = Streams::default();
        for number in 0..=REMEMBERED as u32 {
            open(&mut streams, 2 * number + 1);
            streams.remove_at(0);
            streams.note_cut_off(id(2 * number + 1));
        }
        assert_eq!(streams.gone(id(1)), Gone::CutOff);
        assert_eq!(streams.len(), 0);
    }
}
