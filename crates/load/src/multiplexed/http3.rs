//! The connection over HTTP/3.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_client::{ClientError, DialError, Http3};
use serow_http2::frame::Dependency;
use serow_http3::{Asking, ClientEvent, ErrorCode, Limits, OpenError, StreamId};
use serow_message::{Priority, RequestHead};

use super::connection::{Connection, WireBytes};
use crate::thread::Thread;

impl Connection for Http3 {
    type Code = ErrorCode;
    const REFUSED: ErrorCode = ErrorCode::REQUEST_REJECTED;
    const CANCELLED: ErrorCode = ErrorCode::REQUEST_CANCELLED;
    const FIRST_STREAM: StreamId = StreamId::of_quic(0);
    const STREAM_DISTANCE: u64 = 4;

    async fn dial(thread: &Thread) -> Result<Self, DialError> {
        thread.dial_http3(LIMITS).await
    }

    fn open(
        &mut self,
        head: &RequestHead,
        body: &Bytes,
        scheme: &str,
        _: Option<Dependency>,
    ) -> Result<StreamId, OpenError> {
        Self::open(self, head, body, Asking { scheme, ..Asking::default() })
    }

    fn poll_receive(&mut self, context: &mut Context<'_>, now: Duration) -> Poll<Result<ClientEvent, ClientError>> {
        Self::poll_receive(self, context, now)
    }

    /// QUIC opens its windows by itself.
    fn note_consumed(&mut self, _: StreamId, _: usize) {}

    fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        Self::poll_flush(self, context).map(Ok)
    }

    fn reset(&mut self, stream: StreamId, code: ErrorCode) {
        Self::reset(self, stream, code);
    }

    fn set_priority(&mut self, stream: StreamId, priority: Priority) {
        Self::set_priority(self, stream, priority);
    }

    /// QUIC has timers of its own.
    fn deadline(&self) -> Option<Duration> {
        None
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn begin_shutdown(&mut self) {
        Self::begin_shutdown(self);
    }

    fn is_finished(&self) -> bool {
        Self::is_finished(self)
    }

    fn close(&mut self, context: &mut Context<'_>, _: bool) {
        Self::close(self, context);
    }

    fn received(&self) -> u64 {
        Self::received(self)
    }

    fn wire_bytes(&mut self) -> WireBytes {
        let (sent, received) = self.datagram_bytes();
        WireBytes { sent, received }
    }

    /// `None`: HTTP/3 hands over each part of a frame in an event of its own.
    fn unfinished_data(&self) -> Option<(StreamId, usize)> {
        None
    }

    /// A server that speaks QUIC and agreed to HTTP/3 says nothing else.
    fn not_understood(&self) -> &[u8] {
        &[]
    }
}

/// As over HTTP/2: nothing of a response is kept.
pub(crate) const LIMITS: Limits = Limits {
    head: 1 << 20,
    fields: 1000,
    target: 8 * 1024,
    body: u64::MAX,
    streams: 0,
    sections: 16 << 20,
    qpack_table: 4096,
    qpack_blocked: 16,
    control: 64 * 1024,
    resets: u32::MAX,
    idle_frames: u32::MAX,
    extended_connect: false,
};
