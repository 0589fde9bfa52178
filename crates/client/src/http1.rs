//! An HTTP/1.1 client connection.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_http1::{Client, Event, Limits, Next, ReceivedResponse, UsageError};
use serow_message::{BodyLength, Headers, Method, Pipe, PipedBytes, RequestHead};
use serow_net::{Buffers, Tunnel, Wire};

use crate::{ClientError, IdleHttp1, NotReusable, buffered_wire::Link};

/// An HTTP/1.1 connection during one exchange; [`Self::into_idle`] prepares it for the next. Requests can be pipelined
/// ([`Self::send_written`]).
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

    /// Begins a request; [`Self::poll_flush`] sends it. Returns whether a body has to follow.
    ///
    /// # Errors
    ///
    /// If a request was sent already, or a CONNECT has a body.
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

    /// Sends one or several serialised requests unchanged. [`Self::expect`] announces each of their responses.
    #[inline]
    pub fn send_written(&mut self, text: Bytes) {
        self.link.send(text);
    }

    /// Announces that the response to a serialised request with this method comes next. If several were pipelined,
    /// announce each when the response before it is complete.
    ///
    /// # Errors
    ///
    /// If the previous exchange is not finished, or the connection ends with it.
    #[inline]
    pub fn expect(&mut self, method: &Method) -> Result<(), UsageError> {
        self.machine.expect(method)
    }

    /// Whether there is unsent output.
    #[inline]
    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.link.has_unsent()
    }

    /// Ready when all has been sent.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    #[inline]
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.link.poll_flush(context)
    }

    /// The next event of the response.
    ///
    /// # Errors
    ///
    /// If the connection fails, or ends before the response is complete.
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

    /// The next event from the input received already.
    ///
    /// # Errors
    ///
    /// If the server violated the protocol.
    #[inline]
    pub fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError> {
        Ok(self.machine.receive(&mut self.link.input)?)
    }

    /// Bytes of the body that [`Self::poll_receive_piped`] can receive now: those that were announced and have not come,
    /// where nothing is encrypted.
    #[must_use]
    pub fn pipeable(&self) -> u64 {
        self.machine.body_left().filter(|_| self.link.is_pipeable()).unwrap_or(0)
    }

    /// Receives the next bytes of the body into the pipe; `None` where [`Self::pipeable`] is 0, or the pipe is not empty.
    ///
    /// # Errors
    ///
    /// If the connection fails, or ends before the response is complete.
    pub fn poll_receive_piped(
        &mut self,
        context: &mut Context<'_>,
        pipe: &Pipe,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>> {
        let most = usize::try_from(self.pipeable()).unwrap_or(usize::MAX).min(Pipe::CAPACITY);
        if most == 0 {
            return None;
        }
        let filled = self.link.poll_fill_pipe(context, pipe, most)?;
        Some(filled.map(|filled| {
            let piece = filled?;
            if piece.length() == 0 {
                // Before the announced length, that is an error.
                self.handle_end()?;
            }
            self.machine.pass_body(piece.length() as u64)?;
            Ok(piece)
        }))
    }

    fn handle_end(&mut self) -> Result<Event<ReceivedResponse>, ClientError> {
        let end = self.machine.handle_end()?.ok_or(ClientError::Closed)?;
        // RFC 9112 §9.8: a body that lasts until the end is whole only where TLS says so as well.
        if self.link.wire.is_truncated() { Err(ClientError::Truncated) } else { Ok(end) }
    }

    /// Whether the connection can be reused after the exchange.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Next {
        self.machine.next()
    }

    /// Converts the connection to an idle one, after an exchange or before the first.
    ///
    /// # Errors
    ///
    /// If the exchange is not finished, one side wants to close the connection, or bytes have arrived behind the
    /// response.
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

    /// Receives while no response is due; returns the number of bytes, 0 at the end of the stream.
    pub(crate) fn poll_unsolicited(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, ClientError>> {
        self.link.poll_fill(context)
    }

    /// Bytes received so far, after decryption.
    #[inline]
    #[must_use]
    pub fn received(&self) -> u64 {
        self.link.received()
    }

    /// The input that was not parsed: after a [`ClientError::Http1`] it begins with the offending bytes.
    #[must_use]
    pub fn not_understood(&self) -> &[u8] {
        &self.link.input
    }

    /// The wire, for the result of the TLS handshake.
    #[must_use]
    pub fn wire(&self) -> &Wire {
        &self.link.wire
    }

    /// The wire itself, after [`Next::Tunnel`], and the bytes of the new protocol received already.
    #[must_use]
    pub fn into_tunnel(self) -> Tunnel {
        let Link { wire, input, .. } = self.link;
        Tunnel::new(wire, input)
    }
}
