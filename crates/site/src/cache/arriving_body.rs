//! A body that is read from a content that is arriving.

use std::{
    ops::Range,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_cache::{ContentCut, GrowingReader};

/// A body that is read from a content that is arriving: all of it, or a part.
#[derive(Debug)]
pub(super) struct ArrivingBody {
    reader: GrowingReader,
    /// Bytes that are passed over first.
    skipped: u64,
    /// Bytes that are left, if that is known.
    left: Option<u64>,
}

impl ArrivingBody {
    /// The whole content.
    pub(super) fn whole(reader: GrowingReader) -> Self {
        let left = reader.length();
        Self { reader, skipped: 0, left }
    }

    /// A part of it.
    pub(super) fn part(reader: GrowingReader, range: &Range<u64>) -> Self {
        Self { reader, skipped: range.start, left: Some(range.end - range.start) }
    }

    /// What of a piece belongs to the body.
    fn cut(&mut self, mut piece: Bytes) -> Bytes {
        let skipped = self.skipped.min(piece.len() as u64);
        self.skipped -= skipped;
        let _ = piece.split_to(skipped as usize);
        if let Some(left) = &mut self.left {
            piece.truncate(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= piece.len() as u64;
        }
        piece
    }
}

impl http_body::Body for ArrivingBody {
    type Data = Bytes;
    type Error = ContentCut;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, ContentCut>>> {
        let body = self.get_mut();
        loop {
            if body.left == Some(0) {
                return Poll::Ready(None);
            }
            match ready!(body.reader.poll_next(context)).transpose()? {
                Some(piece) => {
                    let piece = body.cut(piece);
                    if !piece.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(piece))));
                    }
                }
                // An end before the announced length would look like a whole body.
                None if body.left.is_some_and(|left| left > 0) => return Poll::Ready(Some(Err(ContentCut))),
                None => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
