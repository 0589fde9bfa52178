//! A connection that speaks HTTP/1.1.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_http1::{Client, Event, Limits, Next, ReceivedResponse, UsageError};
use serow_message::{BodyLength, Headers, Method, RequestHead};
use serow_net::{Buffers, Tunnel, Wire};

use crate::{ClientError, IdleHttp1, NotReusable, buffered_wire::Link};

/// A connection that speaks HTTP/1.1, for one exchange; [`Self::into_idle`] makes it one for the next. Requests may be sent
/// ahead ([`Self::send_written`]).
pub struct Http1 {
    link: Link,
    machine: Client,
}

impl Http1 {
    /// Speaks HTTP/1.1 over this wire.
    #[must_use]
    pub fn new(wire: Wire, buffers: Rc<Buffers>, limits: Limits) -> Self {
        Self { link: Link::new(wire, buffers), machine: Client::new(limits) }
    }

    /// Begins a request; [`Self::poll_flush`] sends it. Says whether a body is to follow.
    ///
    /// # Errors
    ///
    /// When a request was sent already, or a CONNECT is to have a body.
    pub fn send_head(&mut self, head: &RequestHead, length: BodyLength) -> Result<bool, UsageError> {
        self.machine.send_head(head, length, self.link.output())
    }

    /// Sends a piece of a body.
    ///
    /// # Errors
    ///
    /// Before the head, or more than was announced.
    pub fn send_data(&mut self, data: &[u8]) -> Result<(), UsageError> {
        self.machine.send_data(data, self.link.output())
    }

    /// Ends a request.
    ///
    /// # Errors
    ///
    /// Before the head, or fewer bytes than were announced.
    pub fn send_end(&mut self, trailers: Option<&Headers>) -> Result<(), UsageError> {
        self.machine.send_end(trailers, self.link.output())
    }

    /// Sends requests that were written by other means, one or several, as they are. [`Self::expect`] announces each of
    /// their responses.
    #[inline]
    pub fn send_written(&mut self, text: Bytes) {
        self.link.send(text);
    }

    /// The response to a request with this method, written by other means, comes next. Where several were written one behind
    /// the other, each is announced when the response before it is whole.
    ///
    /// # Errors
    ///
    /// When the exchange before is not finished, or the connection ends with it.
    #[inline]
    pub fn expect(&mut self, method: &Method) -> Result<(), UsageError> {
        self.machine.expect(method)
    }

    /// Whether something waits to be sent.
    #[inline]
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.link.has_unsent()
    }

    /// Ready when all has been sent.
    ///
    /// # Errors
    ///
    /// When the connection is broken.
    #[inline]
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.link.poll_flush(context)
    }

    /// The next event of the response.
    ///
    /// # Errors
    ///
    /// When the connection is broken, or ends before the response is whole.
    #[inline]
    pub fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>> {
        loop {
            if let Some(event) = self.machine.receive(&mut self.link.input)? {
                return Poll::Ready(Ok(event));
            }
            if ready!(self.link.poll_fill(context))? == 0 {
                return Poll::Ready(self.handle_end());
            }
        }
    }

    /// The next event of what has been received already.
    ///
    /// # Errors
    ///
    /// When the server broke the rules.
    #[inline]
    pub fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError> {
        Ok(self.machine.receive(&mut self.link.input)?)
    }

    fn handle_end(&mut self) -> Result<Event<ReceivedResponse>, ClientError> {
        let end = self.machine.handle_end()?.ok_or(ClientError::Closed)?;
        // RFC 9112 §9.8: a body that lasts until the end is whole only where TLS says so as well.
        if self.link.wire.is_truncated() { Err(ClientError::Truncated) } else { Ok(end) }
    }

    /// What becomes of the connection when the exchange is over.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Next {
        self.machine.next()
    }

    /// The exchange is over, or there was none yet: the connection may wait for the next.
    ///
    /// # Errors
    ///
    /// When it cannot: the exchange is not over, one side wants to close it, or bytes have come behind the response.
    pub fn into_idle(mut self: Box<Self>) -> Result<IdleHttp1, NotReusable> {
        if self.has_unsent() {
            return Err(NotReusable::Unfinished);
        }
        match self.machine.begin_next(&self.link.input) {
            Next::Reuse if self.link.wire.has_undecrypted() => Err(NotReusable::Unsolicited),
            Next::Reuse => Ok(IdleHttp1::new(self)),
            Next::Close if !self.link.input.is_empty() => Err(NotReusable::Unsolicited),
            Next::Close => Err(NotReusable::Closed),
            Next::Unfinished | Next::Tunnel => Err(NotReusable::Unfinished),
        }
    }

    /// Whether the last response had no content because of the request's method or its status, as
    /// [`Client::may_be_overrun`] has it.
    pub(crate) fn may_be_overrun(&self) -> bool {
        self.machine.may_be_overrun()
    }

    /// Receives while no response is due; 0 is the end.
    pub(crate) fn poll_unsolicited(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, ClientError>> {
        self.link.poll_fill(context)
    }

    /// Bytes received so far, as they were inside TLS.
    #[inline]
    #[must_use]
    pub fn received(&self) -> u64 {
        self.link.received()
    }

    /// What was received and not understood: after a [`ClientError::Http1`] it begins with what broke the rules.
    #[must_use]
    pub fn not_understood(&self) -> &[u8] {
        &self.link.input
    }

    /// The wire, for what TLS agreed upon.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.link.wire
    }

    /// The wire itself, after [`Next::Tunnel`], with what has come already of the other protocol.
    #[must_use]
    pub fn into_tunnel(self) -> Tunnel {
        let Link { wire, input, .. } = self.link;
        Tunnel::new(wire, input)
    }
}
