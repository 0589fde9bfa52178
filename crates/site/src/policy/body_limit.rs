//! How long the bodies of requests may be.

use std::{
    pin::Pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::Frame;
use serow_gateway::{LogLimit, RequestSummary, error_page};
use serow_message::{Body, BoxError, IncomingError, Request, Response, StatusCode};
use serow_net::{Moment, monotonic};
use serow_router::HeaderChanges;

/// What is known of the length of a body before it is read.
pub(crate) enum Bounded {
    /// It is not too long.
    Fits,
    /// Its length is not known: it is counted while it is read.
    Counted(CountedBody),
    /// It is too long, and so not read.
    TooLong(Response),
}

/// A body of a length that was not known, seen from the response.
pub(crate) struct CountedBody {
    is_too_long: Arc<AtomicBool>,
    /// What is answered if it is too long.
    refusal: Option<Response>,
}

/// Limits the body of a request to so many bytes: it prevents that a client fills the memory or the disk of a handler that
/// stores bodies.
pub(crate) fn bound(request: &mut Request, limit: u64) -> Bounded {
    match request.body.length() {
        Some(length) if length <= limit => Bounded::Fits,
        Some(_) => {
            log(&summary(request), limit);
            Bounded::TooLong(refusal(request))
        }
        None => {
            let is_too_long = Arc::<AtomicBool>::default();
            let body = std::mem::take(&mut request.body);
            let (flag, summary) = (Arc::clone(&is_too_long), summary(request));
            request.body = Body::stream(LimitedBody { body, limit, left: limit, is_too_long: flag, summary });
            Bounded::Counted(CountedBody { is_too_long, refusal: Some(refusal(request)) })
        }
    }
}

fn summary(request: &Request) -> RequestSummary {
    RequestSummary { method: request.method.clone(), target: request.target.clone() }
}

/// Error pages of the route can take its place, as that of all that the server says itself.
fn refusal(request: &Request) -> Response {
    error_page(StatusCode::PAYLOAD_TOO_LARGE, &request.headers)
}

/// The administrator may not know of the limit, so this is a warning; clients cannot fill the log with it.
#[cold]
fn log(request: &RequestSummary, limit: u64) {
    static LINES: LazyLock<LogLimit> = LazyLock::new(LogLimit::default);
    let now = Moment::from_milliseconds(u64::try_from(monotonic().as_millis()).unwrap_or(u64::MAX));
    if let Some(suppressed) = LINES.admit(now) {
        if suppressed.0 > 0 {
            tracing::warn!("and {suppressed} more requests refused with 413 before");
        }
        tracing::warn!(
            "{request}: refused with 413, since its body is longer than {limit} bytes; max-body of its site or route sets \
             the limit"
        );
    }
}

impl CountedBody {
    /// The refusal, once the body has turned out to be too long: whatever the handler makes of the part that it got.
    pub(crate) fn refusal(&mut self) -> Option<Response> {
        match self.is_too_long.load(Ordering::Relaxed) {
            true => self.refusal.take(),
            false => None,
        }
    }

    /// Changes the header of the refusal as that of the response.
    pub(crate) fn change(&mut self, changes: &HeaderChanges) {
        if let Some(refusal) = &mut self.refusal {
            changes.apply(refusal.status, &mut refusal.headers);
        }
    }
}

/// A body that fails when it has more bytes than it may have.
struct LimitedBody {
    body: Body,
    limit: u64,
    left: u64,
    is_too_long: Arc<AtomicBool>,
    summary: RequestSummary,
}

impl http_body::Body for LimitedBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        let Some(frame) = ready!(this.body.poll_next(context)).transpose()? else { return Poll::Ready(None) };
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        match this.left.checked_sub(length) {
            Some(left) => {
                this.left = left;
                Poll::Ready(Some(Ok(frame)))
            }
            None => {
                this.is_too_long.store(true, Ordering::Relaxed);
                log(&this.summary, this.limit);
                // The rest is not received.
                this.body = Body::empty();
                Poll::Ready(Some(Err(IncomingError::TooLarge.into())))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end() && !self.is_too_long.load(Ordering::Relaxed)
    }
}
