//! What every exchange of request and response has, whichever version of HTTP carries it.

use serow_message::StatusCode;

/// What was sent of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) status: StatusCode,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    /// Whether there is a response at all.
    pub(crate) has_begun: bool,
}

impl Sent {
    /// A response with this status that no handler made.
    pub(crate) fn refusal(status: StatusCode) -> Self {
        Self { status, has_begun: true, ..Self::default() }
    }

    /// What the log says: without a response, that the client left before.
    pub(crate) fn logged_status(&self) -> StatusCode {
        if self.has_begun { self.status } else { client_left() }
    }
}

/// nginx's status for a client that left before its answer.
pub(crate) fn client_left() -> StatusCode {
    StatusCode::from_u16(499).unwrap_or_default()
}
