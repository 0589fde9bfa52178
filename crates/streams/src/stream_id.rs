//! The number of a stream.

use core::fmt;

/// The number of a stream: in HTTP/2 31 bits (RFC 9113 §5.1.1), odd where the client opened it, 0 for the connection
/// itself; in HTTP/3 62 bits (RFC 9000 §2.1), a multiple of four where a client opened it for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

impl StreamId {
    /// HTTP/2: the connection itself.
    pub const CONNECTION: Self = Self(0);
    /// HTTP/2: the largest there is.
    pub const MAX: Self = Self(MASK as u64);

    /// HTTP/2: from the 32 bits on the wire, whose first is reserved and ignored (RFC 9113 §4.1).
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self((bits & MASK) as u64)
    }

    /// HTTP/3: that of QUIC.
    #[must_use]
    pub const fn of_quic(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// HTTP/2: the number as it stands on the wire.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32 & MASK
    }

    /// HTTP/2: whether it stands for the connection.
    #[must_use]
    pub const fn is_connection(self) -> bool {
        self.0 == 0
    }

    /// HTTP/2: whether a client opens streams of this number.
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
