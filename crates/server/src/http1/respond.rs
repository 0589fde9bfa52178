//! Sending a response, in the way that suits the kind of its body.

use std::{
    future::poll_fn,
    io,
    task::{Context, Poll},
};

use bytes::Bytes;
use serow_http1::{BodyLength, UsageError};
use serow_message::{
    Body, BodyKind, BodyPiece, FileRange, Handler, Headers, KnownHeader, PipedBytes, Response, StatusCode,
};
use serow_net::More;

use super::{End, Http1, body_forwarding::BodyForwarding};
use crate::{alternative_service::announce, transport::TransportError};

impl<H: Handler> Http1<H> {
    /// Sends a response, and notes what was sent.
    #[inline]
    pub(super) async fn respond(&mut self, mut response: Response, forwarding: &BodyForwarding) -> Result<(), End> {
        if let Some(alternative) = &self.transport.alternative {
            announce(alternative, &mut response.headers);
        }
        if self.worker.is_draining() {
            self.machine.close();
        }
        if forwarding.has_body() {
            self.settle_expectation(forwarding);
        }
        let length = response.body.length().map_or(BodyLength::Unknown, BodyLength::Known);
        let date = self.worker.clock.date_line();
        // RFC 9110 §6.6.1: what is passed on keeps the date of whoever made it.
        let lines = if response.headers.contains(KnownHeader::Date) { &[][..] } else { &date };
        let output = self.transport.output();
        let before = output.len();
        let has_body = match self.machine.send_head(response.status, &response.headers, length, lines, output) {
            Ok(has_body) => has_body,
            Err(misuse) => return Err(reject(response.status, misuse)),
        };
        self.sent.head_bytes = (output.len() - before) as u64;
        match response.body.into_kind() {
            _ if !has_body => {}
            BodyKind::Empty => {}
            BodyKind::Bytes(bytes) if bytes.len() <= MAX_COPIED => self.copy_bytes(&bytes)?,
            BodyKind::Bytes(bytes) => {
                self.transport.begin_turn();
                self.send_bytes(bytes, self.more_after_body()).await?;
            }
            BodyKind::File(range) => {
                self.transport.begin_turn();
                self.send_file(*range).await?;
            }
            BodyKind::Incoming(incoming) => return self.send_stream(incoming.into(), forwarding).await,
            BodyKind::Stream(stream) => return self.send_stream(Body::from(stream), forwarding).await,
        }
        self.machine.send_end(None, self.transport.output()).map_err(usage_error)?;
        self.send_unless_more_comes().await
    }

    /// Copies a small body behind the head, so that both are sent in one call.
    #[inline]
    fn copy_bytes(&mut self, bytes: &[u8]) -> Result<(), End> {
        self.sent.body_bytes += bytes.len() as u64;
        self.worker.counters.body_bytes_sent.add(bytes.len() as u64);
        self.machine.send_data(bytes, self.transport.output()).map_err(usage_error)
    }

    /// Sends a larger body in the same call as the head, without copying it.
    async fn send_bytes(&mut self, mut bytes: Bytes, more: More) -> Result<(), End> {
        let length = bytes.len() as u64;
        self.machine.begin_chunk(length, self.transport.output()).map_err(usage_error)?;
        let outcome = self.transport.flush_with(&mut bytes, more).await;
        self.sent.body_bytes += length - bytes.len() as u64;
        outcome.map_err(End::Cut)?;
        self.machine.end_chunk(length, self.transport.output());
        Ok(())
    }

    /// Sends a piece that is in a pipe, without copying it.
    async fn send_piped(&mut self, mut bytes: PipedBytes) -> Result<(), End> {
        let length = bytes.length() as u64;
        self.machine.begin_chunk(length, self.transport.output()).map_err(usage_error)?;
        let outcome = self.transport.flush_with_pipe(&mut bytes).await;
        self.sent.body_bytes += length - bytes.length() as u64;
        outcome.map_err(End::Cut)?;
        self.machine.end_chunk(length, self.transport.output());
        Ok(())
    }

    /// Whether the last bytes of a body may wait for the end of the connection, to leave in one packet with it.
    fn more_after_body(&self) -> More {
        if self.closes_at_once() { More::Follows } else { More::Nothing }
    }

    /// Sends a file without copying it.
    async fn send_file(&mut self, mut range: FileRange) -> Result<(), End> {
        let length = range.length;
        self.machine.begin_chunk(length, self.transport.output()).map_err(usage_error)?;
        let more = self.more_after_body();
        let outcome = self.transport.flush_with_file(&mut range, more).await;
        self.sent.body_bytes += length - range.length;
        outcome.map_err(End::Cut)
    }

