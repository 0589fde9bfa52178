//! A body that is sent no faster than a rate.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use serow_message::{Body, BodyKind, BoxError, FileRange};
use tokio::time::{Instant, Sleep, sleep_until};

use super::rate::{Allowance, Rate};

/// A body that is sent no faster than a rate: while nothing may be sent, no piece is ready. Its source is read as it is
/// sent, a file in the pieces that are sent.
pub(super) struct RatedBody {
    source: Source,
    allowance: Allowance,
    /// When the first piece was asked for.
    start: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Where pieces come from.
enum Source {
    File(Box<FileRange>),
    Pieces {
        body: Body,
        /// The rest of the piece read last.
        rest: Bytes,
    },
}

impl RatedBody {
    pub(super) fn new(body: Body, rate: Rate) -> Self {
        let source = match body.into_kind() {
            BodyKind::File(range) => Source::File(range),
            BodyKind::Empty => Source::of(Body::empty()),
            BodyKind::Bytes(bytes) => Source::of(bytes.into()),
            BodyKind::Incoming(incoming) => Source::of(incoming.into()),
            BodyKind::Stream(stream) => Source::of(stream.into()),
        };
        Self { source, allowance: Allowance::new(rate), start: None, timer: None }
    }
}

impl Source {
    fn of(body: Body) -> Self {
        Self::Pieces { body, rest: Bytes::new() }
    }

    /// How many bytes can be taken, at least one; or what comes in the place of bytes.
    fn poll_length(&mut self, context: &mut Context<'_>) -> Poll<Result<Next, BoxError>> {
        match self {
            Self::File(range) => Poll::Ready(Ok(match usize::try_from(range.length) {
                Ok(0) => Next::End,
                length => Next::Bytes(length.unwrap_or(usize::MAX).min(MAX_PIECE)),
            })),
            Self::Pieces { body, rest } => {
                if rest.is_empty() {
                    let Some(frame) = ready!(body.poll_next(context)).transpose()? else {
                        return Poll::Ready(Ok(Next::End));
                    };
                    match frame.into_data() {
                        // Its source lets others have their turn.
                        Ok(data) if data.is_empty() => return Poll::Ready(Ok(Next::GiveWay)),
                        Ok(data) => *rest = data,
                        Err(frame) => {
                            return Poll::Ready(Ok(frame.into_trailers().map_or(Next::End, Next::Trailers)));
                        }
                    }
                }
                Poll::Ready(Ok(Next::Bytes(rest.len().min(MAX_PIECE))))
            }
        }
    }

    /// Takes at most so many bytes.
    fn take(&mut self, length: usize) -> Result<Bytes, BoxError> {
        match self {
            Self::File(range) => Ok(range.read(length)?),
            Self::Pieces { rest, .. } => Ok(rest.split_to(length.min(rest.len()))),
        }
    }

    fn length(&self) -> Option<u64> {
        match self {
            Self::File(range) => Some(range.length),
            Self::Pieces { body, rest } => body.length().map(|length| length + rest.len() as u64),
        }
    }
}

/// The next part of the body that can be sent.
enum Next {
    /// So many bytes.
    Bytes(usize),
    GiveWay,
    Trailers(HeaderMap),
    End,
}

impl http_body::Body for RatedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let start = *this.start.get_or_insert_with(Instant::now);
        loop {
            if let Some(timer) = &mut this.timer {
                ready!(timer.as_mut().poll(context));
                this.timer = None;
            }
            let wanted = match ready!(this.source.poll_length(context))? {
                Next::Bytes(length) => length,
                Next::GiveWay => return Poll::Ready(Some(Ok(Frame::data(Bytes::new())))),
                Next::Trailers(trailers) => return Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
                Next::End => return Poll::Ready(None),
            };
            match this.allowance.bytes(start.elapsed(), wanted) {
                Ok(length) => {
                    let piece = this.source.take(length)?;
                    this.allowance.spend(piece.len());
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                Err(next) => this.timer = Some(Box::pin(sleep_until(start + next))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.source {
            Source::File(range) => range.length == 0,
            Source::Pieces { body, rest } => rest.is_empty() && body.is_end(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.source.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Bytes that are read and sent at a time, however fast: as much as other files are read at a time.
const MAX_PIECE: usize = 64 * 1024;

#[cfg(test)]
mod tests;
