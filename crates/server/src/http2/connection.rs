//! The loop of an HTTP/2 connection: receive, poll the exchanges, send, wait.

use std::{
    future::Future,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use serow_http2::Server;
use serow_message::{Connection, Handler, Request, Response};
use serow_net::More;

use super::{pace::Pace, waiting::Waiting};
use crate::{
    multiplexed::{Multiplexed, give_way},
    transport::{Transport, TransportError},
    worker::Worker,
};

/// An HTTP/2 connection; `C` calls the handler, `F` is the future that it returns.
pub(super) struct Http2<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(super) requests: Multiplexed<Server, H, C, F>,
    pub(super) transport: Transport<H>,
    pub(super) waiting: Waiting,
    pub(super) pace: Pace,
}

/// Why a connection ends.
pub(super) enum End {
    /// Gracefully, or with a GOAWAY: all output has been generated.
    Close,
    /// The peer has disconnected, or does not read.
    Cut(TransportError),
}

impl<H, C, F> Http2<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(super) fn new(worker: Rc<Worker<H>>, transport: Transport<H>, connection: Connection, call: C) -> Self {
        worker.clock.update();
        let now = Duration::from_millis(worker.clock.now().milliseconds());
        let mut machine = Server::new(worker.settings.limits.http2(), now);
        machine.set_alternative_service(transport.alternative.clone());
        let pace = Pace::new(worker.settings.pacing);
        let requests = Multiplexed::new(worker, machine, connection, call);
        Self { requests, transport, waiting: Waiting::Head, pace }
    }

    /// Works until it can only wait. Ready at the connection's end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.requests.exchanges.watch(context);
        self.requests.worker.clock.update();
        self.requests.machine.handle_timeout(self.now());
        if self.requests.worker.is_draining() {
            self.requests.machine.begin_shutdown();
        }
        loop {
            let understood = self.handle_input();
            if understood == Understood::TransportError {
                return Poll::Ready(End::Close);
            }
            self.requests.poll_woken();
            let blocked = match self.poll_send(context) {
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(broken)) => return Poll::Ready(End::Cut(broken)),
                Poll::Pending => true,
            };
            if self.requests.machine.is_finished() && !blocked {
                return Poll::Ready(End::Close);
            }
            if understood == Understood::Part {
                give_way(context);
                return Poll::Pending;
            }
            match self.transport.poll_fill(context) {
                Poll::Ready(Ok(1..)) => continue,
                Poll::Ready(Ok(0)) if self.requests.machine.active_streams() == 0 => return Poll::Ready(End::Close),
                Poll::Ready(Ok(_)) => {
                    return Poll::Ready(End::Cut(TransportError::Lost(std::io::ErrorKind::UnexpectedEof.into())));
                }
                Poll::Ready(Err(broken)) => return Poll::Ready(End::Cut(broken)),
                Poll::Pending => {}
            }
            if !blocked {
                self.watch_windows();
            }
            return self.poll_overdue(blocked, context);
        }
    }

    /// Passes the machine's counters on.
    pub(super) fn tell_counters(&mut self) {
        self.requests.tell_counters(self.pace.is_waiting());
    }

    /// The current time, for the machine.
    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.requests.worker.clock.now().milliseconds())
    }

    /// Closes the connection gracefully: sends the last frames (GOAWAY), and gives the client time to read them.
    pub(super) async fn close(&mut self) {
        self.requests.give_up_all();
        self.requests.machine.write_control(self.transport.output());
        self.transport.allow_any_time();
        if self.transport.flush(More::Nothing).await.is_err() {
            return;
        }
        match self.waiting {
            Waiting::Head | Waiting::Request => self.transport.close_overdue().await,
            _ => self.transport.close_gently().await,
        }
    }

    /// Handles the loss of the connection.
    pub(super) fn cut(&mut self, broken: &TransportError) {
        let peer = self.requests.connection.peer();
        match broken {
            TransportError::Lost(error) | TransportError::Unfinished(error) => {
                tracing::debug!(%peer, %error, "a connection was lost")
            }
            TransportError::TimedOut => tracing::debug!(%peer, "a connection timed out"),
        }
        self.requests.give_up_all();
        self.transport.cut();
    }
}

/// The result of receiving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Understood {
    /// All that is available.
    All,
    /// As much as is understood in one turn: there may be more.
    Part,
    /// The peer violated the protocol; a GOAWAY will be sent.
    TransportError,
}
