//! The sending end of a response's body, which buffers what its client does not read.

use std::{
    future::poll_fn,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_message::{BodySender, Headers, IncomingError, PipedBytes, Wanted};

use super::{
    BufferSettings,
    backlog::{Backlog, End, Lag},
};

/// Whether responses are buffered whose clients do not keep up. Clones share their settings.
///
/// The default is to buffer, with default settings.
///
/// ```
/// use serow_gateway::ResponseBuffering;
/// use serow_message::Headers;
///
/// let (buffering, headers) = (ResponseBuffering::default(), Headers::new());
/// assert!(buffering.settings_for(Some(10_000), &headers).is_none(), "the kernel has room for it");
/// assert!(buffering.settings_for(Some(10_000_000), &headers).is_some());
/// assert!(ResponseBuffering::OFF.settings_for(None, &headers).is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseBuffering(Option<Arc<BufferSettings>>);

/// The sending end of a response's body. As long as its client keeps up, it does no more than the [`BodySender`] in it.
///
/// The task that feeds it waits for the client no longer than [`Self::DEADLINE`], and calls
/// [`Self::begin_buffering`] then: the server can send the rest at once, and is free for another request. The rest goes to
/// memory and to an unnamed file, and from there to the client. When that has caught up, data goes directly to it again.
pub struct BufferedSender {
    sender: BodySender,
    settings: Option<Arc<BufferSettings>>,
    /// The part that the client has not read, while data goes there. Boxed, since most responses have none.
    backlog: Option<Box<Backlog>>,
}

impl ResponseBuffering {
    /// Servers wait for slow clients.
    pub const OFF: Self = Self(None);

    /// Buffers with these settings.
    #[must_use]
    pub fn with(settings: BufferSettings) -> Self {
        Self(Some(Arc::new(settings)))
    }

    /// The settings for a response of this length, where it is known, with these fields; none if it is not buffered. A
    /// server turns it off by `X-Accel-Buffering: no`, as for nginx.
    #[must_use]
    pub fn settings_for(&self, length: Option<u64>, headers: &Headers) -> Option<Arc<BufferSettings>> {
        let settings = self.0.as_ref().filter(|_| length.is_none_or(|length| length > HELD_BY_KERNEL))?;
        // Not by a look-up, which would compare the name with those that are known.
        let mut fields = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(X_ACCEL_BUFFERING));
        let is_refused = fields.any(|(_, value)| value.eq_ignore_ascii_case(b"no"));
        (!is_refused).then(|| Arc::clone(settings))
    }
}

impl Default for ResponseBuffering {
    fn default() -> Self {
        Self::with(BufferSettings::default())
    }
}

impl BufferedSender {
    /// How long a client may take to ask for the next piece. One that reads ten megabytes a second does so in time.
    pub const DEADLINE: Duration = Duration::from_millis(10);

    /// Buffers with these settings, or never where there are none.
    #[must_use]
    pub fn new(sender: BodySender, settings: Option<Arc<BufferSettings>>) -> Self {
        Self { sender, settings, backlog: None }
    }

    /// Waits until a piece can be taken, or the client is gone. Hands over buffered pieces meanwhile.
    #[inline]
    pub fn poll_wanted(&mut self, context: &mut Context<'_>) -> Poll<Wanted> {
        if self.backlog.is_some() {
            return self.poll_backlog(context);
        }
        self.sender.poll_wanted(context)
    }

    #[cold]
    fn poll_backlog(&mut self, context: &mut Context<'_>) -> Poll<Wanted> {
        let Some(backlog) = &mut self.backlog else { return self.sender.poll_wanted(context) };
        match backlog.poll_deliver(&self.sender, context) {
            Lag::None => {
                self.backlog = None;
                Poll::Ready(Wanted::More)
            }
            Lag::Behind if backlog.has_room() => Poll::Ready(Wanted::More),
            Lag::Behind => Poll::Pending,
            Lag::Ended | Lag::Abandoned => Poll::Ready(Wanted::Nothing),
        }
    }

    /// Whether buffering may begin: it has not, and the settings allow it.
    #[inline]
    #[must_use]
    pub fn may_buffer(&self) -> bool {
        self.settings.is_some() && self.backlog.is_none()
    }

    /// Takes further pieces before the client asks for them.
    pub fn begin_buffering(&mut self) {
        if let (Some(settings), None) = (&self.settings, &self.backlog) {
            self.backlog = Some(Box::new(Backlog::new(Arc::clone(settings))));
        }
    }

    /// Ready when the client is gone; otherwise the task is woken then.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        self.sender.poll_abandoned(context)
    }

    /// Hands over a piece. Only after [`Self::poll_wanted`] asked for more.
    pub fn push(&mut self, piece: Bytes, context: &Context<'_>) {
        match &mut self.backlog {
            None => self.sender.push(piece, context),
            Some(backlog) => backlog.push(&piece),
        }
    }

    /// Whether the next piece may be in a pipe ([`BodySender::takes_pipes`]).
    #[must_use]
    pub fn takes_pipes(&self) -> bool {
        self.backlog.is_none() && self.sender.takes_pipes()
    }

    /// As [`Self::push`], a piece in a pipe, if [it may be](Self::takes_pipes).
    pub fn push_piped(&mut self, bytes: PipedBytes, context: &Context<'_>) {
        self.sender.push_piped(bytes, context);
    }

    /// Says that the body is whole, with its trailers if there were any. Only after [`Self::poll_wanted`] asked for more.
    pub fn finish(&mut self, trailers: Option<Headers>) {
        match &mut self.backlog {
            None => self.sender.finish(trailers),
            Some(backlog) => backlog.end(End::Whole(trailers)),
        }
    }

    /// Says that the rest will not come. The client gets the pieces before it nevertheless.
    pub fn fail(&mut self, error: IncomingError) {
        match &mut self.backlog {
            None => self.sender.fail(error),
            Some(backlog) => backlog.end(End::Failed(error)),
        }
    }

    /// A task of this thread sends the buffered rest, after [`Self::finish`] or [`Self::fail`]. Its owner is free.
    pub fn deliver_rest(self) {
        let Self { sender, backlog, .. } = self;
        if let Some(mut backlog) = backlog {
            tokio::task::spawn_local(poll_fn(move |context| match backlog.poll_deliver(&sender, context) {
                Lag::Behind => Poll::Pending,
                Lag::None | Lag::Ended | Lag::Abandoned => Poll::Ready(()),
            }));
        }
    }
}

const X_ACCEL_BUFFERING: &[u8] = b"x-accel-buffering";

/// The length of a response that holds up no server that sends it, and is not buffered: its socket holds the part that was not received, even a unix
/// socket to which it is written 16 KiB at a time, for which the kernel counts 32 KiB.
const HELD_BY_KERNEL: u64 = 128 * 1024;
