//! The sections that the peer has not acknowledged (RFC 9204 §2.1.1).

use alloc::{collections::VecDeque, vec::Vec};

use serow_streams::StreamId;

/// The sections that were sent and refer to the table, in the order in which they were sent.
#[derive(Debug)]
pub(super) struct Unacknowledged {
    sections: VecDeque<Section>,
    /// The absolute index of the oldest entry that any of them refers to.
    oldest: u64,
    /// The streams that the peer cancelled last.
    cancelled: Vec<StreamId>,
    /// Which of them the next takes the place of.
    next_cancelled: usize,
}

/// A section that refers to the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    pub(super) stream: StreamId,
    /// Its Required Insert Count.
    pub(super) required: u64,
    /// The absolute index of the oldest entry that it refers to.
    pub(super) oldest: u64,
}

impl Unacknowledged {
    pub(super) const fn new() -> Self {
        Self { sections: VecDeque::new(), oldest: u64::MAX, cancelled: Vec::new(), next_cancelled: 0 }
    }

    /// Whether another section may refer to the table: not if there are too many, and not where the peer has cancelled
    /// the stream and the section was on its way already, since nobody would acknowledge it.
    #[inline]
    pub(super) fn has_room(&self, stream: StreamId) -> bool {
        self.sections.len() < MAX_SECTIONS && !self.cancelled.contains(&stream)
    }

    /// Gives back memory that is not used.
    pub(super) fn release_memory(&mut self) {
        self.sections.shrink_to_fit();
    }

    /// From this absolute index on, entries may be referred to.
    #[inline]
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }

    pub(super) fn push(&mut self, section: Section) {
        self.oldest = self.oldest.min(section.oldest);
        self.sections.push_back(section);
    }

    /// Whether a section of this stream may have to wait for entries that the peer does not have yet: `known` is the
    /// number of those that it has, `most` how many streams may wait (RFC 9204 §2.1.2).
    pub(super) fn may_block(&self, stream: StreamId, known: u64, most: usize) -> bool {
        let mut blocked = 0;
        for section in self.sections.iter().filter(|section| section.required > known) {
            if section.stream == stream {
                return true;
            }
            // A stream with several sections counts more than once, which allows less than the peer would.
            blocked += 1;
        }
        blocked < most
    }

    /// Removes the oldest section of a stream; gives its Required Insert Count (RFC 9204 §4.4.1).
    pub(super) fn acknowledge(&mut self, stream: StreamId) -> Option<u64> {
        let place = self.sections.iter().position(|section| section.stream == stream)?;
        let section = self.sections.remove(place)?;
        self.forget_oldest(section.oldest);
        Some(section.required)
    }

    /// Removes the sections of a stream (RFC 9204 §4.4.2).
    pub(super) fn cancel(&mut self, stream: StreamId) {
        self.sections.retain(|section| section.stream != stream);
        self.forget_oldest(self.oldest);
        match self.cancelled.get_mut(self.next_cancelled) {
            Some(place) => *place = stream,
            None => self.cancelled.push(stream),
        }
        self.next_cancelled = (self.next_cancelled + 1) % MAX_CANCELLED;
    }

    /// A section is gone whose oldest entry was this.
    fn forget_oldest(&mut self, oldest: u64) {
        if oldest == self.oldest {
            self.oldest = self.sections.iter().map(|section| section.oldest).min().unwrap_or(u64::MAX);
        }
    }
}

/// Attack: a peer that never acknowledges. Sections above this number do not refer to the table, and are not kept here.
/// A usual peer has a hundred streams at a time, and acknowledges a section within a round trip.
const MAX_SECTIONS: usize = 128;

/// As many streams as a browser resets at a time when its user leaves a page. Of one more, a section that crosses its
/// cancellation keeps what it refers to in the table.
const MAX_CANCELLED: usize = 32;
