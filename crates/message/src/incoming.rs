//! A request body: the connection sends it, the handler reads it, with back-pressure between them.

use core::{
    fmt,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::{BodyPiece, Headers, PipedBytes};

/// The reading end of a request body, which a handler finds in [`Body`](crate::Body).
///
/// A chunk is received from the socket only when the handler requests it; so back-pressure reaches the peer, and the
/// server sends `100 Continue` only when the handler reads.
#[derive(Debug)]
pub struct Incoming {
    channel: Arc<Mutex<Channel>>,
    remaining: Option<u64>,
}

/// The sending end of a request body, which the connection holds.
#[derive(Debug)]
pub struct BodySender {
    channel: Arc<Mutex<Channel>>,
}

/// The demand of a body's reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The next chunk.
    More,
    /// Nothing more: the body was dropped.
    Nothing,
}

/// The error of an incomplete body: of a request, or of a response that others make.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IncomingError {
    /// The peer closed the connection or reset the stream.
    Disconnected,
    /// The peer violated the protocol.
    Malformed,
    /// The peer sent too slowly.
    TimedOut,
    /// The body is larger than the server allows.
    TooLarge,
    /// The upstream server or the application ended before its response was whole.
    ResponseCutOff,
    /// The upstream server or the application sent its response too slowly.
    ResponseTimedOut,
}

#[derive(Debug, Default)]
struct Channel {
    state: ChannelState,
    reader: Option<Waker>,
    sender: Option<Waker>,
    timeout: Option<Duration>,
    /// Whether the reader has a socket to which a pipe can be emptied.
    takes_pipes: bool,
}

/// The state of the channel: whose turn it is.
#[derive(Debug, Default)]
enum ChannelState {
    /// The reader has not requested a chunk yet.
    #[default]
    Idle,
    /// The reader waits for a chunk.
    Asked,
    /// A chunk waits for the reader.
    Chunk(Bytes),
    /// A chunk waits for the reader in a pipe.
    Piped(PipedBytes),
    /// The end waits for the reader, with trailers if there were any.
    End(Option<Headers>),
    /// The failure waits for the reader, and stays.
    Failed(IncomingError),
    /// The reader has seen the end.
    Finished,
    /// The reader is gone.
    Dropped,
}

impl Incoming {
    /// A body, and the end that sends it; `length` in bytes, where it is known.
    #[must_use]
    pub fn channel(length: Option<u64>) -> (BodySender, Self) {
        let channel = Arc::new(Mutex::new(Channel::default()));
        (BodySender { channel: Arc::clone(&channel) }, Self { channel, remaining: length })
    }

    /// Bytes still to come, where the length was announced.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        self.remaining
    }

    /// Sets how long the peer may take for the next bytes, in place of what the server allows.
    pub fn set_timeout(&mut self, timeout: Duration) {
        lock(&self.channel).timeout = Some(timeout);
    }

    /// Allows the sender to hand over pipes, which [`Self::poll_piece`] returns as they are.
    pub(crate) fn accept_pipes(&mut self) {
        lock(&self.channel).takes_pipes = true;
    }

    pub(crate) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, IncomingError>>> {
        let Some(piece) = ready!(self.poll_piece(context)) else { return Poll::Ready(None) };
        Poll::Ready(Some(match piece? {
            BodyPiece::Frame(frame) => Ok(frame),
            BodyPiece::Piped(bytes) => bytes.read().map(Frame::data).map_err(|_| IncomingError::Disconnected),
        }))
    }

    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<BodyPiece, IncomingError>>> {
        let mut channel = lock(&self.channel);
        match core::mem::replace(&mut channel.state, ChannelState::Asked) {
            ChannelState::Idle | ChannelState::Asked => {
                channel.reader = Some(context.waker().clone());
                wake_other(&mut channel.sender, context);
                Poll::Pending
            }
            ChannelState::Chunk(chunk) => {
                channel.state = ChannelState::Idle;
                self.remaining = self.remaining.map(|bytes| bytes.saturating_sub(chunk.len() as u64));
                Poll::Ready(Some(Ok(BodyPiece::Frame(Frame::data(chunk)))))
            }
            ChannelState::Piped(bytes) => {
                channel.state = ChannelState::Idle;
                self.remaining = self.remaining.map(|left| left.saturating_sub(bytes.length() as u64));
                Poll::Ready(Some(Ok(BodyPiece::Piped(bytes))))
            }
            ChannelState::End(trailers) => {
                channel.state = ChannelState::Finished;
                self.remaining = Some(0);
                Poll::Ready(trailers.map(|trailers| Ok(BodyPiece::Frame(Frame::trailers(trailers.into())))))
            }
            ChannelState::Failed(error) => {
                channel.state = ChannelState::Failed(error);
                Poll::Ready(Some(Err(error)))
            }
            ended @ (ChannelState::Finished | ChannelState::Dropped) => {
                channel.state = ended;
                Poll::Ready(None)
            }
        }
    }

    pub(crate) fn is_end(&self) -> bool {
        matches!(lock(&self.channel).state, ChannelState::Finished | ChannelState::End(None))
    }

    pub(crate) fn size_hint(&self) -> SizeHint {
        self.remaining.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        let mut channel = lock(&self.channel);
        channel.state = ChannelState::Dropped;
        wake(&mut channel.sender);
    }
}

