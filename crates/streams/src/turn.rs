//! Whose turn it is to send.

use crate::StreamId;

/// Whose turn it is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The stream.
    pub stream: StreamId,
    /// Whether its head is to be written first.
    pub head: bool,
    /// Bytes of body that it may send in this turn, in one frame.
    pub bytes: usize,
}
