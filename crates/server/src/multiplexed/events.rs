//! Passes the client's events to the exchanges.

use std::future::Future;

use bytes::Bytes;
use serow_message::{Handler, Headers, IncomingError, Request, RequestHead, Response, StatusCode};
use serow_streams::{Event, StreamId};

use super::{Machine, Multiplexed, exchange::ResponseStage};
use crate::exchange::Sent;

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Passes what the machine has received to the exchanges.
    pub(crate) fn handle(&mut self, event: Event<M::Code>) {
        match event {
            Event::Request(received) => self.begin_exchange(received),
            Event::Data { stream, data } => self.handle_data(stream, data),
            Event::End { stream, trailers } => self.handle_end(stream, trailers),
            Event::Reset { stream, code } => self.handle_reset(stream, code),
            Event::Refused { stream, status, head, reason } => self.handle_refusal(stream, status, head, reason),
            Event::GoAway { code } => {
                tracing::debug!(peer = %self.connection.peer(), %code, "the client sent GOAWAY");
            }
        }
    }

    fn handle_data(&mut self, stream: StreamId, data: Bytes) {
        self.worker.counters.body_bytes_received.add(data.len() as u64);
        let Some(index) = self.exchanges.find(stream) else { return };
        let Some(exchange) = self.exchanges.get(index) else { return };
        if let Some(deadline) = &mut exchange.deadline {
            deadline.note_received(data.len(), &self.worker.clock);
        }
        if let Some(record) = &mut exchange.record {
            record.note_received(data.len());
        }
        exchange.received.push(data);
        self.poll_exchange(index);
    }

    fn handle_end(&mut self, stream: StreamId, trailers: Option<Headers>) {
        let Some(index) = self.exchanges.find(stream) else { return };
        let Some(exchange) = self.exchanges.get(index) else { return };
        exchange.ended = Some(trailers);
        self.poll_exchange(index);
    }

    /// The client reset the stream, or violated the protocol on it.
    fn handle_reset(&mut self, stream: StreamId, code: M::Code) {
        let Some(mut exchange) = self.exchanges.find(stream).and_then(|index| self.exchanges.remove(index)) else {
            return;
        };
        let error = if M::is_malformed(code) { IncomingError::Malformed } else { IncomingError::Disconnected };
        if let Some(sender) = &exchange.sender {
            sender.fail(error);
        }
        let whole = matches!(exchange.stage, ResponseStage::Answered);
        self.log(&mut exchange, whole);
    }

    /// A request that the machine has refused by itself.
    fn handle_refusal(&mut self, stream: StreamId, status: StatusCode, head: Option<RequestHead>, reason: &str) {
        match status {
            StatusCode::PAYLOAD_TOO_LARGE => self.warn_of_size(stream, head.as_ref()),
            _ => tracing::debug!(peer = %self.connection.peer(), reason, %status, "refused a request"),
        }
        let index = self.exchanges.find(stream);
        if let Some(index) = index.filter(|index| self.exchanges.get(*index).is_some_and(|found| found.sent.has_begun))
        {
            return self.break_body_off(index);
        }
        match index.and_then(|index| self.exchanges.remove(index)) {
            Some(mut exchange) => {
                if let Some(sender) = &exchange.sender {
                    sender.fail(IncomingError::TooLarge);
                }
                (exchange.sent.status, exchange.sent.has_begun) = (status, true);
                self.log(&mut exchange, true);
            }
            None => {
                M::requests(&self.worker.counters).add(1);
                self.worker.counters.note_answered(status);
                if let Some(log) = &self.worker.log {
                    let mut record = self.request_log.begin(head.as_ref(), &self.connection);
                    record.note_stream(stream.get(), self.machine.priority(stream));
                    if let Some(head) = head {
                        record.note_refused(&**log, &self.worker.handler, head);
                    }
                    record.write(&**log, Sent::refusal(status), true);
                }
            }
        }
    }

    /// Logs that the body of a request is too large; a head that was handed out is in its record.
    #[cold]
    fn warn_of_size(&mut self, stream: StreamId, head: Option<&RequestHead>) {
        let exchange = self.exchanges.find(stream).and_then(|index| self.exchanges.get(index));
        let recorded = exchange.and_then(|exchange| exchange.record.as_ref()?.request());
        crate::oversized::note(head.or(recorded), self.connection.peer(), self.worker.settings.limits.body);
    }

    /// The machine receives no more of a body that has grown too large; the response that has begun goes on.
    fn break_body_off(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        if let Some(sender) = exchange.sender.take() {
            sender.fail(IncomingError::TooLarge);
        }
        (exchange.ended, exchange.deadline) = (None, None);
        exchange.received.clear();
        match exchange.stage {
            ResponseStage::Answered => self.conclude(index),
            _ => self.poll_exchange(index),
        }
    }
}
