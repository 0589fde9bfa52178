//! The counters of a connection, for a status page.

/// Counts since the connection began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Streams opened, by either side.
    pub opened: u64,
    /// Streams that the peer opened beyond the limit.
    pub refused: u64,
    /// Streams that the peer cut off.
    pub reset_by_peer: u64,
    /// Streams that we cut off, for whatever reason; those refused are among them.
    pub reset_by_us: u64,
}
