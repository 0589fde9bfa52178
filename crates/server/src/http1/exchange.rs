//! One request and its response.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    task::{Context, Poll},
};

use serow_http1::{Next, ReceivedRequest};
use serow_message::{Handler, PendingUpgrade, Request, Response, StatusCode};
use serow_net::More;

use super::{End, Http1, feeding::Feeding};
use crate::access::Record;

/// What was sent of a response.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    pub(super) status: StatusCode,
    pub(super) body_bytes: u64,
}

impl<H: Handler> Http1<H> {
    /// Answers a request; `Ok` when the connection serves another.
    #[inline]
    pub(super) async fn exchange(&mut self, received: ReceivedRequest) -> Result<(), End> {
        let ReceivedRequest { head, framing, upgrade } = received;
        let record = self.worker.log.is_some().then(|| Record::new(Some(&head), &self.connection));
        self.transport.allow_any_time();
        let (feeding, body) = Feeding::new(framing);
        if !self.interim.is_free() {
            // Somebody still holds on to the last request: its hints must not reach this one.
            self.interim = serow_message::InterimQueue::default();
        }
        let mut request = Request::new(head, body, self.connection.clone()).with_interim(self.interim.sender());
        let mut pending = None;
        if upgrade {
            let (ours, theirs) = PendingUpgrade::channel();
            request = request.with_upgrade(theirs);
            pending = Some(ours);
        }
        let call = self.worker.handler.call(request);
        let mut sent = Sent::default();
        let outcome = match self.handle(call, &feeding).await {
            Ok(response) => {
                sent.status = response.status;
                self.respond(response, &feeding, &mut sent).await
            }
            Err(end) => {
                sent.status = end.status();
                Err(end)
            }
        };
        if let (Some(record), Some(log)) = (record, &self.worker.log) {
            record.write(&**log, sent.status, sent.body_bytes, !matches!(outcome, Err(End::Cut(_))));
        }
        outcome?;
        self.conclude(pending).await
    }

    /// Waits for the handler, and meanwhile does what it asks for.
    #[inline]
    async fn handle(&mut self, call: impl Future<Output = Response>, feeding: &Feeding) -> Result<Response, End> {
        let mut call = pin!(call);
        poll_fn(|context| match call.as_mut().poll(context) {
            Poll::Ready(response) => Poll::Ready(Ok(response)),
            Poll::Pending => self.poll_meanwhile(feeding, context).map(Err),
        })
        .await
    }

    /// While the handler works: sends what is due, and feeds it the body. Ready only when the connection ends over it.
    fn poll_meanwhile(&mut self, feeding: &Feeding, context: &mut Context<'_>) -> Poll<End> {
        for head in self.interim.poll_take(context) {
            // Out of turn, it would be behind the response: too late to be of use.
            let _ = self.machine.send_interim(&head, self.transport.output());
        }
        if let Poll::Ready(end) = self.poll_feed(feeding, context) {
            return Poll::Ready(end);
        }
        match self.transport.poll_flush(context, More::Nothing) {
            Poll::Ready(Err(broken)) => Poll::Ready(End::Cut(broken)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }

    /// After the response: finds out what becomes of the connection.
    #[inline]
    async fn conclude(&mut self, pending: Option<PendingUpgrade>) -> Result<(), End> {
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
