//! The body of a request, from the socket to whoever reads it.

use std::task::{Context, Poll};

use serow_http1::{Event, Framing};
use serow_message::{Body, Feeder, Handler, Incoming, IncomingError, StatusCode, Wanted};
use serow_net::More;

use super::{End, Http1};
use crate::transport::Broken;

/// The feeding end of a request's body, where there is one.
pub(super) struct Feeding {
    feeder: Option<Feeder>,
    /// Bytes that were announced; none for a chunked body.
    length: Option<u64>,
}

impl Feeding {
    /// The two ends of a body with this framing.
    #[inline]
    pub(super) fn new(framing: Framing) -> (Self, Body) {
        match framing {
            Framing::None => (Self { feeder: None, length: Some(0) }, Body::empty()),
            framing => {
                let length = framing.length();
                let (feeder, incoming) = Incoming::channel(length);
                (Self { feeder: Some(feeder), length }, incoming.into())
            }
        }
    }

    /// Whether nobody will read the rest, and it is too long to be passed over.
    pub(super) fn is_too_long_to_drain(&self) -> bool {
        self.feeder.as_ref().is_some_and(Feeder::is_abandoned)
            && self.length.is_some_and(|length| length > MOST_DRAINED)
    }

    fn fail(&self, error: IncomingError) {
        if let Some(feeder) = &self.feeder {
            feeder.fail(error);
        }
    }
}

impl<H: Handler> Http1<H> {
    /// Feeds the body as it is wanted; ready only when the connection ends over it.
    pub(super) fn poll_feed(&mut self, feeding: &Feeding, context: &mut Context<'_>) -> Poll<End> {
        let Some(feeder) = &feeding.feeder else { return Poll::Pending };
        loop {
            match feeder.poll_wanted(context) {
                Poll::Ready(Wanted::More) => {}
                Poll::Ready(Wanted::Nothing) => return Poll::Pending,
                Poll::Pending => {
                    // The handler is at something else: that is not the client's time.
                    self.transport.allow_any_time();
                    return Poll::Pending;
                }
            }
            if self.machine.awaits_continue() {
                self.machine.send_continue(self.transport.output());
            }
            match self.machine.receive(&mut self.transport.input) {
                Ok(Some(Event::Data(data))) => {
                    self.transport.note_moved(data.len());
                    feeder.push(data);
                    return Poll::Pending;
                }
                Ok(Some(Event::End(trailers))) => {
                    self.transport.allow_any_time();
                    feeder.finish(trailers);
                    return Poll::Pending;
                }
                Ok(Some(Event::Head(_)) | None) => {}
                Err(error) => {
                    feeding.fail(IncomingError::Malformed);
                    return Poll::Ready(self.mistake(error));
                }
            }
            match self.poll_more(context) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(end)) => {
                    feeding.fail(IncomingError::Disconnected);
                    return Poll::Ready(end);
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Takes in what is left of a body nobody reads, so that the next request can be found.
    pub(super) async fn drain(&mut self) -> Result<(), End> {
        let mut left = MOST_DRAINED;
        std::future::poll_fn(|context| {
            loop {
                match self.machine.receive(&mut self.transport.input) {
                    Ok(Some(Event::Data(data))) => match left.checked_sub(data.len() as u64) {
                        Some(rest) => {
                            self.transport.note_moved(data.len());
                            left = rest;
                        }
                        None => return Poll::Ready(Err(End::Close)),
                    },
                    Ok(Some(Event::End(_))) => return Poll::Ready(Ok(())),
                    Ok(Some(Event::Head(_)) | None) => match self.poll_more(context) {
                        Poll::Ready(Ok(())) => {}
                        Poll::Ready(Err(end)) => return Poll::Ready(Err(end)),
                        Poll::Pending => return Poll::Pending,
                    },
                    Err(_) => return Poll::Ready(Err(End::Close)),
                }
            }
        })
        .await
    }

    /// Receives more of a body, after sending what the client may be waiting for.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<Result<(), End>> {
        if let Poll::Ready(Err(broken)) = self.transport.poll_flush(context, More::Nothing) {
            return Poll::Ready(Err(End::Cut(broken)));
        }
        match self.transport.poll_fill(context) {
            Poll::Ready(Ok(0)) => Poll::Ready(Err(End::Cut(Broken::Lost(std::io::ErrorKind::UnexpectedEof.into())))),
            Poll::Ready(Ok(_)) => Poll::Ready(Ok(())),
            Poll::Ready(Err(broken)) => Poll::Ready(Err(End::Cut(broken))),
            Poll::Pending => {
                self.transport.poll_impatient(context).map(|()| Err(End::Refuse(StatusCode::REQUEST_TIMEOUT)))
            }
        }
    }
}

/// Bytes of an unread body that are passed over to keep the connection: about what a new one costs in round trips on a
/// fast link. hyper and Go have limits of the same kind (256 KB in Go).
const MOST_DRAINED: u64 = 64 * 1024;
