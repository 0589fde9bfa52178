//! A body with trailers behind it.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::Frame;
use serow_message::{Body, BoxError, Headers};

/// The body followed by these trailers. Its length is unknown, since HTTP/1.1 sends trailers only with chunked bodies.
pub fn with_trailers(body: Body, trailers: Headers) -> Body {
    Body::stream(BodyWithTrailers { body, trailers: Some(trailers) })
}

struct BodyWithTrailers {
    body: Body,
    trailers: Option<Headers>,
}

impl http_body::Body for BodyWithTrailers {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = ready!(self.body.poll_next(context));
        Poll::Ready(frame.or_else(|| self.trailers.take().map(|trailers| Ok(Frame::trailers(trailers.into())))))
    }
}
