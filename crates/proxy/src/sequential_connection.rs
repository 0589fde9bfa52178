//! Connections that carry one exchange at a time, whatever their protocol.

use std::{
    sync::Arc,
    task::{Context, Poll},
};

use serow_client::{ClientError, Http1};
use serow_http1::{Event, ReceivedResponse, UsageError};
use serow_message::{BodyLength, Headers, PipedBytes, RequestHead, UpgradedIo};

use crate::{response_pipe::ResponsePipe, server::Server, thread_local_pool::ThreadLocalPool};

/// A connection during one exchange.
pub(crate) trait SequentialConnection: Sized + 'static {
    /// Begins a request. Returns whether a body has to follow. The error says why the protocol cannot express it.
    fn send_head(&mut self, head: &RequestHead, length: BodyLength) -> Result<bool, String>;
    /// Sends a piece of the body.
    fn send_data(&mut self, data: &[u8]) -> Result<(), UsageError>;
    /// Ends the body.
    fn send_end(&mut self, trailers: Option<&Headers>) -> Result<(), UsageError>;
    /// Whether there is unsent output.
    fn has_unsent(&self) -> bool;
    /// Ready when all has been sent.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>>;
    /// The next event of the response.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Event<ReceivedResponse>, ClientError>>;
    /// The next event from the input received already.
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
    /// The exchange is over: keeps the connection for the next one, where there can be one.
    fn finish(self: Box<Self>, pool: &ThreadLocalPool, server: &Arc<Server>);
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
    fn finish(self: Box<Self>, pool: &ThreadLocalPool, server: &Arc<Server>) {
        pool.keep_connection(server, self);
    }
}
