//! Whether more bytes follow, in either direction.

/// Whether more is to be sent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// The kernel may wait for what follows, to fill the packet (MSG_MORE, send(2)).
    Follows,
    /// Nothing follows: what there is leaves now.
    Nothing,
}

/// The state of a socket's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Nothing yet.
    Nothing,
    /// Bytes.
    Bytes,
    /// The peer has ended its side, or the connection is gone.
    End,
}
