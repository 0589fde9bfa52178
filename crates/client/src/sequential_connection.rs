//! Connections that carry one exchange at a time, whatever their protocol.

use std::task::{Context, Poll};

use serow_http1::{Event, ReceivedResponse, UsageError};
use serow_message::{BodyLength, Headers, PipedBytes, RequestHead, UpgradedIo};

use crate::{CgiConnection, ClientError, Http1, ResponsePipe};

/// A connection during one exchange.
pub trait SequentialConnection: Sized + 'static {
    /// Begins a request. Returns whether a body has to follow.
    ///
    /// # Errors
    ///
    /// Why the protocol cannot express it.
    fn send_head(&mut self, head: &RequestHead, length: BodyLength) -> Result<bool, String>;
    /// Sends a piece of the body.
    ///
    /// # Errors
    ///
    /// Without a request, or behind the end of the body.
    fn send_data(&mut self, data: &[u8]) -> Result<(), UsageError>;
    /// Ends the body.
    ///
    /// # Errors
    ///
    /// Without a request, or if the body has ended, or before its announced end.
    fn send_end(&mut self, trailers: Option<&Headers>) -> Result<(), UsageError>;
    /// Whether there is unsent output.
    fn has_unsent(&self) -> bool;
    /// Ready when all has been sent.
    ///
    /// # Errors
    ///
    /// If the connection fails.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>>;
    /// The next event of the response.
    ///
    /// # Errors
    ///
    /// If the connection fails, or the server violates the protocol.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>>;
    /// The next event from the input received already.
    ///
    /// # Errors
    ///
    /// If the server violates the protocol.
    fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError>;
    /// Receives into a pipe; `None` where the body has to be copied.
    fn poll_receive_piped(
        &mut self,
        pipe: &mut ResponsePipe,
        context: &mut Context<'_>,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>>;
    /// Bytes received so far.
    fn received(&self) -> u64;
    /// The connection after the server has changed the protocol; `None` where it cannot.
    fn into_tunnel(self) -> Option<Box<dyn UpgradedIo>>;
    /// The connection after the exchange, where it can serve another one.
    fn into_reusable(self: Box<Self>) -> Option<Box<Http1>>;
}

impl SequentialConnection for Http1 {
    #[inline]
    fn send_head(&mut self, head: &RequestHead, length: BodyLength) -> Result<bool, String> {
        self.send_head(head, length).map_err(|misuse| misuse.to_string())
    }

    #[inline]
    fn send_data(&mut self, data: &[u8]) -> Result<(), UsageError> {
        self.send_data(data)
    }

    #[inline]
    fn send_end(&mut self, trailers: Option<&Headers>) -> Result<(), UsageError> {
        self.send_end(trailers)
    }

    #[inline]
    fn has_unsent(&self) -> bool {
        self.has_unsent()
    }

    #[inline]
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.poll_flush(context)
    }

    #[inline]
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>> {
        self.poll_receive(context)
    }

    #[inline]
    fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError> {
        self.receive_received()
    }

    #[inline]
    fn poll_receive_piped(
        &mut self,
        pipe: &mut ResponsePipe,
        context: &mut Context<'_>,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>> {
        pipe.poll_receive(self, context)
    }

    #[inline]
    fn received(&self) -> u64 {
        self.received()
    }

    fn into_tunnel(self) -> Option<Box<dyn UpgradedIo>> {
        Some(Box::new(self.into_tunnel()))
    }

    #[inline]
    fn into_reusable(self: Box<Self>) -> Option<Box<Http1>> {
        Some(self)
    }
}

/// The request begins with the connection.
impl<L: Fn(&str) + 'static> SequentialConnection for CgiConnection<L> {
    fn send_head(&mut self, _: &RequestHead, _: BodyLength) -> Result<bool, String> {
        Ok(self.has_body())
    }

    fn send_data(&mut self, data: &[u8]) -> Result<(), UsageError> {
        self.send_data(data)
    }

    fn send_end(&mut self, _: Option<&Headers>) -> Result<(), UsageError> {
        self.send_end()
    }

    fn has_unsent(&self) -> bool {
        self.has_unsent()
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        self.poll_flush(context)
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>> {
        self.poll_receive(context)
    }

    fn receive_received(&mut self) -> Result<Option<Event<ReceivedResponse>>, ClientError> {
        self.receive_received()
    }

    fn poll_receive_piped(
        &mut self,
        _: &mut ResponsePipe,
        _: &mut Context<'_>,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>> {
        None
    }

    fn received(&self) -> u64 {
        self.received()
    }

    fn into_tunnel(self) -> Option<Box<dyn UpgradedIo>> {
        None
    }

    fn into_reusable(self: Box<Self>) -> Option<Box<Http1>> {
        None
    }
}
