//! The error of a caller that misuses a protocol state machine.

use core::fmt;

/// The caller sent a message in a wrong way: a defect of the program, never of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UsageError {
    /// A head, data or an end out of turn.
    OutOfTurn,
    /// More bytes than the announced length.
    TooManyBytes,
    /// The end before the announced length.
    TooFewBytes,
}

impl fmt::Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::OutOfTurn => "a part of a message was sent out of turn",
            Self::TooManyBytes => "the body has more bytes than were announced",
            Self::TooFewBytes => "the body has fewer bytes than were announced",
        })
    }
}

impl core::error::Error for UsageError {}
