//! One request and its response, among the others of its connection.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Poll},
};

use bytes::Bytes;
use serow_message::{
    Body, BodySender, Extensions, FileRange, Handler, Headers, Incoming, PendingUpgrade, Request, Response, StatusCode,
};
use serow_streams::{ReceivedRequest, StreamId};

use super::{Machine, Multiplexed, tunnel::Tunnel, turn::give_way, waiting_body::WaitingBody, websocket};
use crate::{access_log::RequestLogEntry, connection_deadline::ConnectionDeadline, exchange::Sent, worker::Worker};

/// An exchange in progress.
pub(crate) struct Exchange {
    pub(crate) stream: StreamId,
    pub(crate) stage: ResponseStage,
    /// The sender of the request's body, while the handler may read it.
    pub(crate) sender: Option<BodySender>,
    /// The received part of the body that the handler has not read yet; as much as the windows allow.
    pub(crate) received: WaitingBody,
    /// How the body ended, until the reader has been notified.
    pub(crate) ended: Option<Option<Headers>>,
    /// Where the client asks for a tunnel.
    pub(crate) upgrade: Option<PendingUpgrade>,
    pub(crate) is_websocket: bool,
    pub(crate) sent: Sent,
    /// Boxed, so that idle streams are small where there is no log.
    pub(crate) record: Option<Box<RequestLogEntry>>,
    /// Those of the response, which live until it is sent.
    pub(crate) extensions: Extensions,
    /// The client's deadline for this stream; created when it is first needed. Boxed, since most streams need none and
    /// exchanges are moved.
    pub(crate) deadline: Option<Box<ConnectionDeadline>>,
}

/// The state of the response.
pub(crate) enum ResponseStage {
    /// The handler is at work.
    Handling,
    /// The head is all there is.
    Head,
    /// All of the body is here.
    Bytes(Bytes),
    /// All of the body is in a file.
    File(Box<FileRange>),
    /// The body is streamed.
    Stream(Box<Streaming>),
    /// The stream no longer carries messages.
    Tunnel(Box<Tunnel>),
    /// The response has been sent; the request's body may still be read.
    Answered,
}

/// A streamed body.
pub(crate) struct Streaming {
    pub(crate) body: Body,
    /// The piece that is not sent yet.
    pub(crate) piece: Bytes,
    /// Whether the body is complete, and with which trailers.
    pub(crate) end: Option<Option<Headers>>,
}

impl Exchange {
    /// Notes that this many bytes of the response's body were sent.
    pub(crate) fn note_sent<H>(&mut self, bytes: usize, worker: &Worker<H>) {
        self.sent.body_bytes += bytes as u64;
        worker.counters.body_bytes_sent.add(bytes as u64);
        if let Some(deadline) = &mut self.deadline {
            deadline.note_sent(bytes, worker.settings.timeouts.body);
        }
    }

    /// Whether the client did not receive the response in time.
    fn has_waited_in_vain(&self) -> bool {
        self.deadline.as_ref().is_some_and(|deadline| deadline.has_waited_to_send_in_vain())
    }
}

impl Streaming {
    /// Whether the body is to be polled before anything can be sent.
    pub(super) fn lacks_piece(&self) -> bool {
        self.piece.is_empty() && self.end.is_none()
    }
}

