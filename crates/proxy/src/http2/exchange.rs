//! An exchange over HTTP/2: the request on its way to a server, and the response on its way back.
//!
//! Until the head of the response has arrived, the task of the client's connection does the work. A task of its own
//! then forwards the rest of both bodies.

use std::{
    future::{self, poll_fn},
    rc::Rc,
    task::{Context, Poll, ready},
};

use serow_gateway::{BufferedSender, RequestBody, RequestSummary, ResponseBuffering};
use serow_http2::ReceivedResponse;
use serow_message::{Body, BoxError, Headers, Incoming, UpgradedIo, Wanted};
use tokio::time::Instant;

use super::{
    slot::Next,
    stream::{RequestProgress, Stream},
    tunnel,
};
use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    body_forwarding::{CutOff, ForwardingEnd, forward_until},
    exchange_deadline::{AwaitedStep, ExchangeDeadline},
    lease::Lease,
    request_head::OutgoingHead,
    server_response::{ResponseContent, ServerResponse, is_refusal},
    thread_local_pool::ThreadLocalPool,
};

/// An exchange in progress.
pub(crate) struct Exchange {
    pool: Rc<ThreadLocalPool>,
    lease: Lease,
    stream: Stream,
    pub(crate) deadline: ExchangeDeadline,
    asked: Option<Instant>,
    expectation: Expectation,
    /// When all of it has to be over.
    until: Option<Instant>,
}

/// RFC 9110 §10.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expectation {
    /// The body is sent.
    None,
    /// The server has to ask for the body.
    Waiting,
    /// The server has responded without asking for the body.
    Unasked,
}

impl Exchange {
    /// The exchange of a request that was begun on this stream.
    pub(crate) fn new(pool: Rc<ThreadLocalPool>, lease: Lease, stream: Stream, until: Option<Instant>) -> Self {
        let deadline = ExchangeDeadline::new(&pool);
        Self { pool, lease, stream, deadline, asked: None, expectation: Expectation::None, until }
    }

    /// Sends the body, and waits for the response. Where there is none, another attempt may send the body again, if all
    /// of it was kept.
    pub(crate) async fn answer(
        mut self,
        body: &mut RequestBody,
        request: &OutgoingHead,
        buffering: &ResponseBuffering,
    ) -> Result<ServerResponse, AttemptError> {
        if body.expects_continue() {
            self.expectation = Expectation::Waiting;
        }
        let ReceivedResponse { head, length, .. } = poll_fn(|context| self.poll_head(body, context)).await?;
        if self.expectation == Expectation::Waiting {
            self.expectation = if is_refusal(head.status) { Expectation::Unasked } else { Expectation::None };
        }
        let is_left = self.stream.request() == RequestProgress::Whole || self.expectation == Expectation::Unasked;
        let mut body = if is_left { RequestBody::default() } else { std::mem::take(body) };
        body.release();
        let asked = self.asked;
        let content = self.into_body(body, length, &head.headers, request, buffering);
        Ok(ServerResponse { head, content: ResponseContent::Body(content), asked, is_unframed: false })
    }

    /// Waits for the server to accept the tunnel. If it declines, its response is forwarded like any other.
    pub(crate) async fn agreement(
        mut self,
        request: &OutgoingHead,
        buffering: &ResponseBuffering,
    ) -> Result<ServerResponse, AttemptError> {
        let response = poll_fn(|context| {
            self.stream.watch(context);
            match self.stream.take_head() {
                Ok(Some(head)) => return Poll::Ready(Ok(head)),
                Ok(None) => self.deadline.wait_for(AwaitedStep::BeginResponse),
                Err(failure) => return Poll::Ready(Err(failure)),
            }
            let over = self.deadline.poll_over(context);
            over.map(|time| Err(AttemptError::of_exchange(Cause::TimedOut(time), Processed::Maybe)))
        });
        let ReceivedResponse { head, length, .. } = response.await?;
        if head.status.is_success() {
            let Self { lease, stream, asked, .. } = self;
            let tunnel: Box<dyn UpgradedIo> = Box::new(tunnel::open(stream));
            return Ok(ServerResponse {
                head,
                content: ResponseContent::Tunnel(Box::pin(future::ready(Some((tunnel, lease))))),
                asked,
                is_unframed: false,
            });
        }
        let asked = self.asked;
        let content = self.into_body(RequestBody::default(), length, &head.headers, request, buffering);
        Ok(ServerResponse { head, content: ResponseContent::Body(content), asked, is_unframed: false })
    }

