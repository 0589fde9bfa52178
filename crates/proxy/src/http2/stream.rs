//! A stream, owned by its exchange; dropping it resets the stream unless it has ended.

use serow_gateway::{Piece, RequestBody};
use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use serow_client::ClientError;
use serow_http2::{ErrorCode, ReceivedResponse, StreamId};
use serow_message::{BoxError, UsageError};

use super::{
    connection::Connection,
    slot::{Next, Slot, StreamError},
};
use crate::{
    attempt_error::{AttemptError, Cause, Processed},
    server_response::ReceivedBody,
};

/// A stream of a connection.
pub(crate) struct Stream {
    connection: Rc<Connection>,
    id: StreamId,
    slot: Rc<Slot>,
    request: RequestProgress,
    /// Where others were answered on the connection before: how much had come by then.
    received_before: Option<u64>,
}

/// The part of the request that was passed to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestProgress {
    /// All of it at once.
    Whole,
    /// Its head; its body comes later.
    Head,
    /// All of that.
    Ended,
}

impl RequestProgress {
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Whole | Self::Ended)
    }
}

impl Stream {
    pub(super) fn new(
        connection: Rc<Connection>,
        id: StreamId,
        slot: Rc<Slot>,
        request: RequestProgress,
        received_before: Option<u64>,
    ) -> Self {
        Self { connection, id, slot, request, received_before }
    }

    pub(super) fn request(&self) -> RequestProgress {
        self.request
    }

    /// Whether the next piece of the body can be taken.
    pub(super) fn wants_data(&self) -> bool {
        !self.request.is_whole() && self.connection.wants_data(self.id)
    }

    /// The task of `context` is woken when data arrives, or when there is room to send.
    pub(super) fn watch(&self, context: &Context<'_>) {
        self.slot.watch(context);
    }

    /// Moves the body on, as far as the server takes it and the client gives it. Ready when the server is to do
    /// something: to take more, or to answer, where the request is whole. The error is the client's.
    pub(super) fn poll_send(
        &mut self,
        body: &mut RequestBody,
        context: &mut Context<'_>,
    ) -> Poll<Result<(), BoxError>> {
        while self.wants_data() {
            match ready!(body.poll_next(context))? {
                Piece::Data(data) => self.connection.send_data(self.id, data)?,
                Piece::End(trailers) => {
                    self.connection.send_end(self.id, trailers)?;
                    self.request = RequestProgress::Ended;
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Sends a piece of a tunnel; an empty one ends it.
    pub(super) fn send(&mut self, piece: Bytes) -> Result<(), UsageError> {
        if piece.is_empty() {
            self.request = RequestProgress::Ended;
            return self.connection.send_end(self.id, None);
        }
        self.connection.send_data(self.id, piece)
    }

    /// The head of the response, if it has arrived; the error explains why it will not.
    pub(super) fn take_head(&self) -> Result<Option<ReceivedResponse>, AttemptError> {
        match self.slot.take_head() {
            Some(head) => Ok(Some(head)),
            None => self.slot.lost().map_or(Ok(None), |lost| Err(self.failure(&lost))),
        }
    }

    /// The body of the response, if all of it has come.
    pub(super) fn take_whole(&self) -> Option<ReceivedBody> {
        let received = self.slot.take_whole()?;
        self.note_consumed(received.length());
        Some(received)
    }

    /// The next part of the body. Its bytes count as consumed.
    pub(super) fn next(&self) -> Next {
        let next = self.slot.next();
        if let Next::Piece(piece) = &next {
            self.note_consumed(piece.len());
        }
        next
    }

    /// Whether the server asked for the body by `100 Continue`.
    pub(super) fn is_body_asked_for(&self) -> bool {
        self.slot.is_body_asked_for()
    }

    /// Whether the server takes no more of the request.
    pub(super) fn is_lost(&self) -> bool {
        self.slot.lost().is_some()
    }

    fn note_consumed(&self, bytes: usize) {
        if bytes > 0 {
            self.connection.note_consumed(self.id, bytes);
        }
    }

    fn failure(&self, lost: &StreamError) -> AttemptError {
        match lost {
            // RFC 9113 §8.7: also where the server leaves, and has not looked at it.
            StreamError::Reset(ErrorCode::REFUSED_STREAM) => {
                AttemptError::of_exchange(Cause::Reset(lost.to_string()), Processed::Never)
            }
            StreamError::Reset(_) => AttemptError::of_exchange(Cause::Reset(lost.to_string()), Processed::Maybe),
            StreamError::ConnectionLost(broken) => {
                let closed = matches!(**broken, ClientError::Closed | ClientError::Lost(_));
                let nothing_came = self.received_before == Some(self.connection.received());
                let processed = if closed && nothing_came { Processed::Unlikely } else { Processed::Maybe };
                AttemptError::of_exchange(Cause::ConnectionLost(Rc::clone(broken)), processed)
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.connection.leave(self.id);
    }
}
