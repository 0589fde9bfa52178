//! One request and its response.

use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::{Context, Poll, ready},
};

use serow_http1::{Next, ReceivedRequest};
use serow_message::{Handler, InformationalQueue, PendingUpgrade, Request, Response, ResponseHead, Unanswered};
use serow_net::More;

use super::{End, Http1, body_forwarding::BodyForwarding};
use crate::{exchange::Sent, transport::TransportError};

impl<H: Handler> Http1<H> {
    /// Serves a request; `Ok` if the connection can serve another.
    #[inline]
    pub(super) async fn exchange(&mut self, received: ReceivedRequest) -> Result<(), End> {
        let ReceivedRequest { head, framing, upgrade } = received;
        self.worker.counters.requests_http1.add(1);
        self.in_progress = true;
        self.sent = Sent::default();
        self.record =
            self.worker.log.is_some().then(|| Box::new(self.request_log.begin(Some(&head), &self.connection)));
        self.transport.allow_any_time();
        let (forwarding, body) = BodyForwarding::new(framing);
        if !self.informational.is_free() {
            // Somebody still holds on to the last request: its hints must not reach this one.
            self.informational = InformationalQueue::default();
        }
        let mut request =
            Request::new(head, body, self.connection.clone()).with_informational(self.informational.sender());
        if let (Some(record), Some(log)) = (&mut self.record, &self.worker.log) {
            record.ask_for_route(&**log, &mut request.extensions);
        }
        let mut pending = None;
        if upgrade {
            let (ours, theirs) = PendingUpgrade::channel();
            request = request.with_upgrade(theirs);
            pending = Some(ours);
        }
        let call = self.worker.handler.call(request);
        let handled = self.handle(call, &forwarding).await;
        if self.informational.has_waiting() {
            self.send_informational(InformationalQueue::take);
        }
        let answered = match handled {
            Ok(mut response) => {
                (self.sent.status, self.sent.has_begun) = (response.status, true);
                let is_unanswered = response.extensions.get::<Unanswered>().is_some();
                if let (Some(record), Some(log)) = (&mut self.record, &self.worker.log) {
                    record.note_response(&**log, &response.headers, &mut response.extensions);
                }
                match is_unanswered {
                    true => Err(End::Unanswered(response.status)),
                    false => self.respond(response, &forwarding).await,
                }
            }
            Err(end) => Err(end),
        };
        if let Err(end) = answered {
            return Err(self.give_up(end));
        }
        self.note_answered(self.sent.status, true);
        self.conclude(pending, &forwarding).await
    }

    /// The response is incomplete: returns how the connection ends, and writes the log entry.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self, end: End) -> End {
        let end = match end {
            // Too late to tell the client: the response has begun.
            End::Refuse(_) if self.machine.has_begun_response() => End::Cut(TransportError::TimedOut),
            end => end,
        };
        if !self.machine.has_begun_response() {
            self.sent.status = end.status();
        }
        self.note_answered(self.sent.status, !matches!(end, End::Cut(_)));
        end
    }

    /// Waits for the handler, and meanwhile forwards the body and sends informational responses.
    #[inline]
    async fn handle(
        &mut self,
        call: impl Future<Output = Response>,
        forwarding: &BodyForwarding,
    ) -> Result<Response, End> {
        let mut call = pin!(call);
        poll_fn(|context| {
            loop {
                if let Poll::Ready(response) = call.as_mut().poll(context) {
                    return Poll::Ready(Ok(response));
                }
                match self.poll_meanwhile(forwarding, context) {
                    // The handler has more to read.
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(end)) => return Poll::Ready(Err(end)),
                    Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await
    }

    /// While the handler works: sends output, and forwards the body. Ready when the handler has more to read, or the
    /// connection fails.
    fn poll_meanwhile(&mut self, forwarding: &BodyForwarding, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        self.send_informational(|informational| informational.poll_take(context));
        if let Poll::Ready(outcome) = self.poll_forward_body(forwarding, context) {
            return Poll::Ready(outcome);
        }
        match self.transport.poll_flush(context, More::Nothing) {
            Poll::Ready(Err(broken)) => Poll::Ready(Err(End::Cut(broken))),
            Poll::Ready(Ok(())) => self.poll_left(context).map(Err),
            Poll::Pending => Poll::Pending,
        }
    }

    /// While the handler makes its response: ready when the client has disconnected, so that the handler can be
    /// cancelled.
    ///
    /// Some clients only close their sending side, which looks the same as a closed connection until something is sent.
    /// They get a moment in which the response may begin.
    #[inline]
    pub(super) fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<End> {
        // A request's body is received when it is wanted.
        if !self.machine.has_received_all() {
            return Poll::Pending;
        }
        ready!(self.transport.deadline.poll_long_making(context));
        self.poll_end(context)
    }

    /// Receives pipelined requests behind the current one: ready when the client has closed its side behind them.
    #[cold]
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<End> {
        while self.transport.input.len() < MAX_PIPELINED {
            match ready!(self.transport.poll_fill(context)) {
                Ok(0) => {
                    let gone = || End::Cut(TransportError::Lost(io::ErrorKind::UnexpectedEof.into()));
                    return self.transport.deadline.poll_half_closed(context).map(|()| gone());
                }
                Ok(_) => {}
                Err(broken) => return Poll::Ready(End::Cut(broken)),
            }
        }
        Poll::Pending
    }

    /// Writes the queued informational responses.
    #[cold]
    fn send_informational(&mut self, take: impl FnOnce(&InformationalQueue) -> Vec<ResponseHead>) {
        for head in take(&self.informational) {
            // Out of turn, it would be behind the response: too late to be of use.
            let _ = self.machine.send_informational(&head, self.transport.output());
        }
    }

    /// Decides after the response whether the connection is kept.
    #[inline]
    async fn conclude(&mut self, pending: Option<PendingUpgrade>, forwarding: &BodyForwarding) -> Result<(), End> {
        if forwarding.has_body() {
            self.forward_rest(forwarding).await?;
        }
        loop {
            match self.machine.begin_next() {
                Next::Reuse => return Ok(()),
                Next::Close => return Err(End::Close),
                Next::Unfinished => self.drain().await?,
                Next::Tunnel => {
                    self.transport.flush(More::Nothing).await.map_err(End::Cut)?;
                    return Err(pending.map_or(End::Close, End::Tunnel));
                }
            }
        }
    }
}

/// Bytes of pipelined requests that are received during the current one; if a client sends more, the server does not
/// notice when it disconnects.
const MAX_PIPELINED: usize = 64 * 1024;
