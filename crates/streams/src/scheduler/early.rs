//! Priorities of requests that have not come yet (RFC 9218 §7).

use alloc::vec::Vec;
use core::fmt;

use serow_message::Priority;

use crate::StreamId;

/// The priorities of streams that are still idle, from PRIORITY_UPDATE frames.
///
/// Nothing else may be kept for a stream that is not open, so the number is bounded twice: by what the client may open,
/// beyond which it is an error (RFC 9218 §7.1), and by [`EarlyPriorities::MOST`]. The attack is a client that names
/// stream after stream and never opens one.
#[derive(Clone, Debug, Default)]
pub struct EarlyPriorities {
    /// In the order of the streams.
    kept: Vec<(StreamId, Priority)>,
}

/// The client has prioritised more streams than it may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPriorities;

impl EarlyPriorities {
    /// So many are kept, 1 KiB. Where the client may open more streams, the frames for the lowest ones stay and others
    /// are passed over, as a server may (RFC 9218 §7).
    pub const MOST: usize = 128;

    /// With nothing kept; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { kept: Vec::new() }
    }

    /// Keeps the priority of an idle stream, in place of an earlier one. `active` streams are open, `maximum` may be:
    /// SETTINGS_MAX_CONCURRENT_STREAMS.
    ///
    /// # Errors
    ///
    /// With this one there would be more of them than may be open: a connection error PROTOCOL_ERROR (RFC 9218 §7.1).
    pub fn keep(
        &mut self,
        stream: StreamId,
        priority: Priority,
        active: usize,
        maximum: usize,
    ) -> Result<(), TooManyPriorities> {
        match self.kept.binary_search_by_key(&stream, |&(kept, _)| kept) {
            Ok(position) => self.kept[position].1 = priority,
            Err(_) if self.kept.len() + active >= maximum => return Err(TooManyPriorities),
            Err(position) => {
                if self.kept.len() == Self::MOST {
                    if position == Self::MOST {
                        return Ok(());
                    }
                    self.kept.pop();
                }
                self.kept.insert(position, (stream, priority));
            }
        }
        Ok(())
    }

    /// Takes the priority of a stream whose request has arrived. Streams below it are no longer idle (RFC 9113 §5.1.1),
    /// so their priorities are dropped.
    #[inline]
    pub fn take(&mut self, stream: StreamId) -> Option<Priority> {
        if self.kept.is_empty() {
            return None;
        }
        self.take_kept(stream)
    }

    fn take_kept(&mut self, stream: StreamId) -> Option<Priority> {
        let until = self.kept.partition_point(|&(kept, _)| kept <= stream);
        let found = self.kept.drain(..until).next_back().filter(|&(kept, _)| kept == stream);
        if self.kept.is_empty() {
            self.kept = Vec::new();
        }
        found.map(|(_, priority)| priority)
    }

    /// Takes the priority of a stream whose request has arrived. Unlike [`Self::take`] it keeps those of streams below:
    /// those of QUIC open in any order.
    #[inline]
    pub fn take_only(&mut self, stream: StreamId) -> Option<Priority> {
        let position = self.kept.binary_search_by_key(&stream, |&(kept, _)| kept).ok()?;
        Some(self.kept.remove(position).1)
    }

    /// How many are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

impl fmt::Display for TooManyPriorities {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("more streams prioritised than may be open")
    }
}

impl core::error::Error for TooManyPriorities {}

#[cfg(test)]
mod tests;
