//! Forwarding of request bodies to the handlers.

use std::{
    future::Future,
    task::{Context, Poll},
};

use serow_message::{BodySender, Handler, IncomingError, Request, Response, StatusCode, Wanted};

use super::{
    Machine, Multiplexed,
    exchange::{Exchange, ResponseStage},
};
use crate::{connection_deadline::ConnectionDeadline, worker::Worker};

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Sends a piece of the body to its reader, if the reader requests one; returns whether the reader has something to
    /// read.
    pub(crate) fn forward_body(&mut self, index: usize, context: &mut Context<'_>) -> bool {
        let Some(exchange) = self.exchanges.get(index) else { return false };
        let stream = exchange.stream;
        let Some(sender) = &exchange.sender else { return false };
        match sender.poll_wanted(context) {
            Poll::Ready(Wanted::More) => {}
            Poll::Ready(Wanted::Nothing) => {
                self.abandon(index);
                return false;
            }
            Poll::Pending => {
                if let Some(deadline) = &mut exchange.deadline {
                    deadline.pause(&self.worker.clock);
                }
                return false;
            }
        }
        if let Some(data) = exchange.received.pop() {
            self.machine.note_consumed(stream, data.len());
            sender.push(data, context);
            return true;
        }
        if let Some(trailers) = exchange.ended.take() {
            sender.finish(trailers);
            exchange.sender = None;
            exchange.deadline = None;
            if let ResponseStage::Answered = exchange.stage {
                self.conclude(index);
                return false;
            }
            return true;
        }
        if self.machine.awaits_continue(stream) {
            self.machine.send_continue(stream);
        }
        self.await_body(index, context)
    }

    /// Applies the client's timeout while the reader waits; returns whether it reported the timeout to the reader.
    fn await_body(&mut self, index: usize, context: &mut Context<'_>) -> bool {
        let Some(exchange) = self.exchanges.get(index) else { return false };
        let of_route = exchange.sender.as_ref().and_then(BodySender::timeout);
        let time = of_route.unwrap_or(self.worker.settings.timeouts.body);
        let deadline = exchange.deadline(&self.worker);
        if deadline.poll_receiving(context, time, &self.worker.clock).is_pending() {
            return false;
        }
        if let Some(sender) = exchange.sender.take() {
            sender.fail(IncomingError::TimedOut);
        }
        exchange.deadline = None;
        // As over HTTP/1: who does not send what it announced is told so, if nothing else was said before.
        if let ResponseStage::Handling = exchange.stage {
            self.exchanges.end_call(index);
            self.respond(index, Response::plain_status(StatusCode::REQUEST_TIMEOUT));
        }
        true
    }

    /// Discards the rest of the body, which the handler will not read.
    pub(crate) fn abandon(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let stream = exchange.stream;
        exchange.sender = None;
        exchange.ended = None;
        exchange.received.clear();
        exchange.deadline = None;
        let is_answered = matches!(exchange.stage, ResponseStage::Answered);
        self.machine.abandon_body(stream);
        if is_answered {
            self.conclude(index);
        }
    }
}

impl Exchange {
    /// The client's deadline for this stream.
    pub(crate) fn deadline<H>(&mut self, worker: &Worker<H>) -> &mut ConnectionDeadline {
        self.deadline.get_or_insert_with(|| Box::new(ConnectionDeadline::new(worker.deadlines.register())))
    }
}
