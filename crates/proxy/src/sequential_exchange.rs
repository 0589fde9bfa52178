//! An exchange on a connection that carries one at a time, of HTTP/1.1 or FastCGI: the request on its way to a server, and
//! the response on its way back.
//!
//! Until the head of the response has arrived, the task of the client's connection does the work. A task of its own
//! then forwards the rest of the body, as fast as the client reads it, or faster, into a buffer.

mod response_body;

use std::{
    future::poll_fn,
    rc::Rc,
    task::{Context, Poll, ready},
};

use serow_client::{ClientError, ResponsePipe, SequentialConnection};
use serow_gateway::ResponseBuffering;
use serow_http1::{Event, Framing, ReceivedResponse};
use serow_message::{BodyLength, BoxError, InformationalSender, RequestHead, StatusCode};
use tokio::time::Instant;

use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    body_forwarding::{CutOff, ForwardingEnd, forward_until},
    exchange_deadline::{AwaitedStep, ExchangeDeadline},
    lease::Lease,
    request_body::{Piece, RequestBody},
    request_head,
    server::Server,
    server_response::{ResponseContent, ServerResponse, is_refusal, pass_on},
    thread_local_pool::ThreadLocalPool,
};

/// An exchange in progress.
pub(crate) struct SequentialExchange<C> {
    pool: Rc<ThreadLocalPool>,
    lease: Lease,
    /// Boxed, since it is moved often.
    connection: Box<C>,
    pub(crate) deadline: ExchangeDeadline,
    request: RequestProgress,
    /// The body of the request, if it has one; boxed, since most have none, and the exchange is moved with it.
    body: Option<Box<RequestBody>>,
    pipe: ResponsePipe,
    asked: Option<Instant>,
    is_reused: bool,
    /// Bytes that had come before.
    received_before: u64,
    /// When all of it has to be over.
    until: Option<Instant>,
}

/// The part of the request that has not been sent.
enum RequestProgress {
    /// The body, which the server has to ask for (RFC 9110 §10.1.1).
    Expected,
    /// The body, or the rest of it.
    Body,
    /// All of it was handed to the connection.
    Whole,
    /// The server reads no more; its response may say why.
    Refused(ClientError),
    /// The server has responded without asking for the body.
    Unasked,
}

impl<C: SequentialConnection> SequentialExchange<C> {
    /// An exchange on this connection, which served others before, or did not.
    pub(crate) fn new(
        pool: Rc<ThreadLocalPool>,
        lease: Lease,
        connection: Box<C>,
        is_reused: bool,
        until: Option<Instant>,
    ) -> Self {
        let (deadline, request, body) = (ExchangeDeadline::new(&pool), RequestProgress::Whole, None);
        let (received_before, pipe) = (connection.received(), ResponsePipe::default());
        Self { pool, lease, connection, deadline, request, body, pipe, asked: None, is_reused, received_before, until }
    }

    pub(crate) fn server(&self) -> &Server {
        self.lease.server()
    }

    /// Sends the request and waits for the response. The body is read only when the server has room for it;
    /// informational responses go to the client. Without a response, the body is returned for another attempt.
    pub(crate) async fn response(
        &mut self,
        head: &RequestHead,
        body: &mut RequestBody,
        informational: &InformationalSender,
    ) -> Result<ReceivedResponse, AttemptError> {
        let length = body.length().map_or(BodyLength::Unknown, BodyLength::Known);
        let has_body = self
            .connection
            .send_head(head, length)
            .map_err(|misuse| AttemptError::of_exchange(Cause::Unsendable(misuse), Processed::Never))?;
        if has_body {
            let mut body = Box::new(std::mem::take(body));
            // A server of HTTP/1.1 does not say that it left a request alone.
            if !head.method.is_idempotent() && !self.pool.upstream.settings().retries.all_methods {
                body.release();
            }
            let expected = body.expects_continue();
            self.request = if expected { RequestProgress::Expected } else { RequestProgress::Body };
            self.body = Some(body);
        }
        let response = poll_fn(|context| self.poll_head(context, informational)).await;
        let (RequestProgress::Expected, Ok(received)) = (&self.request, &response) else {
            match (&response, &mut self.body) {
                (Ok(_), Some(sent)) => sent.release(),
                (Err(_), Some(sent)) => *body = std::mem::take(&mut **sent),
                (_, None) => {}
            }
            return response;
        };
        if is_refusal(received.head.status) {
            self.request = RequestProgress::Unasked;
            *body = self.body.take().map(|body| *body).unwrap_or_default();
        } else {
            self.ask_for_body();
        }
        response
    }

    /// The body is read, so that the client gets `100 Continue`; returns whether it had not been before.
    fn ask_for_body(&mut self) -> bool {
        let is_expected = matches!(self.request, RequestProgress::Expected);
        if is_expected {
            self.request = RequestProgress::Body;
        }
        is_expected
    }

