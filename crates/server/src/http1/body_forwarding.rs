//! Forwarding of a request body from the socket to the handler.

use std::{
    cell::Cell,
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use serow_http1::{Event, Framing, ProtocolError};
use serow_message::{Body, BodySender, Handler, Incoming, IncomingError, StatusCode, Wanted};
use serow_net::More;
use tokio::task::coop::poll_proceed;

use super::{End, Http1};
use crate::transport::TransportError;

/// Forwards a request body from the connection to the handler, where there is one.
pub(super) struct BodyForwarding {
    sender: Option<BodySender>,
    /// Bytes that were announced and not yet received; `None` for a chunked body.
    left: Cell<Option<u64>>,
}

impl BodyForwarding {
    /// The two ends of a body with this framing: the sender here, the reader for the handler.
    #[inline]
    pub(super) fn new(framing: Framing) -> (Self, Body) {
        match framing {
            Framing::None => (Self { sender: None, left: Cell::new(None) }, Body::empty()),
            framing => {
                let length = framing.length();
                let (sender, incoming) = Incoming::channel(length);
                (Self { sender: Some(sender), left: Cell::new(length) }, incoming.into())
            }
        }
    }

    /// Whether there is a body.
    #[inline]
    pub(super) fn has_body(&self) -> bool {
        self.sender.is_some()
    }

    /// Whether the handler will not read the rest.
    fn is_abandoned(&self) -> bool {
        self.sender.as_ref().is_none_or(BodySender::is_abandoned)
    }

    fn push(&self, sender: &BodySender, data: Bytes, context: &Context<'_>) {
        self.left.set(self.left.get().map(|left| left.saturating_sub(data.len() as u64)));
        sender.push(data, context);
    }

    /// How long the client may take for the next bytes, if the handler's route says so.
    fn timeout(&self) -> Option<Duration> {
        self.sender.as_ref().and_then(BodySender::timeout)
    }

    fn fail(&self, error: IncomingError) {
        if let Some(sender) = &self.sender {
            sender.fail(error);
        }
    }
}

impl<H: Handler> Http1<H> {
    /// Decides, before the head of the response is sent, whether a body that has not been read to its end is drained.
    pub(super) fn settle_expectation(&mut self, forwarding: &BodyForwarding) {
        if !forwarding.is_abandoned() {
            // The response may be made of the body, or somebody reads it elsewhere: no later time to ask for it.
            self.machine.send_continue(self.transport.output());
        } else if self.machine.awaits_continue() || forwarding.left.get().is_some_and(|left| left > MAX_DRAINED) {
            self.machine.close();
        }
    }

    /// Forwards the body as the reader requests it: ready when the reader has something to read, or the connection
    /// fails.
    pub(super) fn poll_forward_body(
        &mut self,
        forwarding: &BodyForwarding,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), End>> {
        let Some(sender) = &forwarding.sender else { return Poll::Pending };
        loop {
            match sender.poll_wanted(context) {
                Poll::Ready(Wanted::More) => {}
                Poll::Ready(Wanted::Nothing) => return Poll::Pending,
                Poll::Pending => {
                    self.transport.pause_receiving();
                    return Poll::Pending;
                }
            }
            if self.machine.awaits_continue() {
                self.machine.send_continue(self.transport.output());
            }
            // A body in chunks of a byte each is more work than its length says: the others have their turn meanwhile.
            let turn = ready!(poll_proceed(context));
            match self.machine.receive(&mut self.transport.input) {
                Ok(Some(Event::Data(data))) => {
                    turn.made_progress();
                    self.note_received(data.len());
                    forwarding.push(sender, data, context);
                    return Poll::Ready(Ok(()));
                }
                Ok(Some(Event::End(trailers))) => {
                    self.transport.allow_any_time();
                    sender.finish(trailers);
                    return Poll::Ready(Ok(()));
                }
                Ok(Some(Event::Head(_)) | None) => {}
                Err(error) => {
                    forwarding.fail(match error {
                        ProtocolError::BodyTooLarge => {
                            self.warn_of_size(self.record.as_ref().and_then(|record| record.request()));
                            IncomingError::TooLarge
                        }
                        _ => IncomingError::Malformed,
                    });
                    return Poll::Ready(Err(self.mistake(error)));
                }
            }
            match self.poll_more(context, || forwarding.timeout()) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(end)) => {
                    forwarding.fail(match end {
                        End::Refuse(_) => IncomingError::TimedOut,
                        _ => IncomingError::Disconnected,
                    });
                    return Poll::Ready(Err(end));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Forwards the rest of the body after the response, to a reader in another task than the handler's.
    pub(super) async fn forward_rest(&mut self, forwarding: &BodyForwarding) -> Result<(), End> {
        if forwarding.is_abandoned() || self.machine.has_received_all() {
            return Ok(());
        }
        self.transport.flush(More::Nothing).await.map_err(End::Cut)?;
        if !self.machine.is_persistent() {
            // The client may see the end of the response in this.
            let _ = self.transport.finish_sending().await;
        }
        poll_fn(|context| {
            while !forwarding.is_abandoned() && !self.machine.has_received_all() {
                match self.poll_forward_body(forwarding, context) {
                    Poll::Ready(Ok(())) => {}
                    // The response is whole, so the connection ends in order.
                    Poll::Ready(Err(_)) => return Poll::Ready(Err(End::Close)),
                    Poll::Pending if forwarding.is_abandoned() => {}
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Drains the rest of a body that the handler does not read, so that the next request can be found.
    pub(super) async fn drain(&mut self) -> Result<(), End> {
        let mut left = MAX_DRAINED;
        poll_fn(|context| {
            loop {
                match self.machine.receive(&mut self.transport.input) {
                    Ok(Some(Event::Data(data))) => match left.checked_sub(data.len() as u64) {
                        Some(rest) => {
                            self.note_received(data.len());
                            left = rest;
                        }
                        None => return Poll::Ready(Err(End::Close)),
                    },
                    Ok(Some(Event::End(_))) => return Poll::Ready(Ok(())),
                    Ok(Some(Event::Head(_)) | None) => match self.poll_more(context, || None) {
                        Poll::Ready(Ok(())) => {}
                        // The response is whole, so the connection ends in order.
                        Poll::Ready(Err(_)) => return Poll::Ready(Err(End::Close)),
                        Poll::Pending => return Poll::Pending,
                    },
                    Err(_) => return Poll::Ready(Err(End::Close)),
                }
            }
        })
        .await
    }

    /// Notes that this many bytes of a body were received.
    fn note_received(&mut self, bytes: usize) {
        self.worker.counters.body_bytes_received.add(bytes as u64);
        if let Some(record) = &mut self.record {
            record.note_received(bytes);
        }
        self.transport.note_received(bytes);
    }

    /// Receives more of a body, after sending output that the client may be waiting for. The client has this time, or
    /// that of the server.
    fn poll_more(
        &mut self,
        context: &mut Context<'_>,
        time: impl FnOnce() -> Option<Duration>,
    ) -> Poll<Result<(), End>> {
        if let Poll::Ready(Err(broken)) = self.transport.poll_flush(context, More::Nothing) {
            return Poll::Ready(Err(End::Cut(broken)));
        }
        match self.transport.poll_fill(context) {
            Poll::Ready(Ok(0)) => {
                Poll::Ready(Err(End::Cut(TransportError::Lost(std::io::ErrorKind::UnexpectedEof.into()))))
            }
            Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
            Poll::Ready(Err(broken)) => Poll::Ready(Err(End::Cut(broken))),
            Poll::Pending => {
                self.transport.poll_unsent(context, time()).map(|()| Err(End::Refuse(StatusCode::REQUEST_TIMEOUT)))
            }
        }
    }
}

/// Bytes of an unread body that are drained to keep the connection: about what a new one costs in round trips on a fast
/// link. hyper and Go have limits of the same kind (256 KB in Go).
const MAX_DRAINED: u64 = 64 * 1024;
