//! A body that is read from a content that is arriving.

use std::{
    fs::File,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_cache::{ContentCut, GrowingPiece, GrowingReader};
use serow_message::{BoxError, FileRange};

/// A body that is read from a content that is arriving: all of it, or a part.
#[derive(Debug)]
pub(super) struct ArrivingBody {
    /// Nothing when there is all of it: the reader holds up others no more.
    reader: Option<GrowingReader>,
    /// Bytes that are left, if that is known.
    left: Option<u64>,
}

impl ArrivingBody {
    /// A body of so many bytes, if that is known, from where the reader begins.
    pub(super) fn new(reader: GrowingReader, length: Option<u64>) -> Self {
        Self { reader: Some(reader).filter(|_| length != Some(0)), left: length }
    }
}

impl http_body::Body for ArrivingBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        let Some(reader) = &mut body.reader else { return Poll::Ready(None) };
        let most = body.left.unwrap_or(u64::MAX).min(PIECE);
        let piece = match ready!(reader.poll_next(context, most)).transpose()? {
            Some(GrowingPiece::Bytes(bytes)) => bytes,
            Some(GrowingPiece::File { file, offset, length }) => read(file, offset, length)?,
            // An end before the announced length would look like a whole body.
            None if body.left.is_some_and(|left| left > 0) => return Poll::Ready(Some(Err(ContentCut.into()))),
            None => return Poll::Ready(None),
        };
        if let Some(left) = &mut body.left {
            *left -= piece.len() as u64;
        }
        if body.left == Some(0) {
            body.reader = None;
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// These bytes of a file, which have just been written: they are in memory still, unless the reader is slow.
fn read(file: Arc<File>, offset: u64, length: u64) -> io::Result<Bytes> {
    let mut range = FileRange { file, offset, length, version: None };
    let mut bytes = Vec::with_capacity(length as usize);
    while range.length > 0 {
        range.read_into(&mut bytes, length as usize)?;
    }
    Ok(bytes.into())
}

/// The most that is handed on at once: as much as a file is read by elsewhere.
const PIECE: u64 = 64 << 10;
