//! One stream (RFC 9113 §5.1).

use serow_message::Priority;
use serow_streams::{Content, QueuedHead, ResponseContext, Sending};

use crate::{
    StreamId,
    scheduler::Claim,
    window::{ReceiveWindow, SendWindow},
};

/// A stream that is open, or half-closed on one side.
///
/// ```text
///   receiving   (Head ──►) Body ──► Done ─┐   the stream is forgotten when both sides are done; a server that is done and
///                     └► Discarded ──►────┤   does not want the rest takes in a little of it, and then cuts it off (RFC
///   sending     Head ──► Queued ──► Body ─┘──► Done                                                        9113 §8.1)
/// ```
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) send_window: SendWindow,
    pub(crate) receive_window: ReceiveWindow,
    pub(crate) receiving: Receiving,
    pub(crate) content: Content,
    pub(crate) sending: Sending,
    pub(crate) head: Option<QueuedHead>,
    pub(crate) priority: Priority,
    /// Whether the client said the priority itself (RFC 9218 §4); then a signal of RFC 7540 counts no more.
    pub(crate) said_priority: bool,
    pub(crate) exchange: ResponseContext,
    /// Whether the driver has data for it, or its end.
    pub(crate) ready: bool,
    /// Whether the scheduler has it.
    pub(crate) scheduled: bool,
    /// Whether only the end of the request is missing, and nobody waits for it.
    pub(crate) unfinished: bool,
    /// Informational responses that a client has received on it.
    pub(crate) informational: u8,
}

/// The part of the peer's message that is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    /// All of it; a client waits for the response.
    Head,
    /// The body, or its end.
    Body,
    /// The body, which nobody reads; so many more bytes of it are passed over once the response is complete.
    Discarded(u32),
    /// Nothing: half-closed (remote).
    Done,
}

impl Stream {
    pub(crate) fn new(id: StreamId, send_window: u32, receive_window: u32) -> Self {
        Self {
            id,
            send_window: SendWindow::new(send_window),
            receive_window: ReceiveWindow::new(receive_window),
            receiving: Receiving::Body,
            content: Content::UNBOUNDED,
            sending: Sending::Head,
            head: None,
            priority: Priority::DEFAULT,
            said_priority: false,
            exchange: ResponseContext::default(),
            ready: false,
            scheduled: false,
            unfinished: false,
            informational: 0,
        }
    }

    /// Whether nothing is left to be done for it.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.sending == Sending::Done && self.head.is_none() && self.receiving == Receiving::Done
    }

    /// Whether the rest of a request that has been answered is not worth waiting for: there is much of it, or it never
    /// comes.
    pub(crate) fn is_not_worth_the_rest(&self, left: u32) -> bool {
        left == 0
            || self.exchange.awaits_continue
            || self.content.announces_more_than(left.into())
            || self.receive_window.is_shut()
    }

    /// Whether a turn would be of use to it, as far as its own window goes.
    #[inline]
    pub(crate) fn wants_turn(&self) -> bool {
        self.needs_no_window() || self.ready && self.sends_body() && self.send_window.available() > 0
    }

    /// Whether it has something to send that is not subject to flow control: its head, or the end behind its last byte.
    #[inline]
    pub(crate) fn needs_no_window(&self) -> bool {
        self.head.is_some() || self.ready && self.sending == Sending::Length(0)
    }

    /// Its claim on the scheduler.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        Claim { priority: self.priority, tunnel: self.exchange.tunnel }
    }

    /// Whether it could send more at once if the peer let it (CVE-2019-9517).
    pub(crate) fn waits_for_window(&self) -> bool {
        self.ready && self.sends_body() && self.send_window.available() == 0
    }

    fn sends_body(&self) -> bool {
        matches!(self.sending, Sending::Length(_) | Sending::UntilEnd)
    }
}

// Ten thousand connections may each have ten of them.
const _: () = assert!(size_of::<Stream>() <= 128);