impl BodySender {
    /// Waits until the reader wants a chunk, or is gone. A reader in the same task is to be polled first: it does not
    /// wake the task it runs in.
    pub fn poll_wanted(&self, context: &mut Context<'_>) -> Poll<Wanted> {
        let mut channel = lock(&self.channel);
        match channel.state {
            ChannelState::Asked => Poll::Ready(Wanted::More),
            ChannelState::Dropped => Poll::Ready(Wanted::Nothing),
            _ => {
                channel.sender = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Ready when the body was dropped; otherwise the task is woken then. For a sender that was asked for a chunk and
    /// waits for it itself.
    pub fn poll_abandoned(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut channel = lock(&self.channel);
        if let ChannelState::Dropped = channel.state {
            return Poll::Ready(());
        }
        match &mut channel.sender {
            Some(waker) if waker.will_wake(context.waker()) => {}
            slot => *slot = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// How long the peer may take for the next bytes, if the reader says so.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        lock(&self.channel).timeout
    }

    /// Whether the body was dropped, so that nobody will read the rest.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        matches!(lock(&self.channel).state, ChannelState::Dropped)
    }

    /// Hands over a chunk. Only after [`Self::poll_wanted`] asked for more; a body that was dropped takes it and
    /// forgets it.
    ///
    /// A reader in the task of `context` is not woken: whoever feeds there polls it next. (A task that wakes itself for
    /// each chunk keeps its runtime from looking for events.)
    pub fn push(&self, chunk: Bytes, context: &Context<'_>) {
        self.hand_over(ChannelState::Chunk(chunk), Some(context));
    }

    /// Whether [`Self::push_piped`] spares a copy: the reader sends the body to a socket that takes it from a pipe.
    #[must_use]
    pub fn takes_pipes(&self) -> bool {
        lock(&self.channel).takes_pipes
    }

    /// As [`Self::push`], a chunk that is in a pipe.
    pub fn push_piped(&self, bytes: PipedBytes, context: &Context<'_>) {
        self.hand_over(ChannelState::Piped(bytes), Some(context));
    }

    /// Says that the body is whole, with its trailers if there were any.
    pub fn finish(&self, trailers: Option<Headers>) {
        self.hand_over(ChannelState::End(trailers), None);
    }

    /// Says that the rest will not come.
    pub fn fail(&self, error: IncomingError) {
        self.hand_over(ChannelState::Failed(error), None);
    }

    fn hand_over(&self, state: ChannelState, context: Option<&Context<'_>>) {
        let mut channel = lock(&self.channel);
        if !matches!(channel.state, ChannelState::Dropped) {
            channel.state = state;
            match context {
                Some(context) => wake_other(&mut channel.reader, context),
                None => wake(&mut channel.reader),
            }
        }
    }
}

impl Drop for BodySender {
    /// A reader learns that no more data comes.
    fn drop(&mut self) {
        let mut channel = lock(&self.channel);
        if let ChannelState::Idle | ChannelState::Asked | ChannelState::Chunk(_) | ChannelState::Piped(_) =
            channel.state
        {
            channel.state = ChannelState::Failed(IncomingError::Disconnected);
            wake(&mut channel.reader);
        }
    }
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for IncomingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for IncomingError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Disconnected => "the peer left before the body was whole",
            Self::Malformed => "the peer sent a malformed body",
            Self::TimedOut => "the peer sent the body too slowly",
            Self::TooLarge => "the body is larger than allowed",
            Self::ResponseCutOff => "the upstream server or application ended before its response was whole",
            Self::ResponseTimedOut => "the upstream server or application sent its response too slowly",
        })
    }
}

