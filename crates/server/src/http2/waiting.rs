//! The timeouts of an HTTP/2 connection: what it waits for, and for how long.

use std::{
    future::Future,
    task::{Context, Poll, ready},
    time::Duration,
};

use serow_http2::ErrorCode;
use serow_message::{Handler, Request, Response};

use super::connection::{End, Http2};
use crate::transport::TransportError;

/// The next action that the server waits for from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Send the rest of what it has begun: a frame, a header block, its first SETTINGS.
    Head,
    /// Send another request.
    Request,
    /// Send the end of requests that already have a response.
    Rest,
    /// Receive the output.
    Room,
    /// Send a last request, since the connection is draining.
    DrainGrace,
    /// Nothing: exchanges are in progress.
    Nothing,
    /// Not known yet, since a request has arrived, which may have a response already.
    Undecided,
}

impl<H, C, F> Http2<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Ready when the client took too long; otherwise the task is woken then.
    pub(super) fn poll_overdue(&mut self, blocked: bool, context: &mut Context<'_>) -> Poll<End> {
        let waiting = self.waits_for(blocked);
        if waiting == Waiting::Room {
            self.waiting = waiting;
            return self.transport.poll_unread(context).map(|()| End::Cut(TransportError::TimedOut));
        }
        if waiting != self.waiting {
            self.waiting = waiting;
            let timeouts = &self.requests.worker.settings.timeouts;
            match waiting {
                Waiting::Head if self.requests.exchanges.is_empty() => self.transport.allow_idle(timeouts.head),
                Waiting::Head => self.transport.allow(timeouts.head),
                Waiting::Request => self.transport.allow_idle(timeouts.idle),
                Waiting::Rest => self.transport.allow(REST),
                Waiting::Room | Waiting::DrainGrace | Waiting::Undecided => {}
                Waiting::Nothing => self.transport.allow_any_time(),
            }
        }
        if waiting == Waiting::DrainGrace {
            ready!(self.transport.poll_drain_grace(context));
            // The client does not answer. It may repeat elsewhere the requests that it sends from now on
            // (RFC 9113 §6.8).
            self.requests.machine.finish_shutdown();
            return Poll::Ready(End::Close);
        }
        if waiting == Waiting::Rest && self.transport.deadline.poll_overdue(context).is_ready() {
            self.requests.machine.reset_unfinished_requests();
            self.waiting = Waiting::Undecided;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if waiting == Waiting::Request {
            self.requests.exchanges.rest();
            self.requests.machine.release_memory();
        }
        // Also when there is no deadline: the worker wakes those who wait here when it begins to drain.
        self.transport.deadline.poll_overdue(context).map(|()| {
            let code = if waiting == Waiting::Head { ErrorCode::ENHANCE_YOUR_CALM } else { ErrorCode::NO_ERROR };
            self.requests.worker.counters.note_http2_error(code);
            self.requests.machine.fail(code, "timed out waiting for the client");
            End::Close
        })
    }

    /// Starts the timeout of the exchanges that cannot send until the client opens a window (CVE-2019-9517: a client
    /// requests large responses and does not receive them). A window that opens byte by byte does not extend the
    /// deadline.
    pub(super) fn watch_windows(&mut self) {
        let time = self.requests.worker.settings.timeouts.body;
        for stream in self.requests.machine.waiting_for_window() {
            let Some(place) =
                self.requests.exchanges.find(stream).and_then(|index| self.requests.exchanges.place(index))
            else {
                continue;
            };
            let mut context = Context::from_waker(&place.waker);
            if let Some(exchange) = &mut place.exchange {
                // Whether it is over is looked at when the exchange is woken.
                let _ = exchange.deadline(&self.requests.worker).poll_sending(&mut context, time);
            }
        }
    }

    fn waits_for(&self, blocked: bool) -> Waiting {
        if blocked {
            Waiting::Room
        } else if self.is_within_head() {
            Waiting::Head
        } else if !self.requests.exchanges.is_empty() {
            Waiting::Nothing
        } else if self.requests.worker.is_draining() {
            Waiting::DrainGrace
        } else if self.requests.machine.has_unfinished_requests() {
            Waiting::Rest
        } else {
            Waiting::Request
        }
    }

    /// Whether the client has begun something and still has to send the rest. DATA has a timeout of its own.
    fn is_within_head(&self) -> bool {
        let is_data = self.transport.input.get(FRAME_KIND) == Some(&DATA);
        !self.transport.input.is_empty() && !is_data || self.requests.machine.is_within_block()
    }
}

/// How long the end of a request may take after its response: a client that sends it without waiting has finished by
/// then, and one that waits learns that the server will not read it.
const REST: Duration = Duration::from_secs(1);

/// RFC 9113 §4.1: where a frame's header has its kind, and the kind of DATA (§6.1).
const FRAME_KIND: usize = 3;
const DATA: u8 = 0;
