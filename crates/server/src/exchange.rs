//! What the server notes about a response, whichever version of HTTP carries it.

use serow_message::{Headers, KnownHeader, StatusCode};

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

/// Tells the client where HTTP/3 is served (RFC 7838 §3), unless the response says something of its own about it.
pub(crate) fn announce(alternative: &[u8], headers: &mut Headers) {
    if !headers.contains(KnownHeader::AltSvc) {
        // The value is one of ours.
        let _ = headers.insert(KnownHeader::AltSvc, alternative);
    }
}
