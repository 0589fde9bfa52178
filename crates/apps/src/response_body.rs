//! The body of a response that a worker sends piece by piece.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_gateway::OverflowPart;
use serow_message::{Body, BoxError, Headers};

use crate::{exchange::Event, pending_response::PendingResponse, request_error::RequestError};

/// A body that arrives in pieces.
pub(crate) struct Pieces {
    first: Body,
    waiting: PendingResponse,
    /// The pieces in a file that come next.
    spooled: Option<OverflowPart>,
    /// The remaining bytes, if the application announced a length.
    announced: Option<u64>,
    /// Bytes that the client has read but the worker does not know of.
    taken: usize,
}

impl Pieces {
    /// A body whose first piece has arrived.
    pub(crate) fn new(first: Body, waiting: PendingResponse, announced: Option<u64>) -> Self {
        Self { first, waiting, spooled: None, announced, taken: 0 }
    }

    /// The body has ended; an error if it is shorter than announced.
    fn end(&self, trailers: Option<Headers>) -> Option<Result<Frame<Bytes>, BoxError>> {
        let Some(missing) = self.announced.filter(|bytes| *bytes > 0) else {
            return trailers.map(|trailers| Ok(Frame::trailers(trailers.into())));
        };
        let name = self.waiting.application();
        tracing::error!("{name}: a body is {missing} bytes shorter than its Content-Length");
        Some(Err("the body is shorter than announced".into()))
    }

    /// Pieces cannot be read from their file.
    #[cold]
    fn lost(&mut self, error: &io::Error) -> BoxError {
        let name = self.waiting.application();
        tracing::error!("{name}: cannot read a response back from its file: {error}; the response is cut");
        self.waiting.leave(b"");
        self.spooled = None;
        "the response cannot be read back".into()
    }

    /// Passes a piece on, as far as the application announced it. Bytes beyond that are dropped: the client has a
    /// complete response, and would take them for the next one.
    fn hand_over(&mut self, mut piece: Bytes) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.taken += piece.len();
        self.waiting.give_room(&mut self.taken);
        if let Some(announced) = &mut self.announced {
            match announced.checked_sub(piece.len() as u64) {
                Some(left) => *announced = left,
                None => {
                    // The piece is longer than this, so it is a length of it.
                    piece.truncate(*announced as usize);
                    *announced = 0;
                    tracing::error!(
                        "{}: a body is longer than its Content-Length; the rest is dropped",
                        self.waiting.application()
                    );
                    self.waiting.leave(b"");
                    self.spooled = None;
                    if piece.is_empty() {
                        return None;
                    }
                }
            }
        }
        Some(Ok(Frame::data(piece)))
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(Ok(first)) = ready!(self.first.poll_next(context)).map(|frame| frame.map(Frame::into_data)) {
            return Poll::Ready(first.ok().and_then(|piece| self.hand_over(piece)));
        }
        loop {
            if let Some(part) = &mut self.spooled {
                match ready!(part.poll_read(context)) {
                    Some(Ok(piece)) => return Poll::Ready(self.hand_over(piece)),
                    Some(Err(error)) => return Poll::Ready(Some(Err(self.lost(&error)))),
                    None => self.spooled = None,
                }
            }
            if self.waiting.is_over {
                return Poll::Ready(None);
            }
            match ready!(self.waiting.poll_next(context)) {
                Event::Piece(piece) => return Poll::Ready(self.hand_over(piece)),
                Event::Spooled(part) => self.spooled = Some(part),
                Event::End(trailers) => return Poll::Ready(self.end(trailers)),
                Event::Failed(failure) => {
                    failure.log(self.waiting.application(), "a response that had begun");
                    return Poll::Ready(Some(Err("the application failed in the middle of a response".into())));
                }
                Event::InformationalSender(..) => {}
                Event::Head { .. } | Event::Message { .. } | Event::Close { .. } | Event::Hijack(_) => {
                    let failure = RequestError::InvalidResponse("a second response after the head of the first");
                    failure.log(self.waiting.application(), "a response that had begun");
                    return Poll::Ready(Some(Err("the application sent two responses".into())));
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.announced.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
