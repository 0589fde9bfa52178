//! The body of a message.

use core::{
    fmt,
    pin::Pin,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use std::{boxed::Box, string::String, vec::Vec};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::{FileRange, Incoming, PipedBytes};

/// An error of any type, from a foreign body or service.
pub type BoxError = Box<dyn core::error::Error + Send + Sync>;

/// A body that yields its bytes piece by piece.
pub type StreamBody = Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>;

/// The body of a request or response. It exposes its kind, so that the server can choose how to send it: memory
/// in one
/// call with the head, a file by `sendfile`, a stream piece by piece.
///
/// It is also an [`http_body::Body`], so foreign services and middleware accept it.
///
/// ```
/// use serow_message::Body;
///
/// let body = Body::from("Hello, World!");
/// assert_eq!(body.length(), Some(13));
/// ```
#[derive(Default)]
pub struct Body {
    kind: BodyKind,
}

/// The kind of a body.
#[derive(Default)]
pub enum BodyKind {
    /// Nothing.
    #[default]
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A range of an open file. (Boxed, since messages are moved often and files are rare among them.)
    File(Box<FileRange>),
    /// A request body that the connection receives.
    Incoming(Incoming),
    /// A stream.
    Stream(StreamBody),
}

/// A piece of a body, for a server that [takes pipes](Body::accept_pipes).
#[derive(Debug)]
pub enum BodyPiece {
    /// Data or trailers.
    Frame(Frame<Bytes>),
    /// Data in a pipe.
    Piped(PipedBytes),
}

impl Body {
    /// An empty body.
    #[must_use]
    pub const fn empty() -> Self {
        Self { kind: BodyKind::Empty }
    }

    /// A range of an open file.
    #[must_use]
    pub fn file(range: FileRange) -> Self {
        Self { kind: BodyKind::File(Box::new(range)) }
    }

    /// A streamed body. The server polls the next piece only when the kernel has taken the previous one.
    pub fn stream<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self { kind: BodyKind::Stream(Box::pin(Boxed { first: None, body: Box::pin(body) })) }
    }

    /// A foreign body: if all of it is there already, as of most responses of a router, it becomes bytes, which are sent
    /// with the head.
    pub(crate) fn foreign<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let length = body.size_hint().exact();
        let mut body = Box::pin(body);
        let mut first = None;
        if length.is_some_and(|length| length <= GATHERED) {
            // If this is too early, the sender of the body polls it again, with a waker of its own.
            match body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Some(Ok(frame))) if frame.is_data() && body.is_end_stream() => {
                    return frame.into_data().unwrap_or_default().into();
                }
                Poll::Ready(Some(frame)) => first = Some(frame.map_err(Into::into)),
                Poll::Ready(None) => return Self::empty(),
                Poll::Pending => {}
            }
        }
        Self { kind: BodyKind::Stream(Box::pin(Boxed { first, body })) }
    }

    /// The kind of the body.
    #[must_use]
    pub fn kind(&self) -> &BodyKind {
        &self.kind
    }

    /// Converts the body to its kind, for the server that sends it.
    #[must_use]
    pub fn into_kind(self) -> BodyKind {
        self.kind
    }

    /// Its length in bytes, if it is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match &self.kind {
            BodyKind::Empty => Some(0),
            BodyKind::Bytes(bytes) => Some(bytes.len() as u64),
            BodyKind::File(range) => Some(range.length),
            BodyKind::Incoming(incoming) => incoming.remaining(),
            BodyKind::Stream(stream) => stream.size_hint().exact(),
        }
    }

    /// Sets how long the client may take for the next bytes of a request's body, in place of what the server allows.
    pub fn set_timeout(&mut self, timeout: Duration) {
        if let BodyKind::Incoming(incoming) = &mut self.kind {
            incoming.set_timeout(timeout);
        }
    }

    /// Whether the body is known to have ended.
    #[must_use]
    pub fn is_end(&self) -> bool {
        http_body::Body::is_end_stream(self)
    }

    /// Reads the whole body into memory.
    ///
    /// # Errors
    ///
    /// The body's error, or [`TooLarge`](crate::IncomingError::TooLarge) if it has more than `limit` bytes.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, BoxError> {
        let mut whole = Vec::new();
        while let Some(frame) = core::future::poll_fn(|context| self.poll_next(context)).await {
            let Ok(data) = frame?.into_data() else { continue };
            if whole.len() + data.len() > limit {
                return Err(crate::IncomingError::TooLarge.into());
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole.into())
    }

    /// The body with these bytes in front of it: for one that was read in part, and is passed on as a whole.
    #[must_use]
    pub fn preceded_by(self, first: Bytes) -> Self {
        let first = (!first.is_empty()).then(|| Ok(Frame::data(first)));
        Self { kind: BodyKind::Stream(Box::pin(Boxed { first, body: Box::pin(self) })) }
    }

    /// The next piece of data; trailers are skipped.
    ///
    /// # Errors
    ///
    /// The body's own.
    pub async fn chunk(&mut self) -> Option<Result<Bytes, BoxError>> {
        loop {
            match core::future::poll_fn(|context| self.poll_next(context)).await? {
                Ok(frame) => match frame.into_data() {
                    Ok(data) => return Some(Ok(data)),
                    Err(_trailers) => {}
                },
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Allows whoever sends the body to hand over pipes: for a server that can empty them into a socket, and asks by
    /// [`Self::poll_piece`].
    pub fn accept_pipes(&mut self) {
        if let BodyKind::Incoming(incoming) = &mut self.kind {
            incoming.accept_pipes();
        }
    }

    /// The next piece, which may be in a pipe.
    pub fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<BodyPiece, BoxError>>> {
        match &mut self.kind {
            BodyKind::Incoming(incoming) => {
                incoming.poll_piece(context).map(|piece| piece.map(|piece| piece.map_err(Into::into)))
            }
            _ => self.poll_next(context).map_ok(BodyPiece::Frame),
        }
    }

    /// The next frame, data or trailers.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.kind {
            BodyKind::Empty => Poll::Ready(None),
            BodyKind::Bytes(bytes) => {
                let bytes = core::mem::take(bytes);
                self.kind = BodyKind::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            BodyKind::File(range) if range.length == 0 => Poll::Ready(None),
            BodyKind::File(range) => {
                let read = range.read(FILE_CHUNK);
                Poll::Ready(Some(read.map(Frame::data).map_err(Into::into)))
            }
            BodyKind::Incoming(incoming) => {
                let frame = ready!(incoming.poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
            BodyKind::Stream(stream) => stream.as_mut().poll_frame(context),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.get_mut().poll_next(context)
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            BodyKind::Empty => true,
            BodyKind::Bytes(bytes) => bytes.is_empty(),
            BodyKind::File(range) => range.length == 0,
            BodyKind::Incoming(incoming) => incoming.is_end(),
            BodyKind::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Stream(stream) => stream.size_hint(),
            BodyKind::Incoming(incoming) => incoming.size_hint(),
            _ => self.length().map_or_else(SizeHint::default, SizeHint::with_exact),
        }
    }
}

/// A foreign body whose errors become [`BoxError`].
struct Boxed<B> {
    /// The frame that it gave before it was boxed.
    first: Option<Result<Frame<Bytes>, BoxError>>,
    body: Pin<Box<B>>,
}

impl<B> http_body::Body for Boxed<B>
where
    B: http_body::Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { first, body } = self.get_mut();
        if first.is_some() {
            return Poll::Ready(first.take());
        }
        body.as_mut().poll_frame(context).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.body.size_hint();
        let Some(Ok(frame)) = &self.first else { return rest };
        let length = frame.data_ref().map_or(0, Bytes::len) as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(length));
        rest.upper().into_iter().for_each(|upper| hint.set_upper(upper.saturating_add(length)));
        hint
    }
}

/// Bytes of a foreign body that is sent with the head if it is there: as much as a socket's buffer usually takes at once.
const GATHERED: u64 = 64 << 10;

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self { kind: BodyKind::Bytes(bytes) }
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::from_static(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<Incoming> for Body {
    fn from(incoming: Incoming) -> Self {
        Self { kind: BodyKind::Incoming(incoming) }
    }
}

impl From<StreamBody> for Body {
    fn from(stream: StreamBody) -> Self {
        Self { kind: BodyKind::Stream(stream) }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            BodyKind::Empty => formatter.write_str("Empty"),
            BodyKind::Bytes(bytes) => write!(formatter, "Bytes({})", bytes.len()),
            BodyKind::File(range) => range.fmt(formatter),
            BodyKind::Incoming(incoming) => write!(formatter, "Incoming({:?})", incoming.remaining()),
            BodyKind::Stream(_) => formatter.write_str("Stream"),
        }
    }
}

/// The size of the pieces in which a foreign service reads a file: as large as one TLS or HTTP/2 round takes, small
/// enough that other connections of the core do not wait.
const FILE_CHUNK: usize = 64 * 1024;
