//! The loop of an HTTP/3 connection: receive, poll the exchanges, send, wait.

use std::{
    future::Future,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use serow_http3::{ErrorCode, Server};
use serow_message::{Connection, Handler, Request, Response};
use serow_quic::Http3Streams;
use serow_streams::ReceivedRequest;

use super::{early_data::EarlyHandshake, sending::Progress, waiting::Waiting};
use crate::{connection_deadline::ConnectionDeadline, multiplexed::Multiplexed, worker::Worker};

/// An HTTP/3 connection; `C` calls the handler, `F` is the future that it returns.
pub(super) struct Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(super) requests: Multiplexed<Server, H, C, F>,
    pub(super) streams: Http3Streams,
    pub(super) deadline: ConnectionDeadline,
    pub(super) waiting: Waiting,
    /// Until the handshake is complete, where requests are answered before.
    pub(super) handshake: Option<EarlyHandshake>,
    /// Requests whose handlers have not been called yet.
    pub(super) gathered: Vec<ReceivedRequest>,
}

/// Why a connection ends.
pub(super) enum End {
    /// We end it.
    Close { code: ErrorCode, reason: &'static str },
    /// The client has ended it, or is gone.
    Lost,
}

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    pub(super) fn new(
        worker: Rc<Worker<H>>,
        quic: serow_quic::Connection,
        connection: Connection,
        handshake: Option<EarlyHandshake>,
        call: C,
    ) -> Self {
        worker.clock.update();
        let now = Duration::from_millis(worker.clock.now().milliseconds());
        let machine = Server::new(worker.settings.limits.http3(), now);
        let deadline = ConnectionDeadline::new(worker.deadlines.register());
        Self {
            requests: Multiplexed::new(worker, machine, connection, call),
            streams: Http3Streams::new(quic),
            deadline,
            waiting: Waiting::Undecided,
            handshake,
            gathered: Vec::new(),
        }
    }

    /// Works until it can only wait. Ready at the connection's end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.requests.exchanges.watch(context);
        self.requests.worker.clock.update();
        if self.requests.worker.is_draining() {
            self.requests.machine.begin_shutdown();
        }
        self.streams.quic().poll_receive(context);
        loop {
            if let Some(end) = self.handle_quic_events() {
                return Poll::Ready(end);
            }
            self.complete_handshake();
            if let Some(end) = self.read_streams() {
                return Poll::Ready(end);
            }
            self.requests.poll_woken();
            self.streams.obey(&mut self.requests.machine);
            let progress = self.send(context);
            if self.requests.machine.is_finished() && self.streams.has_delivered_all() {
                return Poll::Ready(End::Close { code: ErrorCode::NO_ERROR, reason: "" });
            }
            match progress {
                Progress::TurnOver => return Poll::Pending,
                Progress::None if !self.has_readable() => break,
                Progress::None | Progress::Some => {}
            }
        }
        self.watch_windows();
        self.poll_overdue(context)
    }

    /// Passes the machine's counters on.
    pub(super) fn tell_counters(&mut self) {
        let is_held_back = self.streams.has_unwritten();
        self.requests.tell_counters(is_held_back);
    }

    /// The current time, for the machine.
    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.requests.worker.clock.now().milliseconds())
    }

    /// Ends the connection.
    pub(super) fn close(&mut self, code: ErrorCode, reason: &'static str) {
        self.requests.give_up_all();
        self.streams.quic().close(code.0, reason);
    }

    /// The client has ended it, or is gone.
    pub(super) fn lose(&mut self) {
        self.requests.give_up_all();
    }

    pub(super) fn into_quic(self) -> serow_quic::Connection {
        self.streams.into_quic()
    }
}
