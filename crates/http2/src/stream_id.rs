//! The number of a stream.

use core::fmt;

/// The number of a stream (RFC 9113 §5.1.1): 31 bits; odd where the client opened it, 0 for the connection itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// The connection itself.
    pub const CONNECTION: Self = Self(0);
    /// The largest there is.
    pub const MAX: Self = Self(MASK);

    /// From the 32 bits on the wire, whose first is reserved and ignored (RFC 9113 §4.1).
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self(bits & MASK)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Whether it stands for the connection.
    #[must_use]
    pub const fn is_connection(self) -> bool {
        self.0 == 0
    }

    /// Whether a client opens streams of this number.
    #[must_use]
    pub const fn is_of_client(self) -> bool {
        self.0 % 2 == 1
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

const MASK: u32 = 0x7fff_ffff;
