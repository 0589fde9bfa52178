//! The body of a response on its way to the client.

use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};

use serow_client::{ClientError, SequentialConnection};
use serow_gateway::{BufferedSender, RequestSummary, ResponseBuffering};
use serow_http1::{Event, Framing};
use serow_message::{Body, Headers, Incoming, Wanted};

use super::SequentialExchange;
use crate::{
    body_forwarding::{CutOff, ForwardingEnd, forward_until},
    exchange_deadline::AwaitedStep,
    request_head,
    server_response::ReceivedBody,
};

impl<C: SequentialConnection> SequentialExchange<C> {
    /// The body of the response. Data that arrived together with the head is used at once: most responses are complete
    /// by then.
    pub(super) fn into_body(
        mut self,
        framing: Framing,
        headers: &Headers,
        request: &request_head::OutgoingHead,
        buffering: &ResponseBuffering,
    ) -> Result<Body, ClientError> {
        let mut received = ReceivedBody::default();
        while let Some(event) = self.connection.receive_received()? {
            match event {
                Event::Data(data) => received.push(data),
                Event::End(trailers) => received.end = Some(trailers),
                Event::Head(_) => {}
            }
            if received.end.is_some() {
                break;
            }
        }
        if let Some(None) = received.end {
            self.finish();
            return Ok(received.into_body());
        }
        let length = framing.length();
        let (sender, incoming) = Incoming::channel(length);
        let sender = BufferedSender::new(sender, buffering.settings_for(length, headers));
        self.deadline.wait_for(AwaitedStep::Nothing);
        tokio::task::spawn_local(self.forward_body(received, sender, request.asked()));
        Ok(incoming.into())
    }

    /// Forwards the body of the response as the client reads it.
    async fn forward_body(mut self, mut received: ReceivedBody, mut sender: BufferedSender, asked: RequestSummary) {
        let until = self.until;
        match forward_until(until, poll_fn(|context| self.poll_forward(&mut received, &mut sender, context))).await {
            Ok(ForwardingEnd::Complete) => self.finish(),
            Ok(ForwardingEnd::Abandoned) => return,
            Err(cut) => cut.report(&mut sender, &self.pool, self.lease.server(), &asked),
        }
        sender.deliver_rest();
    }

    fn poll_forward(
        &mut self,
        received: &mut ReceivedBody,
        sender: &mut BufferedSender,
        context: &mut Context<'_>,
    ) -> Poll<Result<ForwardingEnd, CutOff>> {
        loop {
            // The client may still be sending; its errors are handled elsewhere.
            if self.poll_send(context).is_err() {
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
            if let Some(data) = received.pop() {
                sender.push(data, context);
                continue;
            }
            if let Some(trailers) = received.end.take() {
                sender.finish(trailers);
                return Poll::Ready(Ok(ForwardingEnd::Complete));
            }
            match self.poll_rest(received, sender, context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(broken)) => return Poll::Ready(Err(CutOff::lost(&broken))),
                Poll::Pending => {
                    self.deadline.wait_for(AwaitedStep::ContinueResponse);
                    if sender.poll_abandoned(context).is_ready() {
                        return Poll::Ready(Ok(ForwardingEnd::Abandoned));
                    }
                    return self.deadline.poll_over(context).map(|time| Err(CutOff::silent(time)));
                }
            }
        }
    }

    /// Receives more of the body: into a pipe, which the client's connection empties, where that can be.
    fn poll_rest(
        &mut self,
        received: &mut ReceivedBody,
        sender: &mut BufferedSender,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), ClientError>> {
        if sender.takes_pipes()
            && let Some(piped) = self.connection.poll_receive_piped(&mut self.pipe, context)
        {
            let bytes = ready!(piped)?;
            self.deadline.note_progress();
            sender.push_piped(bytes, context);
            return Poll::Ready(Ok(()));
        }
        match ready!(self.connection.poll_receive(context))? {
            Event::Data(data) => {
                self.deadline.note_progress();
                received.push(data);
            }
            Event::End(trailers) => received.end = Some(trailers),
            Event::Head(_) => {}
        }
        Poll::Ready(Ok(()))
    }

    /// The exchange is over: the connection may serve another.
    fn finish(self) {
        let Self { pool, lease, connection, deadline, .. } = self;
        drop(deadline);
        if let Some(connection) = connection.into_reusable() {
            pool.keep_connection(lease.server(), connection);
        }
    }
}
