//! The timeouts of an HTTP/3 connection: what it waits for, and for how long.

use std::{
    future::Future,
    task::{Context, Poll, ready},
};

use serow_http3::ErrorCode;
use serow_message::{Handler, Request, Response};

use super::connection::{End, Http3};

/// The next action that the server waits for from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// Send the rest of a head.
    Head,
    /// Send another request.
    Request,
    /// Receive the rest of responses that were made.
    Delivery,
    /// Receive what QUIC holds, or allow more data: exchanges have something to send, and QUIC takes nothing of them.
    Room,
    /// Send a last request, since the connection is draining.
    DrainGrace,
    /// Close the connection, since it knows which request is the last.
    Linger,
    /// Nothing: exchanges are in progress.
    Nothing,
    /// Not known yet, since a request has arrived, which may have a response already.
    Undecided,
}

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Ready when the client took too long; otherwise the task is woken then.
    pub(super) fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<End> {
        if let Some(handshake) = &mut self.handshake
            && handshake.deadline.poll_overdue(&self.requests.worker, self.streams.quic(), context).is_ready()
        {
            return Poll::Ready(End::Close { code: ErrorCode::NO_ERROR, reason: "the handshake took too long" });
        }
        let waiting = self.waits_for();
        let timeouts = &self.requests.worker.settings.timeouts;
        if waiting != self.waiting {
            self.waiting = waiting;
            match waiting {
                Waiting::Head => self.deadline.allow_idle(timeouts.head),
                Waiting::Request => self.deadline.allow_idle(timeouts.idle),
                Waiting::Delivery => self.deadline.allow(timeouts.body),
                Waiting::DrainGrace | Waiting::Linger | Waiting::Room | Waiting::Undecided => {}
                Waiting::Nothing => self.deadline.allow(timeouts.idle / PINGS),
            }
        }
        if waiting == Waiting::DrainGrace {
            let quic = self.streams.quic();
            ready!(self.deadline.poll_drain_grace(context, || quic.round_trip()));
            // The client may repeat elsewhere the requests that it sends from now on (RFC 9114 §5.2).
            self.requests.machine.finish_shutdown();
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if waiting == Waiting::Linger {
            let (quic, most) = (self.streams.quic(), self.requests.worker.max_linger());
            ready!(self.deadline.poll_linger(context, || quic.round_trip(), most));
            return Poll::Ready(End::Close { code: ErrorCode::NO_ERROR, reason: "" });
        }
        if waiting == Waiting::Room {
            // Exchanges that have no turn do not watch a window of their own.
            self.deadline.note_sent(self.streams.take_written() as usize, timeouts.body);
            ready!(self.deadline.poll_sending(context, timeouts.body));
        }
        if waiting == Waiting::Request {
            self.requests.exchanges.rest();
            self.gathered = Vec::new();
            self.requests.machine.release_memory();
        }
        // Also when there is no deadline: the worker wakes those who wait here when it begins to drain.
        ready!(self.deadline.poll_overdue(context));
        if waiting == Waiting::Nothing {
            // A handler takes its time. Without a packet both sides would forget the connection (RFC 9000 §10.1.2).
            self.streams.quic().machine().ping();
            self.waiting = Waiting::Undecided;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let code = if waiting == Waiting::Head { ErrorCode::EXCESSIVE_LOAD } else { ErrorCode::NO_ERROR };
        self.requests.worker.counters.note_http3_error(code);
        Poll::Ready(End::Close { code, reason: "timed out waiting for the client" })
    }

    /// Starts the timeout of the exchanges that cannot send until the client opens a window: as over HTTP/2.
    pub(super) fn watch_windows(&mut self) {
        let time = self.requests.worker.settings.timeouts.body;
        for stream in self.requests.machine.waiting_for_window() {
            let exchanges = &mut self.requests.exchanges;
            let Some(place) = exchanges.find(stream).and_then(|index| exchanges.place(index)) else { continue };
            let mut context = Context::from_waker(&place.waker);
            if let Some(exchange) = &mut place.exchange {
                // Whether it is over is looked at when the exchange is woken.
                let _ = exchange.deadline(&self.requests.worker).poll_sending(&mut context, time);
            }
        }
    }

    fn waits_for(&self) -> Waiting {
        if !self.requests.exchanges.is_empty() {
            if self.streams.has_room() { Waiting::Nothing } else { Waiting::Room }
        } else if !self.streams.has_delivered_all() {
            Waiting::Delivery
        } else if self.requests.machine.has_named_last() {
            if self.requests.machine.is_idle() { Waiting::Linger } else { Waiting::Head }
        } else if self.requests.worker.is_draining() {
            Waiting::DrainGrace
        } else if self.requests.machine.is_within_head() {
            Waiting::Head
        } else {
            Waiting::Request
        }
    }
}

/// So many packets at least are sent in the time after which both sides forget a silent connection.
const PINGS: u32 = 3;
