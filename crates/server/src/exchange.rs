//! The server's notes about a response, whichever version of HTTP carries it.

use serow_message::StatusCode;

/// The part of a response that was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) status: StatusCode,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Whether a response has begun.
    pub(crate) has_begun: bool,
}

impl Sent {
    /// A response with this status that no handler made.
    pub(crate) fn refusal(status: StatusCode) -> Self {
        Self { status, has_begun: true, ..Self::default() }
    }

    /// The status for the log: without a response, 499.
    pub(crate) fn logged_status(&self) -> StatusCode {
        if self.has_begun { self.status } else { client_left() }
    }
}

/// nginx's status for a client that disconnected before its response.
pub(crate) fn client_left() -> StatusCode {
    StatusCode::from_u16(499).unwrap_or_default()
}
