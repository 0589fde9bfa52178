//! Orders to the transport about streams.

use crate::{ErrorCode, StreamId};

/// An order to the transport about a stream. Where the stream is over on that side, there is nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOrder {
    /// Send RESET_STREAM (RFC 9000 §19.4), and drop what waits to be sent.
    Reset {
        /// A request stream.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
    /// Send STOP_SENDING (RFC 9000 §19.5), and pass over what still comes: [`Endpoint::receive`] need not be called
    /// for the stream any more, nor [`Endpoint::receive_reset`].
    ///
    /// [`Endpoint::receive`]: crate::Endpoint::receive
    /// [`Endpoint::receive_reset`]: crate::Endpoint::receive_reset
    Stop {
        /// A request stream, or an unidirectional one of the peer's.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
}