    /// Sends a streamed body. The next piece is polled when the kernel has taken the last; buffered output is sent when
    /// no further piece is ready.
    ///
    /// A body that is always ready would occupy the core, so the task yields after a while, and whenever a body
    /// requests it by an empty piece. (A task that only wakes itself does not let the event loop look at the sockets in
    /// between.)
    async fn send_stream(&mut self, mut body: Body, forwarding: &BodyForwarding) -> Result<(), End> {
        let mut trailers: Option<Headers> = None;
        let mut at_once = 0;
        if !self.transport.wire.is_encrypted() {
            body.accept_pipes();
        }
        loop {
            let piece = poll_fn(|context| {
                loop {
                    if let Poll::Ready(piece) = body.poll_piece(context) {
                        return Poll::Ready(Ok(piece));
                    }
                    match self.poll_between_pieces(forwarding, context) {
                        // The body is made of what was just received.
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(end)) => return Poll::Ready(Err(end)),
                        Poll::Pending => return Poll::Pending,
                    }
                }
            })
            .await?;
            let Some(piece) = piece else { break };
            let frame = match piece.map_err(|error| End::Cut(TransportError::Unfinished(io::Error::other(error))))? {
                BodyPiece::Frame(frame) => frame,
                BodyPiece::Piped(bytes) => {
                    self.send_piped(bytes).await?;
                    tokio::task::yield_now().await;
                    continue;
                }
            };
            at_once += frame.data_ref().map_or(0, |data| if data.is_empty() { MAX_AT_ONCE } else { data.len() });
            match frame.into_data() {
                Ok(data) if data.is_empty() => {}
                Ok(data) if data.len() <= MAX_COPIED => self.copy_bytes(&data)?,
                Ok(data) => self.send_bytes(data, More::Nothing).await?,
                Err(frame) => trailers = frame.trailers_ref().and_then(|map| map.try_into().ok()),
            }
            if self.transport.output.len() > MAX_GATHERED {
                self.transport.flush(More::Nothing).await.map_err(End::Cut)?;
                self.transport.give_way().await;
            }
            if at_once >= MAX_AT_ONCE {
                at_once = 0;
                tokio::task::yield_now().await;
            }
        }
        self.machine.send_end(trailers.as_ref(), self.transport.output()).map_err(usage_error)?;
        self.send_unless_more_comes().await
    }

    /// While no piece of a stream is ready: sends output, and forwards the request's body. Ready when its reader has
    /// something to read, or the connection fails.
    fn poll_between_pieces(&mut self, forwarding: &BodyForwarding, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        match self.transport.poll_flush(context, More::Nothing) {
            Poll::Ready(Ok(())) => match self.poll_forward_body(forwarding, context) {
                Poll::Pending => {
                    // A piece may take long, and there may be thousands of such streams.
                    self.transport.rest();
                    self.poll_left(context).map(Err)
                }
                outcome => outcome,
            },
            Poll::Ready(Err(broken)) => Poll::Ready(Err(End::Cut(broken))),
            Poll::Pending => self.transport.poll_unread(context).map(|()| Err(End::Cut(TransportError::TimedOut))),
        }
    }

    /// Sends the output, unless a pipelined request has been received already, whose response can be sent with it.
    #[inline]
    async fn send_unless_more_comes(&mut self) -> Result<(), End> {
        if self.closes_at_once() {
            return self.transport.finish_sending().await.map_err(End::Cut);
        }
        if self.transport.output.is_empty() {
            return Ok(());
        }
        if !self.transport.input.is_empty()
            && self.machine.is_persistent()
            && self.transport.output.len() <= MAX_GATHERED
        {
            return Ok(());
        }
        // Nearly always the kernel takes it all, and there is nothing to wait for.
        match self.transport.send_at_once() {
            Ok(true) => Ok(()),
            Ok(false) => self.transport.flush(More::Nothing).await.map_err(End::Cut),
            Err(broken) => Err(End::Cut(broken)),
        }
    }
}

/// The handler's response is invalid: the client gets a 500.
#[cold]
fn reject(status: StatusCode, misuse: UsageError) -> End {
    tracing::error!(%status, error = %misuse, "the service returned an invalid response");
    End::Refuse(StatusCode::INTERNAL_SERVER_ERROR)
}

/// The handler's body is not as long as announced: the response cannot be finished.
fn usage_error(error: UsageError) -> End {
    End::Cut(TransportError::Unfinished(io::Error::other(error)))
}

/// Copying this many bytes costs less than a second buffer in the call.
const MAX_COPIED: usize = 4 * 1024;

/// Bytes of a stream after which the task yields: what the kernel copies in some ten microseconds, or our compression
/// produces in a millisecond.
const MAX_AT_ONCE: usize = 64 * 1024;

/// Small pieces are gathered up to this; a socket's first window takes about as much.
const MAX_GATHERED: usize = 16 * 1024;
