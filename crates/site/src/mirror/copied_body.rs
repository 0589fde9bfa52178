//! The body of a request that is copied while the handler reads it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow::{Body, BoxError};

use super::Copy;

/// The body of a request that is copied while the handler reads it. The copy is sent at its end; it is left out if the
/// body is too long, or the handler does not read all of it.
pub(super) struct CopiedBody {
    source: Body,
    copy: Option<Copying>,
}

/// The copy, as far as it is made.
struct Copying {
    copy: Copy,
    content: Vec<u8>,
    /// Bytes that it has at most.
    most: usize,
}

impl CopiedBody {
    /// A body that may have so many bytes to be copied.
    pub(super) fn new(source: Body, copy: Copy, max: usize) -> Self {
        let announced = source.length().and_then(|length| usize::try_from(length).ok());
        // A client may announce more than it sends, so the memory is not all allocated at once.
        let content = Vec::with_capacity(announced.unwrap_or(0).min(max).min(FIRST));
        Self { source, copy: Some(Copying { copy, content, most: announced.unwrap_or(max).min(max) }) }
    }

    fn add(&mut self, piece: &Bytes) {
        let Some(copying) = &mut self.copy else { return };
        match copying.copy.reserve(piece.len()) {
            true => copying.append(piece),
            false => self.copy = None,
        }
    }

    fn end(&mut self) {
        if let Some(Copying { copy, mut content, .. }) = self.copy.take() {
            // It may be there for as long as the upstream is slow.
            content.shrink_to_fit();
            copy.send(content.into());
        }
    }
}

impl Copying {
    /// Makes twice the room where there is too little, but not more than the body can have: only its bytes are counted.
    fn append(&mut self, piece: &[u8]) {
        let length = self.content.len() + piece.len();
        if length > self.content.capacity() {
            let room = (2 * self.content.len()).min(self.most).max(length);
            self.content.reserve_exact(room - self.content.len());
        }
        self.content.extend_from_slice(piece);
    }
}

impl http_body::Body for CopiedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut();
        let frame = ready!(body.source.poll_next(context));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(piece) = frame.data_ref() {
                    body.add(piece);
                }
                // Handlers need not ask again for what they know to have ended.
                if body.source.is_end() || frame.is_trailers() {
                    body.end();
                }
            }
            None => body.end(),
            Some(Err(_)) => body.copy = None,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.source.is_end()
    }

    fn size_hint(&self) -> SizeHint {
        http_body::Body::size_hint(&self.source)
    }
}

/// Bytes that are allocated at first.
const FIRST: usize = 16 << 10;
