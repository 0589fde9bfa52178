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

/// The length of a body against its limit, as far as it is known before the body is read.
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
    /// The response if it is too long.
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

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use serow_message::{Headers, Incoming};

    use super::*;

    fn request(length: Option<u64>) -> (serow_message::BodySender, Request) {
        let (sender, incoming) = Incoming::channel(length);
        let mut request = Request::get("/");
        request.body = incoming.into();
        (sender, request)
    }

    fn poll(request: &mut Request) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        request.body.poll_next(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn bodies_of_known_length_are_refused_before_anything_is_received() {
        for (length, limit, fits) in [(0, 0, true), (1, 0, false), (10, 10, true), (11, 10, false)] {
            let (sender, mut request) = request(Some(length));
            match bound(&mut request, limit) {
                Bounded::Fits => assert!(fits, "{length} {limit}"),
                Bounded::TooLong(refusal) => assert!(!fits && refusal.status == 413, "{length} {limit}"),
                Bounded::Counted(_) => panic!("{length} {limit}"),
            }
            let wanted = sender.poll_wanted(&mut Context::from_waker(Waker::noop()));
            assert!(wanted.is_pending(), "{length} {limit}");
        }
    }

    #[test]
    fn bodies_of_unknown_length_fail_when_they_pass_the_limit_and_the_rest_is_not_received() {
        let (sender, mut request) = request(None);
        let Bounded::Counted(mut counted) = bound(&mut request, 5) else { panic!("not counted") };
        let context = Context::from_waker(Waker::noop());
        for piece in ["abc", "de"] {
            assert!(poll(&mut request).is_pending());
            sender.push(piece.into(), &context);
            assert!(matches!(poll(&mut request), Poll::Ready(Some(Ok(_)))));
        }
        assert!(counted.refusal().is_none());
        assert!(poll(&mut request).is_pending());
        sender.push("f".into(), &context);
        let Poll::Ready(Some(Err(error))) = poll(&mut request) else { panic!("no error") };
        assert_eq!(error.downcast_ref(), Some(&IncomingError::TooLarge));
        assert!(sender.is_abandoned() && !request.body.is_end());
        assert_eq!(counted.refusal().map(|refusal| refusal.status), Some(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[test]
    fn bodies_that_fit_keep_their_trailers() {
        let (sender, mut request) = request(None);
        let Bounded::Counted(mut counted) = bound(&mut request, 5) else { panic!("not counted") };
        let mut trailers = Headers::new();
        trailers.append("x-sum", "1").unwrap();
        sender.finish(Some(trailers));
        let Poll::Ready(Some(Ok(frame))) = poll(&mut request) else { panic!("no trailers") };
        assert_eq!(frame.into_trailers().unwrap()["x-sum"], "1");
        assert!(matches!(poll(&mut request), Poll::Ready(None)));
        assert!(counted.refusal().is_none());
    }
}
