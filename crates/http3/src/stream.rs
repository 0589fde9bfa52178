//! One request stream (RFC 9114 §4.1).

use alloc::{boxed::Box, vec::Vec};

use bytes::Bytes;
use serow_message::{Headers, Priority, ResponseHead};
use serow_streams::{
    Content, QueuedHead, ResponseContext, Sending,
    scheduler::{Claim, Scheduler},
};

use crate::{StreamId, frame::HeaderReader};

/// A stream that is open, or half-closed on one side.
///
/// ```text
///   receiving   Head ──► Body ──► Trailers ──► Done ─┐
///                 └────────┴► Discarded ────────►────┤   the stream is forgotten when both sides are done
///   sending     Head ──► queued ──► Body ─────► Done ┘
/// ```
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    /// Bytes received and not looked at: an event of the stream was not taken yet, or it is blocked by QPACK.
    pub(crate) input: Bytes,
    /// Whether nothing follows them.
    pub(crate) fin: bool,
    pub(crate) reading: Reading,
    pub(crate) receiving: Receiving,
    pub(crate) content: Content,
    /// Those that the end of the stream will give out.
    pub(crate) trailers: Option<Box<Headers>>,
    /// Whether an event of the stream waits to be taken.
    pub(crate) has_event: bool,
    /// Whether the driver knows the exchange.
    pub(crate) is_known: bool,
    pub(crate) sending: Sending,
    /// Informational responses that wait for their turn.
    pub(crate) informational: Vec<ResponseHead>,
    pub(crate) head: Option<QueuedHead>,
    pub(crate) priority: Priority,
    /// Whether the client said the priority itself (RFC 9218 §4).
    pub(crate) said_priority: bool,
    pub(crate) exchange: ResponseContext,
    /// Whether the driver has data for it, or its end.
    pub(crate) ready: bool,
    /// Whether QUIC's flow control has room for it.
    pub(crate) writable: bool,
    /// Whether the scheduler has it.
    pub(crate) scheduled: bool,
    /// Informational responses that a client has received on it.
    pub(crate) informational_received: u8,
}

/// Where in the peer's frames the stream is.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Between two of them, or within a header.
    Header(HeaderReader),
    /// Within DATA: so many bytes are to come.
    Data(u64),
    /// Within a frame that is passed over: so many bytes are to come.
    Skipped(u64),
    /// Within HEADERS: what has come, and so many bytes are to come.
    Section(Vec<u8>, u64),
    /// HEADERS are whole, and wait for entries of QPACK's table (RFC 9204 §2.1.2).
    Blocked(Bytes),
}

impl Reading {
    /// Between two frames.
    pub(crate) fn between() -> Self {
        Self::Header(HeaderReader::default())
    }

    /// Whether the stream may end here (RFC 9114 §7.1).
    pub(crate) fn may_end(&self) -> bool {
        matches!(self, Self::Header(reader) if !reader.has_begun())
    }

    /// Bytes of a field section that are held.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Section(section, _) => section.len(),
            Self::Blocked(section) => section.len(),
            Self::Header(_) | Self::Data(_) | Self::Skipped(_) => 0,
        }
    }
}

/// The part of the peer's message that is still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    /// All of it.
    Head,
    /// The body, or its end.
    Body,
    /// Only the end: the trailers have come.
    Trailers,
    /// The body, which nobody reads; so many more bytes of it are passed over.
    Discarded(u32),
    /// Nothing: it has ended, or we asked the peer to stop.
    Done,
}

impl Stream {
    pub(crate) fn new(id: StreamId) -> Self {
        Self {
            id,
            input: Bytes::new(),
            fin: false,
            reading: Reading::between(),
            receiving: Receiving::Head,
            content: Content::UNBOUNDED,
            trailers: None,
            has_event: false,
            is_known: false,
            sending: Sending::Head,
            informational: Vec::new(),
            head: None,
            priority: Priority::DEFAULT,
            said_priority: false,
            exchange: ResponseContext::default(),
            ready: false,
            writable: true,
            scheduled: false,
            informational_received: 0,
        }
    }

    /// Whether the peer's message has come to its end within what was received.
    #[inline]
    pub(crate) fn is_at_end(&self) -> bool {
        self.fin && self.input.is_empty()
    }

    /// Whether nothing is left to be done for it.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.has_sent_all() && self.receiving == Receiving::Done
    }

    /// Whether all of our message was written.
    #[inline]
    pub(crate) fn has_sent_all(&self) -> bool {
        self.sending == Sending::Done && !self.has_head()
    }

    /// Whether a head waits to be written, or an informational one.
    #[inline]
    pub(crate) fn has_head(&self) -> bool {
        self.head.is_some() || !self.informational.is_empty()
    }

    /// Whether a turn would be of use to it.
    #[inline]
    fn wants_turn(&self) -> bool {
        self.writable && (self.has_head() || self.ready && self.sends_body())
    }

    /// Whether it could send more at once if the peer let it.
    pub(crate) fn waits_for_window(&self) -> bool {
        !self.writable && (self.has_head() || self.ready && self.sends_body())
    }

    /// Its claim on the scheduler.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        Claim { priority: self.priority, tunnel: self.exchange.tunnel }
    }

    fn sends_body(&self) -> bool {
        matches!(self.sending, Sending::Length(_) | Sending::UntilEnd)
    }

    /// Brings the scheduler up to date with what the stream wants.
    #[inline]
    pub(crate) fn schedule(&mut self, scheduler: &mut Scheduler) {
        let wants = self.wants_turn();
        if wants != self.scheduled {
            self.scheduled = wants;
            if wants {
                scheduler.insert(self.id, self.claim());
            } else {
                scheduler.remove(self.id, self.claim());
            }
        }
    }
}

// Ten thousand connections may each have ten of them.
const _: () = assert!(size_of::<Stream>() <= 256);
