//! Bodies for handlers: pieces made beforehand, and pieces a test sends while they are awaited.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http_body::{Frame, SizeHint};
use serow::{Body, BoxError, Bytes};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Pieces that are all ready, and what a stream may say of itself.
#[derive(Default)]
pub(crate) struct Pieces {
    pub(crate) frames: VecDeque<Result<Frame<Bytes>, BoxError>>,
    /// The length it claims.
    pub(crate) claims: Option<u64>,
    /// Counts the frames that were asked for.
    pub(crate) asked: Arc<AtomicUsize>,
}

impl Pieces {
    pub(crate) fn new(pieces: impl IntoIterator<Item = impl Into<Bytes>>) -> Self {
        let frames = pieces.into_iter().map(|piece| Ok(Frame::data(piece.into()))).collect();
        Self { frames, ..Self::default() }
    }

    pub(crate) fn claiming(mut self, length: u64) -> Self {
        self.claims = Some(length);
        self
    }

    pub(crate) fn then_fails(mut self) -> Self {
        self.frames.push_back(Err("the source dried up".into()));
        self
    }

    pub(crate) fn then_trailers(mut self, name: &'static str, value: &'static str) -> Self {
        let trailers = [(http::HeaderName::from_static(name), http::HeaderValue::from_static(value))];
        self.frames.push_back(Ok(Frame::trailers(trailers.into_iter().collect())));
        self
    }

    pub(crate) fn body(self) -> Body {
        Body::stream(self)
    }
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Poll::Ready(self.frames.pop_front())
    }

    fn size_hint(&self) -> SizeHint {
        self.claims.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The test's end of a body; dropping it ends the body.
pub(crate) type Feed = UnboundedSender<Bytes>;

/// A body that the test feeds.
pub(crate) fn channel_body() -> (Feed, Body) {
    struct Fed(UnboundedReceiver<Bytes>);
    impl http_body::Body for Fed {
        type Data = Bytes;
        type Error = BoxError;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
            self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
        }
    }
    let (feed, fed) = unbounded_channel();
    (feed, Body::stream(Fed(fed)))
}

/// So many bytes, no two stretches of which are alike.
pub(crate) fn bytes_of(length: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
