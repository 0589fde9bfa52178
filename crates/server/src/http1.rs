//! An HTTP/1.1 connection: requests and responses in turn.

mod body_forwarding;
mod exchange;
mod respond;

use std::{
    future::poll_fn,
    io,
    rc::Rc,
    task::{Context, Poll},
    thread,
};

use bytes::BytesMut;
use serow_http1::{Event, Next, ProtocolError, Server};
use serow_message::{Connection, Handler, InformationalQueue, PendingUpgrade, RequestHead, StatusCode};
use serow_net::{More, Tunnel};
use tokio::task::yield_now;

use crate::{
    access_log::{RequestLog, RequestLogEntry},
    connection_counter::ConnectionGuard,
    exchange::{Sent, client_left},
    guarded_io::GuardedIo,
    transport::{Transport, TransportError},
    worker::Worker,
};

/// An HTTP/1.1 connection.
struct Http1<H> {
    worker: Rc<Worker<H>>,
    transport: Transport<H>,
    machine: Server,
    connection: Connection,
    request_log: RequestLog,
    /// The log entry of the request that is in progress, if there is a log. Boxed, so that connections without a log
    /// do not pay for its size.
    record: Option<Box<RequestLogEntry>>,
    /// The part of its response that was sent.
    sent: Sent,
    informational: InformationalQueue,
    /// Whether there is a request that counts as being in progress.
    in_progress: bool,
}

/// Why a connection ends.
enum End {
    /// Gracefully: all responses are sent.
    Close,
    /// The peer made a mistake or took too long; the server sends it an error response.
    Refuse(StatusCode),
    /// The request gets no response; the status for the log.
    Unanswered(StatusCode),
    /// A response cannot be finished, or the peer has disconnected.
    Cut(TransportError),
    /// The connection belongs to the handler now.
    Tunnel(PendingUpgrade),
}

impl End {
    /// The logged part of a request without a response from the handler.
    fn status(&self) -> StatusCode {
        match self {
            Self::Refuse(status) | Self::Unanswered(status) => *status,
            _ => client_left(),
        }
    }
}

/// Serves a connection until its end.
pub(crate) async fn serve<H: Handler>(
    worker: Rc<Worker<H>>,
    transport: Transport<H>,
    connection: Connection,
    guard: ConnectionGuard,
) {
    let machine = Server::new(worker.settings.limits.http1());
    let (request_log, informational) = (RequestLog::default(), InformationalQueue::default());
    let (record, sent, in_progress) = (None, Sent::default(), false);
    let mut http1 =
        Http1 { worker, transport, machine, connection, request_log, record, sent, informational, in_progress };
    match Watched(&mut http1).exchanges().await {
        End::Close | End::Unanswered(_) => http1.close().await,
        End::Refuse(status) => http1.refuse(status).await,
        End::Cut(broken) => http1.cut(&broken),
        End::Tunnel(pending) => {
            let (wire, received) = http1.transport.into_parts();
            // Counted as a connection of its worker until it is dropped, so that a stopping server waits for it.
            pending.fulfil(GuardedIo::new(Tunnel::new(wire, BytesMut::new()), guard), received);
            return;
        }
    }
    http1.transport.give_back();
}

impl<H: Handler> Http1<H> {
    /// Serves one request after the other, until the connection ends.
    async fn exchanges(&mut self) -> End {
        // Bytes that came along with a PROXY header already wait to be parsed.
        let mut nothing_waits = self.transport.input.is_empty();
        let mut pipelined = 0;
        loop {
            if nothing_waits && let Err(end) = poll_fn(|context| self.poll_more_of_head(context)).await {
                self.log_refusal(&end);
                return end;
            }
            nothing_waits = true;
            loop {
                match self.machine.receive(&mut self.transport.input) {
                    Ok(Some(Event::Head(request))) => {
                        if let Err(end) = self.exchange(request).await {
                            return end;
                        }
                    }
                    Ok(_) => break,
                    Err(error) => {
                        let end = self.mistake(error);
                        self.log_refusal(&end);
                        return end;
                    }
                }
                let timeouts = &self.worker.settings.timeouts;
                if self.transport.input.is_empty() {
                    self.transport.allow_idle(timeouts.idle);
                    break;
                }
                self.transport.allow_idle(timeouts.head);
                pipelined += 1;
                if pipelined % PIPELINED_IN_TURN == 0 {
                    yield_now().await;
                }
            }
        }
    }

