//! Bodies that are made piece by piece while they are sent.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use serow_message::Body;

/// Where the pieces of a body come from. Making one never waits, but takes no longer than others can do without the
/// core.
pub(crate) trait Pieces {
    /// The next piece, or nothing at the end and behind an error. Where there is nothing to send yet it is empty: the
    /// server lets others have their turn, and asks again.
    fn next_piece(&mut self) -> Option<io::Result<Bytes>>;

    /// How many bytes are still to come, where that is known.
    fn remaining(&self) -> Option<u64>;
}

/// A body of these pieces.
pub(crate) fn body_of(pieces: impl Pieces + Send + Unpin + 'static) -> Body {
    Body::stream(PieceBody(pieces))
}

struct PieceBody<P>(P);

impl<P: Pieces + Unpin> http_body::Body for PieceBody<P> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.get_mut().0.next_piece().map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.remaining() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