/// The result of polling an exchange.
enum ExchangeProgress {
    /// It made progress; there may be more to do.
    Onward,
    /// It waits.
    Wait,
}

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Calls the handler.
    pub(crate) fn begin_exchange(&mut self, received: ReceivedRequest) {
        let is_connect = received.is_connect();
        let ReceivedRequest { stream, mut head, has_body, length, protocol } = received;
        M::requests(&self.worker.counters).add(1);
        let mut record = self.worker.log.is_some().then(|| {
            let mut record = Box::new(self.request_log.begin(Some(&head), &self.connection));
            record.note_stream(stream.get(), self.machine.priority(stream));
            record
        });
        let is_websocket = protocol.is_some_and(|protocol| websocket::present(&protocol, &mut head));
        // Bytes that follow a CONNECT belong to the tunnel.
        let (sender, body) = match has_body && !is_connect {
            false => (None, Body::empty()),
            true => {
                let (sender, incoming) = Incoming::channel(length);
                (Some(sender), incoming.into())
            }
        };
        let mut request = Request::new(head, body, self.connection.clone());
        if let (Some(record), Some(log)) = (&mut record, &self.worker.log) {
            record.ask_for_route(&**log, &mut request.extensions);
        }
        let mut upgrade = None;
        if is_connect {
            let (ours, theirs) = PendingUpgrade::channel();
            request = request.with_upgrade(theirs);
            upgrade = Some(ours);
        }
        let index = self.exchanges.add(Exchange {
            stream,
            stage: ResponseStage::Handling,
            sender,
            received: WaitingBody::default(),
            ended: None,
            upgrade,
            is_websocket,
            sent: Sent::default(),
            record,
            extensions: Extensions::new(),
            deadline: None,
        });
        let Some(place) = self.exchanges.place(index) else { return };
        let request = request.with_informational(place.informational.sender());
        let handler = &self.call;
        match catch_unwind(AssertUnwindSafe(|| handler(request))) {
            Ok(call) => self.exchanges.begin_call(index, call),
            Err(_) => return self.panicked(index),
        }
        self.poll_exchange(index);
    }

    /// Polls the exchanges that were woken.
    pub(crate) fn poll_woken(&mut self) {
        while let Some(index) = self.exchanges.next_woken() {
            self.poll_exchange(index);
        }
    }

    /// Polls an exchange until it waits.
    pub(crate) fn poll_exchange(&mut self, index: usize) {
        loop {
            let Some(place) = self.exchanges.place(index) else { return };
            let waker = place.waker.clone();
            let mut context = Context::from_waker(&waker);
            if let Some(exchange) = place.exchange.as_mut().filter(|exchange| exchange.has_waited_in_vain()) {
                // The client is to blame where the stream waits for its window, but not where it waits for its turn.
                if self.machine.waits_for_window(exchange.stream) {
                    return self.give_up(index, M::CANCEL);
                }
                exchange.deadline = None;
            }
            let step = match place.exchange.as_ref().map(|exchange| &exchange.stage) {
                Some(ResponseStage::Handling) => self.poll_call(index, &mut context),
                Some(ResponseStage::Stream(_)) => {
                    self.prepare_piece(index, &mut context);
                    ExchangeProgress::Wait
                }
                Some(ResponseStage::Tunnel(_)) => return self.poll_tunnel(index, &mut context),
                Some(
                    ResponseStage::Head | ResponseStage::Bytes(_) | ResponseStage::File(_) | ResponseStage::Answered,
                ) => ExchangeProgress::Wait,
                None => return,
            };
            if let ExchangeProgress::Wait = step
                && !self.forward_body(index, &mut context)
            {
                return;
            }
        }
    }

    /// Polls the handler.
    fn poll_call(&mut self, index: usize, context: &mut Context<'_>) -> ExchangeProgress {
        let Some(place) = self.exchanges.place(index) else { return ExchangeProgress::Wait };
        let Some(call) = place.call.as_mut().and_then(|call| call.as_mut().as_pin_mut()) else {
            return ExchangeProgress::Wait;
        };
        let polled = match catch_unwind(AssertUnwindSafe(|| call.poll(context))) {
            Ok(polled) => polled,
            Err(_) => {
                self.panicked(index);
                return ExchangeProgress::Wait;
            }
        };
        self.send_informational(index, polled.is_pending().then_some(context));
        match polled {
            Poll::Ready(response) => {
                self.exchanges.end_call(index);
                self.respond(index, response);
                ExchangeProgress::Onward
            }
            Poll::Pending => ExchangeProgress::Wait,
        }
    }

    /// Sends the queued informational responses.
    fn send_informational(&mut self, index: usize, context: Option<&mut Context<'_>>) {
        let Some(place) = self.exchanges.place(index) else { return };
        let heads = match context {
            Some(context) => place.informational.poll_take(context),
            None if place.informational.has_waiting() => place.informational.take(),
            None => return,
        };
        let Some(stream) = place.exchange.as_ref().map(|exchange| exchange.stream) else { return };
        for head in heads {
            // Out of turn, it would be behind the response: too late to be of use.
            let _ = self.machine.send_informational(stream, &head);
        }
    }

    /// Polls a streamed body where that may be its end, which needs no room. A body that is certain to have more bytes
    /// is polled in its turn: until the client opens its windows, they would be held in memory (CVE-2019-9517).
    fn prepare_piece(&mut self, index: usize, context: &mut Context<'_>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let ResponseStage::Stream(streaming) = &exchange.stage else { return };
        if !streaming.lacks_piece() {
            return;
        }
        let stream = exchange.stream;
        // Some bodies of others go on claiming the length that they had in the beginning.
        if streaming.body.length().is_some_and(|length| length > 0) && !self.machine.has_sent_length(stream) {
            self.machine.set_ready(stream, true);
        } else {
            self.poll_piece(index, context);
        }
    }

    /// Polls a streamed body for its next piece, and marks the stream as ready if there is one.
    pub(super) fn poll_piece(&mut self, index: usize, context: &mut Context<'_>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let stream = exchange.stream;
        let ResponseStage::Stream(streaming) = &mut exchange.stage else { return };
        match catch_unwind(AssertUnwindSafe(|| streaming.body.poll_next(context))) {
            Ok(Poll::Pending) => return self.machine.set_ready(stream, false),
            Ok(Poll::Ready(Some(Ok(frame)))) => match frame.into_data() {
                // It asks that others have their turn.
                Ok(piece) if piece.is_empty() => {
                    self.machine.set_ready(stream, false);
                    return give_way(context);
                }
                Ok(piece) => streaming.piece = piece,
                Err(frame) => {
                    streaming.end = Some(frame.trailers_ref().and_then(|trailers| trailers.try_into().ok()));
                }
            },
            Ok(Poll::Ready(None)) => streaming.end = Some(None),
            Ok(Poll::Ready(Some(Err(error)))) => {
                tracing::warn!(peer = %self.connection.peer(), %error, "a response could not be finished");
                return self.give_up(index, M::INTERNAL_ERROR);
            }
            Err(_) => return self.panicked(index),
        }
        self.machine.set_ready(stream, true);
    }

    /// A panic affects only its exchange.
    fn panicked(&mut self, index: usize) {
        tracing::error!(peer = %self.connection.peer(), "the service panicked; the stream is reset");
        if let Some(exchange) = self.exchanges.get(index).filter(|exchange| !exchange.sent.has_begun) {
            // For the client, the reset amounts to that status; the client did not leave by itself.
            (exchange.sent.status, exchange.sent.has_begun) = (StatusCode::INTERNAL_SERVER_ERROR, true);
        }
        self.give_up(index, M::INTERNAL_ERROR);
    }

    /// Aborts an exchange.
    #[cold]
    pub(crate) fn give_up(&mut self, index: usize, code: M::Code) {
        self.note_priority(index);
        if let Some(mut exchange) = self.exchanges.remove(index) {
            self.machine.reset(exchange.stream, code);
            self.log(&mut exchange, false);
        }
    }

    /// Logs the unfinished requests.
    pub(crate) fn give_up_all(&mut self) {
        for index in self.exchanges.indices() {
            self.give_up(index, M::CANCEL);
        }
    }

    /// Notes the final priority of an exchange for the log; call it while the machine still knows the stream.
    pub(crate) fn note_priority(&mut self, index: usize) {
        if self.worker.log.is_some()
            && let Some(exchange) = self.exchanges.get(index)
            && let Some(record) = &mut exchange.record
        {
            record.note_stream(exchange.stream.get(), self.machine.priority(exchange.stream));
        }
    }

    /// Counts and logs an exchange that was removed; `whole`: all of the response was sent.
    pub(crate) fn log(&mut self, exchange: &mut Exchange, whole: bool) {
        self.worker.counters.note_answered(exchange.sent.logged_status());
        if let (Some(record), Some(log)) = (exchange.record.take(), &self.worker.log) {
            record.write(&**log, Sent { status: exchange.sent.logged_status(), ..exchange.sent }, whole);
        }
    }
}
