//! Plans of the servers behind the proxy.

use std::time::Duration;

/// The answer of a server to an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) length: usize,
    pub(crate) framing: ResponseFraming,
    /// Informational responses before it.
    pub(crate) hints: usize,
    /// The time before its head.
    pub(crate) delay: Duration,
    /// A pause in the middle of its body.
    pub(crate) pause: Duration,
    /// Whether the request's body is read first.
    pub(crate) reads_body: bool,
    /// Whether the connection is kept.
    pub(crate) keeps: bool,
    /// Whether caches may keep it.
    pub(crate) is_fresh: bool,
    pub(crate) fault: Fault,
}

/// The framing of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFraming {
    Length,
    Chunked,
    UntilClose,
}

/// A fault in a server's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Closes when the head of the request is there.
    ClosesEarly,
    /// Closes in place of a response.
    Closes,
    /// Resets in place of a response.
    Resets,
    /// Closes within the head.
    CutsHead,
    /// Closes after so many bytes of the body.
    CutsBody(usize),
    /// Resets after so many bytes of the body.
    ResetsBody(usize),
    /// Says nothing for ever.
    Hangs,
    /// Stops within the body for ever.
    HangsInBody(usize),
    /// Sends a second response that nobody has asked for.
    SendsTwo,
    /// Sends what is not a response.
    BadHead,
    /// Says two lengths.
    TwoLengths,
}

impl Fault {
    /// Whether no response reaches the proxy.
    pub(crate) fn prevents_response(self) -> bool {
        matches!(
            self,
            Self::ClosesEarly
                | Self::Closes
                | Self::Resets
                | Self::CutsHead
                | Self::Hangs
                | Self::BadHead
                | Self::TwoLengths
        )
    }

    /// Whether the connection may end before the proxy has any of the response: a reset discards what was sent before.
    pub(crate) fn is_close(self) -> bool {
        matches!(self, Self::ClosesEarly | Self::Closes | Self::Resets | Self::ResetsBody(_))
    }

    /// How many bytes of a body arrive, if it is cut.
    pub(crate) fn cut(self) -> Option<usize> {
        match self {
            Self::CutsBody(bytes) | Self::ResetsBody(bytes) | Self::HangsInBody(bytes) => Some(bytes),
            _ => None,
        }
    }
}