    /// The part of the response after its head.
    pub(crate) fn into_answer(
        self,
        response: ReceivedResponse,
        request: &request_head::OutgoingHead,
        buffering: &ResponseBuffering,
    ) -> Result<ServerResponse, AttemptError> {
        let ReceivedResponse { head, framing } = response;
        let asked = self.asked;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(ServerResponse { head, content: self.into_tunnel(), asked, is_unframed: false });
        }
        let is_unframed = framing == Framing::UntilClose;
        let body = self.into_body(framing, &head.headers, request, buffering);
        let body =
            body.map_err(|broken| AttemptError::of_exchange(Cause::ConnectionLost(broken.into()), Processed::Maybe))?;
        Ok(ServerResponse { head, content: ResponseContent::Body(body), asked, is_unframed })
    }

    /// The connection as a tunnel. That begins behind the body of the request, even where the server agrees to it before
    /// (RFC 9110 §7.8).
    fn into_tunnel(mut self) -> ResponseContent {
        ResponseContent::Tunnel(Box::pin(async move {
            let until = self.until;
            let sent = forward_until(until, poll_fn(|context| self.poll_send_rest(context))).await;
            let is_whole = matches!(sent, Ok(ForwardingEnd::Complete));
            self.connection.into_tunnel().filter(|_| is_whole).map(|tunnel| (tunnel, self.lease))
        }))
    }

    /// Sends the rest of the request.
    fn poll_send_rest(&mut self, context: &mut Context<'_>) -> Poll<Result<ForwardingEnd, CutOff>> {
        match self.poll_send(context) {
            Ok(AwaitedStep::BeginResponse) if matches!(self.request, RequestProgress::Whole) => {
                Poll::Ready(Ok(ForwardingEnd::Complete))
            }
            Ok(AwaitedStep::BeginResponse) | Err(_) => Poll::Ready(Ok(ForwardingEnd::Abandoned)),
            Ok(waiting) => {
                self.deadline.wait_for(waiting);
                self.deadline.poll_over(context).map(|time| Err(CutOff::silent(time)))
            }
        }
    }

    fn poll_head(
        &mut self,
        context: &mut Context<'_>,
        informational: &InformationalSender,
    ) -> Poll<Result<ReceivedResponse, AttemptError>> {
        loop {
            match self.poll_send(context) {
                Ok(waiting) => self.deadline.wait_for(waiting),
                Err(error) => return Poll::Ready(Err(AttemptError::of_exchange(Cause::Body(error), Processed::Maybe))),
            }
            match self.connection.poll_receive(context) {
                Poll::Ready(Ok(Event::Head(response))) if response.is_informational() => {
                    if response.head.status == StatusCode::CONTINUE {
                        self.ask_for_body();
                    }
                    pass_on(informational, response.head);
                }
                Poll::Ready(Ok(Event::Head(response))) => return Poll::Ready(Ok(response)),
                // There is none before a head.
                Poll::Ready(Ok(Event::Data(_) | Event::End(_))) => {}
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(self.broken(broken))),
                Poll::Pending => {
                    let time = ready!(self.deadline.poll_over(context));
                    if !self.ask_for_body() {
                        return Poll::Ready(Err(AttemptError::of_exchange(Cause::TimedOut(time), Processed::Maybe)));
                    }
                }
            }
        }
    }

    /// Sends more of the request's body, as far as the server accepts and the client provides it; returns the step to
    /// wait for. The error is the client's.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Result<AwaitedStep, BoxError> {
        loop {
            if self.connection.has_unsent() {
                match self.connection.poll_flush(context) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(broken)) => {
                        self.request = RequestProgress::Refused(broken);
                        return Ok(AwaitedStep::BeginResponse);
                    }
                    Poll::Pending => return Ok(AwaitedStep::TakeRequest),
                }
            }
            let body = match (&self.request, &mut self.body) {
                (RequestProgress::Body, Some(body)) => body,
                (RequestProgress::Expected, _) => return Ok(AwaitedStep::AskForBody),
                _ => return Ok(AwaitedStep::BeginResponse),
            };
            let Poll::Ready(piece) = body.poll_next(context) else { return Ok(AwaitedStep::Nothing) };
            match piece? {
                Piece::Data(data) => {
                    self.connection.send_data(&data)?;
                    // The server accepted the data: its deadline restarts.
                    self.deadline.note_progress();
                }
                Piece::End(trailers) => {
                    self.connection.send_end(trailers.as_ref())?;
                    self.request = RequestProgress::Whole;
                    self.asked = Some(Instant::now());
                }
            }
        }
    }

    /// Classifies a connection that broke before the response.
    fn broken(&mut self, broken: ClientError) -> AttemptError {
        let nothing_came = self.connection.received() == self.received_before;
        let closed = matches!(broken, ClientError::Closed | ClientError::Lost(_));
        let processed = if self.is_reused && closed && nothing_came { Processed::Unlikely } else { Processed::Maybe };
        let cause = match std::mem::replace(&mut self.request, RequestProgress::Whole) {
            RequestProgress::Refused(first) => first,
            _ => broken,
        };
        AttemptError::of_exchange(Cause::ConnectionLost(cause.into()), processed)
    }
}