impl core::error::Error for IncomingError {}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock(channel: &Mutex<Channel>) -> MutexGuard<'_, Channel> {
    channel.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake(waker: &mut Option<Waker>) {
    if let Some(waker) = waker.take() {
        waker.wake();
    }
}

/// Wakes a task that is not the one at work.
fn wake_other(waker: &mut Option<Waker>, context: &Context<'_>) {
    if let Some(waker) = waker.take().filter(|waker| !waker.will_wake(context.waker())) {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(body: &mut Incoming) -> Poll<Option<Result<Frame<Bytes>, IncomingError>>> {
        body.poll_frame(&mut Context::from_waker(Waker::noop()))
    }

    fn wanted(sender: &BodySender) -> Poll<Wanted> {
        sender.poll_wanted(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn nothing_is_wanted_before_the_reader_asks() {
        let (sender, mut body) = Incoming::channel(Some(3));
        assert_eq!(wanted(&sender), Poll::Pending);
        assert!(poll(&mut body).is_pending());
        assert_eq!(wanted(&sender), Poll::Ready(Wanted::More));
        sender.push("abc".into(), &Context::from_waker(Waker::noop()));
        assert_eq!(wanted(&sender), Poll::Pending);
        let Poll::Ready(Some(Ok(frame))) = poll(&mut body) else { panic!("no chunk") };
        assert_eq!(frame.into_data().unwrap(), "abc");
        assert_eq!(body.remaining(), Some(0));
        assert!(poll(&mut body).is_pending());
        sender.finish(None);
        assert!(matches!(poll(&mut body), Poll::Ready(None)));
        assert!(matches!(poll(&mut body), Poll::Ready(None)));
    }

    #[test]
    fn trailers_come_last() {
        let (sender, mut body) = Incoming::channel(None);
        assert!(poll(&mut body).is_pending());
        let mut trailers = Headers::new();
        trailers.append("x-sum", "1").unwrap();
        sender.finish(Some(trailers));
        let Poll::Ready(Some(Ok(frame))) = poll(&mut body) else { panic!("no trailers") };
        assert_eq!(frame.into_trailers().unwrap()["x-sum"], "1");
    }

    #[test]
    fn a_failure_and_a_drop_are_seen_by_the_other_side() {
        let (sender, mut body) = Incoming::channel(None);
        sender.fail(IncomingError::Disconnected);
        for _ in 0..2 {
            assert!(matches!(poll(&mut body), Poll::Ready(Some(Err(IncomingError::Disconnected)))));
        }
        drop(body);
        assert_eq!(wanted(&sender), Poll::Ready(Wanted::Nothing));
        sender.push("late".into(), &Context::from_waker(Waker::noop()));
    }

    #[test]
    fn a_reader_learns_that_its_sender_is_gone() {
        let (sender, mut body) = Incoming::channel(None);
        assert!(poll(&mut body).is_pending());
        drop(sender);
        assert!(matches!(poll(&mut body), Poll::Ready(Some(Err(IncomingError::Disconnected)))));
        // Unless all had been said before.
        let (sender, mut body) = Incoming::channel(None);
        assert!(poll(&mut body).is_pending());
        sender.finish(None);
        drop(sender);
        assert!(matches!(poll(&mut body), Poll::Ready(None)));
    }
}