    /// Receives more of the next request's head.
    fn poll_more_of_head(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        // Responses to pipelined requests leave together, but not later than this.
        if !self.transport.output.is_empty()
            && let Poll::Ready(Err(broken)) = self.transport.poll_flush(context, More::Nothing)
        {
            return Poll::Ready(Err(End::Cut(broken)));
        }
        let was_idle = self.transport.input.is_empty();
        match self.transport.poll_fill(context) {
            Poll::Ready(Ok(0)) => {
                let clean = self.machine.handle_end(&self.transport.input);
                Poll::Ready(Err(clean.map_or_else(|error| self.mistake(error), |()| End::Close)))
            }
            Poll::Ready(Ok(_)) => {
                if was_idle {
                    self.transport.allow_idle(self.worker.settings.timeouts.head);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(broken)) => Poll::Ready(Err(End::Cut(broken))),
            Poll::Pending if was_idle && self.worker.is_draining() => {
                self.transport.poll_drain_grace(context).map(|()| Err(End::Close))
            }
            Poll::Pending => self
                .transport
                .deadline
                .poll_overdue(context)
                .map(|()| Err(if was_idle { End::Close } else { End::Refuse(StatusCode::REQUEST_TIMEOUT) })),
        }
    }

    /// Logs the refusal of bytes that did not become a request.
    fn log_refusal(&mut self, end: &End) {
        let End::Refuse(status) = end else { return };
        self.worker.counters.note_refused_http1(*status);
        let head = self.machine.take_refused();
        if *status == StatusCode::PAYLOAD_TOO_LARGE {
            self.warn_of_size(head.as_ref());
        }
        if let Some(log) = &self.worker.log {
            let mut record = self.request_log.begin(head.as_ref(), &self.connection);
            if let Some(head) = head {
                record.note_refused(&**log, &self.worker.handler, head);
            }
            record.write(&**log, Sent::refusal(*status), true);
        }
    }

    /// The request is over, with this status: counts it, and writes its log entry.
    #[inline]
    fn note_answered(&mut self, status: StatusCode, is_whole: bool) {
        self.in_progress = false;
        self.worker.counters.note_answered(status);
        if let (Some(record), Some(log)) = (self.record.take(), &self.worker.log) {
            record.write(&**log, Sent { status, ..self.sent }, is_whole);
        }
    }

    /// Logs that the body of a request is too large.
    #[cold]
    fn warn_of_size(&self, head: Option<&RequestHead>) {
        crate::oversized::note(head, self.connection.peer(), self.worker.settings.limits.body);
    }

    fn mistake(&self, error: ProtocolError) -> End {
        match error {
            ProtocolError::Incomplete => End::Cut(TransportError::Lost(io::ErrorKind::UnexpectedEof.into())),
            // Its request is in the log.
            ProtocolError::BodyTooLarge => End::Refuse(error.status()),
            error => {
                tracing::debug!(peer = %self.connection.peer(), %error, "refused a request");
                End::Refuse(error.status())
            }
        }
    }

    /// Closes the connection gracefully. A client that has nothing more to send does not need a lingering close; one
    /// that learns only from the response that it is the last may have sent its next request already.
    async fn close(&mut self) {
        if self.has_received_last() || self.machine.is_idle() && self.transport.input.is_empty() {
            // The end of a socket is not that of a session; and where this fails, the connection has ended.
            if !self.transport.output.is_empty() || self.transport.wire.is_encrypted() {
                let _ = self.transport.finish_sending().await;
            }
        } else if self.transport.flush(More::Nothing).await.is_ok() {
            self.transport.close_gently().await;
        }
    }

    /// Whether the client has sent its last request, and nothing behind it.
    fn has_received_last(&self) -> bool {
        self.machine.has_received_all() && !self.worker.is_draining() && self.transport.input.is_empty()
    }

    /// Whether the connection is closed, without lingering, when the response in progress is sent.
    #[inline]
    fn closes_at_once(&self) -> bool {
        !self.machine.is_persistent() && self.has_received_last()
    }

    /// Sends the client the reason as an error response; if its response has begun already, resets the connection.
    async fn refuse(&mut self, status: StatusCode) {
        if self.machine.has_begun_response() && self.machine.begin_next() == Next::Unfinished {
            return self.cut(&TransportError::TimedOut);
        }
        let date = self.worker.clock.date_line();
        self.machine.refuse(status, &date, self.transport.output());
        if self.transport.flush(More::Nothing).await.is_err() {
            return;
        }
        match status {
            StatusCode::REQUEST_TIMEOUT => self.transport.close_overdue().await,
            _ => self.transport.close_gently().await,
        }
    }

    /// Resets the connection, so that the client does not take a partial response for a complete one.
    fn cut(&self, broken: &TransportError) {
        let peer = self.connection.peer();
        match broken {
            TransportError::Lost(error) => tracing::debug!(%peer, %error, "a connection was lost"),
            TransportError::TimedOut => tracing::debug!(%peer, "a connection timed out"),
            TransportError::Unfinished(error) => tracing::warn!(%peer, %error, "a response could not be finished"),
        }
        self.transport.cut();
    }
}

/// A connection that is served. If it is dropped before its end (the service panics, which affects only this
/// connection; or the server does not wait any longer), the peer must not take a partial response for a complete one.
struct Watched<'a, H: Handler>(&'a mut Http1<H>);

impl<H: Handler> Watched<'_, H> {
    async fn exchanges(self) -> End {
        let end = self.0.exchanges().await;
        std::mem::forget(self);
        end
    }
}

impl<H: Handler> Drop for Watched<'_, H> {
    fn drop(&mut self) {
        let mut status = self.0.sent.logged_status();
        if thread::panicking() {
            let peer = self.0.connection.peer();
            tracing::error!(%peer, "the service panicked; its connection is closed");
            status = StatusCode::INTERNAL_SERVER_ERROR;
        }
        if self.0.in_progress {
            self.0.note_answered(status, false);
        }
        self.0.transport.cut();
    }
}

/// The number of pipelined requests of one connection that are served before other connections get their turn: well
/// under a millisecond of work, if handlers are quick.
const PIPELINED_IN_TURN: u32 = 64;
