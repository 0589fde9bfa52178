//! The interface that a run needs of both versions of HTTP with streams.

use std::{
    fmt::Display,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_client::{ClientError, DialError};
use serow_http2::frame::Dependency;
use serow_message::{Priority, RequestHead};
use serow_streams::{ClientEvent, OpenError, StreamId};

use crate::thread::Thread;

/// Bytes of a connection, encryption included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WireBytes {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// A connection with many requests at a time.
pub(crate) trait Connection: Sized {
    /// Error codes of this version of HTTP.
    type Code: Display + PartialEq;
    /// The code with which a server refuses a request that it has not looked at.
    const REFUSED: Self::Code;
    /// The code of a response that is not wanted any more.
    const CANCELLED: Self::Code;
    /// The stream of the first request.
    const FIRST_STREAM: StreamId;
    /// The difference between the numbers of two streams that are opened one after the other.
    const STREAM_DISTANCE: u64;

    /// Opens a connection and counts it.
    async fn dial(thread: &Thread) -> Result<Self, DialError>;

    /// Begins a request. Only HTTP/2 has dependencies.
    fn open(
        &mut self,
        head: &RequestHead,
        body: &Bytes,
        scheme: &str,
        dependency: Option<Dependency>,
    ) -> Result<StreamId, OpenError>;

    /// The next event of any response.
    fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        now: Duration,
    ) -> Poll<Result<ClientEvent<Self::Code>, ClientError>>;

    /// So many bytes of a body need no more room.
    fn note_consumed(&mut self, stream: StreamId, bytes: usize);

    /// Sends what waits, as far as it can be sent now.
    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>>;

    /// A response is not wanted any more.
    fn reset(&mut self, stream: StreamId, code: Self::Code);

    /// Says how urgent a response is from now on.
    fn set_priority(&mut self, stream: StreamId, priority: Priority);

    /// When [`Self::handle_timeout`] is to be called, if nothing happens before.
    fn deadline(&self) -> Option<Duration>;

    /// A deadline of the connection may have passed.
    fn handle_timeout(&mut self, now: Duration);

    /// No more requests follow.
    fn begin_shutdown(&mut self);

    /// Whether nothing is left to be done but to close it.
    fn is_finished(&self) -> bool;

    /// Closes it; `keep_alive`: it was one of few.
    fn close(&mut self, context: &mut Context<'_>, keep_alive: bool);

    /// Bytes received so far, after decryption.
    fn received(&self) -> u64;

    /// Bytes sent and received so far, encryption included.
    fn wire_bytes(&mut self) -> WireBytes;

    /// The part that has come of a frame of DATA that is not whole.
    fn unfinished_data(&self) -> Option<(StreamId, usize)>;

    /// The beginning of what was received and is not a response.
    fn not_understood(&self) -> &[u8];
}
