//! The loop of an HTTP/3 connection: receive, poll the exchanges, send, wait.

use std::{
    future::Future,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use serow_http3::{ErrorCode, OwnStream, Server};
use serow_message::{Connection, Handler, Request, Response};
use serow_quic::{Dir, StreamId as QuicStream};

use super::{
    receiving::Readable,
    sending::{Progress, Undelivered, Unwritten},
    waiting::Waiting,
};
use crate::{connection_deadline::ConnectionDeadline, multiplexed::Multiplexed, worker::Worker};

/// An HTTP/3 connection; `C` calls the handler, `F` is the future that it returns.
pub(super) struct Http3<H, C, F> {
    pub(super) requests: Multiplexed<Server, H, C, F>,
    pub(super) quic: serow_quic::Connection,
    pub(super) deadline: ConnectionDeadline,
    pub(super) waiting: Waiting,
    /// Streams that may have something to read.
    pub(super) readable: Readable,
    /// What was taken from the exchanges, and QUIC had no room for.
    pub(super) unwritten: Unwritten,
    /// What QUIC has, and the client has not.
    pub(super) undelivered: Undelivered,
    /// Our unidirectional streams, once the client lets us open them.
    own: [Option<QuicStream>; OwnStream::ALL.len()],
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
    pub(super) fn new(worker: Rc<Worker<H>>, quic: serow_quic::Connection, connection: Connection, call: C) -> Self {
        worker.clock.update();
        let now = Duration::from_millis(worker.clock.now().milliseconds());
        let machine = Server::new(worker.settings.limits.http3(), now);
        let deadline = ConnectionDeadline::new(worker.deadlines.register());
        Self {
            requests: Multiplexed::new(worker, machine, connection, call),
            quic,
            deadline,
            waiting: Waiting::Undecided,
            readable: Readable::default(),
            unwritten: Unwritten::default(),
            undelivered: Undelivered::default(),
            own: [None; OwnStream::ALL.len()],
        }
    }

    /// Works until it can only wait. Ready at the connection's end.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<End> {
        self.requests.exchanges.watch(context);
        self.requests.worker.clock.update();
        if self.requests.worker.is_draining() {
            self.requests.machine.begin_shutdown();
        }
        self.quic.poll_receive(context);
        loop {
            if let Some(end) = self.handle_quic_events() {
                return Poll::Ready(end);
            }
            if let Some(end) = self.read_streams() {
                return Poll::Ready(end);
            }
            self.requests.poll_woken();
            self.obey();
            let progress = self.send(context);
            if self.requests.machine.is_finished() && self.has_delivered_all() {
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
        let is_held_back = !self.unwritten.is_empty();
        self.requests.tell_counters(is_held_back);
    }

    /// Whether the client has received all responses.
    pub(super) fn has_delivered_all(&self) -> bool {
        self.unwritten.is_empty() && self.undelivered.is_empty()
    }

    /// The current time, for the machine.
    pub(super) fn now(&self) -> Duration {
        Duration::from_millis(self.requests.worker.clock.now().milliseconds())
    }

    /// Ends the connection.
    pub(super) fn close(&mut self, code: ErrorCode, reason: &'static str) {
        self.requests.give_up_all();
        self.quic.close(code.0, reason);
    }

    /// The client has ended it, or is gone.
    pub(super) fn lose(&mut self) {
        self.requests.give_up_all();
    }

    pub(super) fn into_quic(self) -> serow_quic::Connection {
        self.quic
    }

    /// Writes what waits on our unidirectional streams.
    pub(super) fn write_own_streams(&mut self) {
        if !self.requests.machine.has_control() {
            return;
        }
        // They are short, and whatever waits of responses must not keep them waiting.
        self.quic.machine().set_send_window(u64::MAX);
        for (own, stream) in OwnStream::ALL.into_iter().zip(&mut self.own) {
            let waiting = self.requests.machine.control(own);
            if waiting.is_empty() {
                continue;
            }
            let quic = self.quic.machine();
            let Some(id) = stream.or_else(|| quic.streams().open(Dir::Uni)) else { break };
            if stream.replace(id).is_none() {
                // They go before all responses: a client waits for SETTINGS, and for entries of QPACK's table.
                let _ = quic.send_stream(id).set_priority(OWN_PRIORITY);
            }
            if let Ok(written) = quic.send_stream(id).write(waiting) {
                bytes::Buf::advance(waiting, written);
            }
        }
        self.limit_to_congestion_window();
    }

    /// Whether QUIC takes no more data of any stream for now.
    pub(super) fn is_full(&mut self) -> bool {
        let Some(control) = self.own.first().copied().flatten() else { return false };
        // A write without content fails only where no stream may send.
        matches!(self.quic.machine().send_stream(control).write(&[]), Err(serow_quic::WriteError::Blocked))
    }
}

/// Above that of every response.
const OWN_PRIORITY: i32 = 100;
