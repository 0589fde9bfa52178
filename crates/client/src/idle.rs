//! An HTTP/1.1 connection between two exchanges.

use std::{
    error::Error,
    fmt,
    task::{Context, Poll, Waker},
};

use serow_net::{Readable, event_loop_turn};
use tokio::task::coop::has_budget_remaining;

use crate::Http1;

/// An HTTP/1.1 connection that waits for its next request, and that has received nothing since the last response: only
/// such a connection can be pooled.
///
/// Bytes that arrive while no response is due would be taken for the response to the next request, which may be another
/// client's (RFC 9112 §6.3: they must not be processed as a response). So there are two checks: [`Http1::into_idle`]
/// refuses a connection that holds such bytes, and [`Self::into_active`] one that has received some meanwhile.
pub struct IdleHttp1 {
    connection: Box<Http1>,
    /// The turn of the event loop in which it became idle.
    since: u64,
}

/// The error of a connection that cannot serve another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotReusable {
    /// The exchange is not finished.
    Unfinished,
    /// The client or the server closes the connection, as either may at any time.
    Closed,
    /// The server sent bytes that no request asked for.
    Unsolicited,
}

impl IdleHttp1 {
    /// The caller has checked that nothing was received behind the last response.
    pub(crate) fn new(connection: Box<Http1>) -> Self {
        Self { connection, since: event_loop_turn() }
    }

    /// Whether the event loop has polled the kernel since this connection became idle, so that no system call is needed
    /// to detect received bytes.
    #[inline]
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.is_watched_in(event_loop_turn())
    }

    /// The same, where the caller has read the [turn](event_loop_turn) of this thread already.
    #[inline]
    #[must_use]
    pub fn is_watched_in(&self, turn: u64) -> bool {
        self.since != turn
    }

    /// Ready when the connection cannot serve another request: the server has closed it, or sent bytes.
    pub fn poll_unusable(&mut self, context: &mut Context<'_>) -> Poll<NotReusable> {
        match self.connection.poll_unsolicited(context) {
            Poll::Ready(Ok(0) | Err(_)) => Poll::Ready(NotReusable::Closed),
            Poll::Ready(Ok(_)) => Poll::Ready(NotReusable::Unsolicited),
            // A part of a TLS record: more than the tickets that servers send once, in front of a response.
            Poll::Pending if self.connection.wire().has_undecrypted() => Poll::Ready(NotReusable::Unsolicited),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Takes the connection for another exchange. If the event loop has not polled the kernel since the last response
    /// ([`Self::is_watched`]), this checks for received bytes by a system call.
    ///
    /// # Errors
    ///
    /// If the server has closed the connection, or sent bytes.
    pub fn into_active(self) -> Result<Box<Http1>, NotReusable> {
        let wire = self.connection.wire();
        let has_received = wire.socket().is_noted_readable() || wire.has_undecrypted();
        if self.is_watched() && !has_received {
            return Ok(self.connection);
        }
        self.look()
    }

    /// Takes the connection if the kernel has nothing for it.
    #[cold]
    fn look(mut self) -> Result<Box<Http1>, NotReusable> {
        // A task that has used up its budget sees no socket ready.
        let is_known = self.is_watched() && has_budget_remaining();
        if let Poll::Ready(why) = self.poll_unusable(&mut Context::from_waker(Waker::noop())) {
            return Err(why);
        }
        if is_known {
            return Ok(self.connection);
        }
        match self.connection.wire().socket().readable() {
            Readable::Nothing => Ok(self.connection),
            Readable::End => Err(NotReusable::Closed),
            // Of TLS these may be a ticket; it is not worth telling apart.
            Readable::Bytes if self.connection.wire().is_encrypted() => Err(NotReusable::Closed),
            Readable::Bytes => Err(NotReusable::Unsolicited),
        }
    }

    /// Takes the connection for another exchange without checking for received bytes: for clients that do not act for
    /// others, such as the load generator.
    #[must_use]
    pub fn into_active_unchecked(self) -> Box<Http1> {
        self.connection
    }

    /// Whether the last response had no content because of the request's method or its status: HEAD, 204 and 304. Some
    /// servers send content all the same, a moment later.
    #[must_use]
    pub fn may_be_overrun(&self) -> bool {
        self.connection.may_be_overrun()
    }
}

impl fmt::Display for NotReusable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unfinished => "the exchange is not finished",
            Self::Closed => "the connection is closed",
            Self::Unsolicited => "the server sent bytes that no request asked for",
        })
    }
}

impl Error for NotReusable {}
