//! What a server answered, whichever version of HTTP it speaks.

use serow_message::{Body, ResponseHead, UpgradedIo};

use crate::server::Lease;

/// What a server answered.
pub(crate) struct Answer {
    /// The head, as the server sent it.
    pub(crate) head: ResponseHead,
    /// What comes behind it.
    pub(crate) content: Content,
}

/// What comes behind the head of a response.
pub(crate) enum Content {
    /// A body.
    Body(Body),
    /// Another protocol: the response has status 101.
    Tunnel(Box<dyn UpgradedIo>, Lease),
}
