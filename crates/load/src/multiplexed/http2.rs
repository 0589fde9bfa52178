//! The connection over HTTP/2.

use std::{
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_client::{ClientError, DialError, Http2};
use serow_http2::{
    Asking, ClientEvent, ErrorCode, Limits, OpenError, StreamId,
    frame::{Dependency, FrameHeader, Kind, flags},
};
use serow_message::{Priority, RequestHead};
use serow_net::monotonic;

use super::connection::{Connection, WireBytes};
use crate::thread::Thread;

impl Connection for Http2 {
    type Code = ErrorCode;
    const REFUSED: ErrorCode = ErrorCode::REFUSED_STREAM;
    const CANCELLED: ErrorCode = ErrorCode::CANCEL;
    const FIRST_STREAM: StreamId = StreamId::new(1);
    const STREAM_DISTANCE: u64 = 2;

    async fn dial(thread: &Thread) -> Result<Self, DialError> {
        let wire = thread.dial().await?;
        Ok(Self::new(wire, Rc::clone(&thread.buffers), LIMITS, monotonic()))
    }

    fn open(
        &mut self,
        head: &RequestHead,
        body: &Bytes,
        scheme: &str,
        dependency: Option<Dependency>,
    ) -> Result<StreamId, OpenError> {
        Self::open(self, head, body, Asking { scheme, dependency, ..Asking::default() })
    }

    fn poll_receive(&mut self, context: &mut Context<'_>, now: Duration) -> Poll<Result<ClientEvent, ClientError>> {
        Self::poll_receive(self, context, now)
    }

    fn note_consumed(&mut self, stream: StreamId, bytes: usize) {
        Self::note_consumed(self, stream, bytes);
    }

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Self::poll_flush(self, context)
    }

    fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        Self::reset(self, stream, code);
    }

    fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        Self::set_priority(self, stream, priority);
    }

    fn deadline(&self) -> Option<Duration> {
        Self::deadline(self)
    }

    fn handle_timeout(&mut self, now: Duration) {
        Self::handle_timeout(self, now);
    }

    fn begin_shutdown(&mut self) {
        Self::begin_shutdown(self);
    }

    fn is_finished(&self) -> bool {
        Self::is_finished(self)
    }

    fn close(&mut self, context: &mut Context<'_>, keep_alive: bool) {
        // The farewell, as far as the kernel takes it.
        let _ = Self::poll_flush(self, context);
        if !keep_alive {
            // As over HTTP/1.1: a port for each request would be taken for a minute.
            self.wire().socket().reset_on_close();
        }
    }

    fn received(&self) -> u64 {
        Self::received(self)
    }

    fn wire_bytes(&mut self) -> WireBytes {
        WireBytes { sent: self.wire().sent(), received: self.wire().received() }
    }

    fn unfinished_data(&self) -> Option<(StreamId, usize)> {
        let input = Self::not_understood(self);
        let header = FrameHeader::read(input)?;
        // Where there is padding, nobody knows how much before the frame is whole.
        let is_plain = header.kind == Kind::DATA && header.flags & flags::PADDED == 0;
        is_plain.then(|| (header.stream, (input.len() - FrameHeader::LENGTH).min(header.length)))
    }

    fn not_understood(&self) -> &[u8] {
        Self::not_understood(self)
    }
}

/// A response may be as large as it likes: nothing of it is kept, so nothing is gained by windows. h2load has them as
/// large.
pub(crate) const LIMITS: Limits = Limits {
    head: 1 << 20,
    fields: 1000,
    target: 8 * 1024,
    body: u64::MAX,
    streams: 0,
    window: (1 << 30) - 1,
    stream_window: (1 << 30) - 1,
    largest_stream_window: (1 << 30) - 1,
    control: 64 * 1024,
    resets: u32::MAX,
    idle_frames: u32::MAX,
    settings_time: Duration::from_secs(30),
    extended_connect: false,
};
