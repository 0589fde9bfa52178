//! The streams whose sections wait for entries.

use alloc::vec::Vec;

use serow_streams::StreamId;

use super::DecodeError;

/// The blocked streams of a decoder, no more than it announced.
#[derive(Debug)]
pub(super) struct Blocked {
    /// Each with the Required Insert Count of its section.
    streams: Vec<(StreamId, u64)>,
    most: usize,
}

impl Blocked {
    pub(super) const fn new(most: usize) -> Self {
        Self { streams: Vec::new(), most }
    }

    /// RFC 9204 §2.1.2: more than announced are an error of the peer's encoder. A stream for whose section there are
    /// enough entries is not blocked any more, whether the caller has come to decode it or not.
    pub(super) fn add(&mut self, stream: StreamId, required: u64, inserted: u64) -> Result<(), DecodeError> {
        self.streams.retain(|(other, required)| *other != stream && *required > inserted);
        if self.streams.len() >= self.most {
            return Err(DecodeError::Blocked);
        }
        self.streams.push((stream, required));
        Ok(())
    }

    #[inline]
    pub(super) fn remove(&mut self, stream: StreamId) {
        if !self.streams.is_empty() {
            self.streams.retain(|(other, _)| *other != stream);
        }
    }
}
