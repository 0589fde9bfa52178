//! The facts about a request that a server keeps until its response is sent.

use serow_message::{Headers, KnownHeader, Method, RequestHead, Version};

use crate::{
    Framing, Next, ProtocolError,
    framing::{has_option, is_persistent},
};

/// The facts about a request that its response depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResponseContext {
    pub(crate) version: Version,
    pub(crate) head_only: bool,
    pub(crate) connect: bool,
    pub(crate) upgrade: bool,
    pub(crate) takes_trailers: bool,
    pub(crate) expectation: Expectation,
    pub(crate) after: Next,
}

/// RFC 9110 §10.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expectation {
    /// The client sends the body at once.
    None,
    /// The client waits for 100 Continue.
    Waiting,
}

impl ResponseContext {
    /// Before a request: enough to refuse one that cannot be understood.
    pub(crate) const NONE: Self = Self {
        version: Version::HTTP_11,
        head_only: false,
        connect: false,
        upgrade: false,
        takes_trailers: false,
        expectation: Expectation::None,
        after: Next::Reuse,
    };

    /// The facts that must be known before anything is refused: a refusal of HEAD has no body either.
    #[inline]
    pub(crate) fn of_refusable(head: &RequestHead) -> Self {
        let (head_only, connect) = (head.method == Method::HEAD, head.method == Method::CONNECT);
        Self { version: head.version, head_only, connect, ..Self::NONE }
    }

    /// Takes in the rest, once the request's framing is known.
    #[inline]
    pub(crate) fn take_in(&mut self, headers: &Headers, framing: Framing) -> Result<(), ProtocolError> {
        // RFC 9110 §7.8: HTTP/1.0 knows no upgrade. A request with a body (`docker exec`) switches behind it.
        self.upgrade = headers.contains(KnownHeader::Upgrade)
            && self.version == Version::HTTP_11
            && has_option(headers, b"upgrade");
        self.expectation = expectation(headers, self.version, framing)?;
        self.takes_trailers = headers.contains(KnownHeader::Te)
            && headers.list(KnownHeader::Te).any(|coding| coding.eq_ignore_ascii_case(b"trailers"));
        self.after = if is_persistent(headers, self.version) { Next::Reuse } else { Next::Close };
        Ok(())
    }
}

/// RFC 9110 §10.1.1: HTTP/1.0 knows no expectations; without a body there is nothing to wait for.
#[inline]
fn expectation(headers: &Headers, version: Version, framing: Framing) -> Result<Expectation, ProtocolError> {
    let mut expectation = Expectation::None;
    if version != Version::HTTP_11 || !headers.contains(KnownHeader::Expect) {
        return Ok(expectation);
    }
    for value in headers.list(KnownHeader::Expect) {
        if !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(ProtocolError::Expectation);
        }
        if framing != Framing::None {
            expectation = Expectation::Waiting;
        }
    }
    Ok(expectation)
}
