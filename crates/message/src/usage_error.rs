//! What a program can do wrong when it sends a message.

use core::fmt;

/// The caller broke a rule: a defect of the program, never of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageError {
    /// A head, data or an end when it was not their turn.
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