    fn poll_head(
        &mut self,
        body: &mut RequestBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<ReceivedResponse, AttemptError>> {
        self.stream.watch(context);
        match self.stream.take_head() {
            Ok(Some(head)) => return Poll::Ready(Ok(head)),
            Ok(None) => {}
            Err(failure) => return Poll::Ready(Err(failure)),
        }
        loop {
            match self.poll_send(body, context) {
                Ok(waiting) => self.deadline.wait_for(waiting),
                Err(error) => return Poll::Ready(Err(AttemptError::of_exchange(Cause::Body(error), Processed::Maybe))),
            }
            let time = ready!(self.deadline.poll_over(context));
            if self.expectation != Expectation::Waiting {
                return Poll::Ready(Err(AttemptError::of_exchange(Cause::TimedOut(time), Processed::Maybe)));
            }
            self.expectation = Expectation::None;
        }
    }

    /// Sends more of the request's body; returns the step to wait for. The error is the client's.
    fn poll_send(&mut self, body: &mut RequestBody, context: &mut Context<'_>) -> Result<AwaitedStep, BoxError> {
        match self.expectation {
            Expectation::Waiting if !self.stream.is_body_asked_for() => return Ok(AwaitedStep::AskForBody),
            Expectation::Unasked => return Ok(AwaitedStep::BeginResponse),
            Expectation::Waiting | Expectation::None => self.expectation = Expectation::None,
        }
        if self.stream.wants_data() {
            // The server accepted the data.
            self.deadline.note_progress();
        }
        match self.stream.poll_send(body, context) {
            Poll::Pending => Ok(AwaitedStep::Nothing),
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) if self.stream.request().is_whole() => {
                self.asked.get_or_insert_with(Instant::now);
                Ok(AwaitedStep::BeginResponse)
            }
            Poll::Ready(Ok(())) => Ok(AwaitedStep::TakeRequest),
        }
    }

    /// The body of the response. Most responses are complete by now; a task forwards the rest of others.
    fn into_body(
        mut self,
        request: RequestBody,
        length: Option<u64>,
        headers: &Headers,
        head: &OutgoingHead,
        buffering: &ResponseBuffering,
    ) -> Body {
        self.deadline.wait_for(AwaitedStep::Nothing);
        if let Some(received) = self.stream.take_whole() {
            if !self.stream.request().is_whole() {
                tokio::task::spawn_local(self.send_rest(request));
            }
            return received.into_body();
        }
        let (sender, incoming) = Incoming::channel(length);
        let sender = BufferedSender::new(sender, buffering.settings_for(length, headers));
        tokio::task::spawn_local(self.forward_body(request, sender, head.asked()));
        incoming.into()
    }

    /// Forwards the body of the response as the client reads it.
    async fn forward_body(mut self, mut request: RequestBody, mut sender: BufferedSender, asked: RequestSummary) {
        let until = self.until;
        match forward_until(until, poll_fn(|context| self.poll_forward(&mut request, &mut sender, context))).await {
            Ok(ForwardingEnd::Complete) => {
                sender.deliver_rest();
                self.send_rest(request).await;
            }
            Ok(ForwardingEnd::Abandoned) => {}
            Err(cut) => {
                cut.report(&mut sender, &self.pool, self.lease.server(), &asked);
                sender.deliver_rest();
            }
        }
    }

    fn poll_forward(
        &mut self,
        request: &mut RequestBody,
        sender: &mut BufferedSender,
        context: &mut Context<'_>,
    ) -> Poll<Result<ForwardingEnd, CutOff>> {
        self.stream.watch(context);
        loop {
            // The client may still be sending; its errors are handled elsewhere.
            if self.poll_send(request, context).is_err() {
                return Poll::Ready(Ok(ForwardingEnd::Abandoned));
            }
            match sender.poll_wanted(context) {
                Poll::Ready(Wanted::More) => self.deadline.note_read(),
                Poll::Ready(Wanted::Nothing) => return Poll::Ready(Ok(ForwardingEnd::Abandoned)),
                Poll::Pending => {
                    ready!(self.deadline.poll_unread(sender, context));
                    continue;
                }
            }
            match self.stream.next() {
                Next::Piece(piece) => {
                    self.deadline.note_progress();
                    sender.push(piece, context);
                }
                Next::End(trailers) => {
                    sender.finish(trailers);
                    return Poll::Ready(Ok(ForwardingEnd::Complete));
                }
                Next::Lost(lost) => return Poll::Ready(Err(CutOff::lost(&lost))),
                Next::Awaited => {
                    self.deadline.wait_for(AwaitedStep::ContinueResponse);
                    if sender.poll_abandoned(context).is_ready() {
                        return Poll::Ready(Ok(ForwardingEnd::Abandoned));
                    }
                    return self.deadline.poll_over(context).map(|time| Err(CutOff::silent(time)));
                }
            }
        }
    }

    /// The response is whole, and the request is not: the server may still want it (RFC 9113 §8.1).
    async fn send_rest(mut self, mut request: RequestBody) {
        let until = self.until;
        let sending = poll_fn(|context| {
            self.stream.watch(context);
            if self.stream.is_lost() {
                return Poll::Ready(Ok(ForwardingEnd::Abandoned));
            }
            match self.poll_send(&mut request, context) {
                Err(_) => Poll::Ready(Ok(ForwardingEnd::Abandoned)),
                Ok(AwaitedStep::BeginResponse) => Poll::Ready(Ok(ForwardingEnd::Complete)),
                Ok(waiting) => {
                    self.deadline.wait_for(waiting);
                    self.deadline.poll_over(context).map(|time| Err(CutOff::silent(time)))
                }
            }
        });
        // The client has its response, so errors are ignored.
        let _ = forward_until(until, sending).await;
    }
}
