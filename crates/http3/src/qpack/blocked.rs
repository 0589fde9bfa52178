//! The streams whose sections wait for entries.

use alloc::vec::Vec;

use serow_streams::StreamId;

use super::DecodeError;

/// The blocked streams of a decoder, no more than it announced.
#[derive(Debug)]
pub(super) struct Blocked {
    streams: Vec<StreamId>,
    most: usize,
}

impl Blocked {
    pub(super) const fn new(most: usize) -> Self {
        Self { streams: Vec::new(), most }
    }

    /// RFC 9204 §2.1.2: more than announced are an error of the peer's encoder.
    pub(super) fn add(&mut self, stream: StreamId) -> Result<(), DecodeError> {
        if self.streams.contains(&stream) {
            return Ok(());
        }
        if self.streams.len() >= self.most {
            return Err(DecodeError::Blocked);
        }
        self.streams.push(stream);
        Ok(())
    }

    #[inline]
    pub(super) fn remove(&mut self, stream: StreamId) {
        if !self.streams.is_empty() {
            self.streams.retain(|blocked| *blocked != stream);
        }
    }
}
