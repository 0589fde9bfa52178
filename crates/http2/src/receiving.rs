//! The frames of streams, received: header blocks, data, resets.

use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

use bytes::Bytes;
use serow_streams::{WrongLength, fields::Problem};

use crate::{
    ErrorCode, ProtocolError, Sender, StreamId,
    connection::{Connection, MEASURING, ReceivedEvent, Shutdown, too_much, wrong},
    frame::{self, HeadersStart},
    hpack::DecodeError,
    stream::{Receiving, Stream},
    streams::Gone,
};

/// A header block of more than one frame (RFC 9113 §4.3).
#[derive(Debug)]
pub(crate) struct OpenBlock {
    begun: HeadersStart,
    bytes: Vec<u8>,
    frames: u32,
}

impl Connection {
    /// RFC 9113 §6.2.
    #[inline]
    pub(crate) fn handle_headers(
        &mut self,
        headers: HeadersStart,
        block: &[u8],
        end_headers: bool,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        if end_headers {
            return self.handle_block(headers, block, now);
        }
        self.block = Some(Box::new(OpenBlock { begun: headers, bytes: block.to_vec(), frames: 1 }));
        Ok(None)
    }

    /// RFC 9113 §6.10.
    pub(crate) fn handle_continuation(
        &mut self,
        stream: StreamId,
        more: &[u8],
        end_headers: bool,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let Some(block) = self.block.as_mut().filter(|block| block.begun.stream == stream) else {
            return Err(wrong("CONTINUATION of nothing"));
        };
        // CVE-2024-27316: a block without an end. Empty frames are counted, too (CVE-2019-9518).
        block.frames += 1;
        if block.bytes.len() + more.len() > self.limits.block() || block.frames > self.limits.continuations() {
            return Err(too_much("a header block is too long"));
        }
        block.bytes.extend_from_slice(more);
        if !end_headers {
            return Ok(None);
        }
        let Some(block) = self.block.take() else { return Ok(None) };
        self.handle_block(block.begun, &block.bytes, now)
    }

    #[inline]
    fn decode_fields(&mut self, block: &[u8]) -> Result<(), DecodeError> {
        let limits = self.limits.of_messages();
        let mut collector = self.fields.collect(&limits);
        self.decoder.decode(block, |field| collector.take(&field))?;
        collector.finish();
        Ok(())
    }

    /// A whole header block. It is decoded in any case: the next one may refer to it (RFC 9113 §4.3).
    #[inline]
    fn handle_block(
        &mut self,
        headers: HeadersStart,
        block: &[u8],
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        if let Err(error) = self.decode_fields(block) {
            return Err(ProtocolError::Connection { code: ErrorCode::COMPRESSION_ERROR, reason: error.reason() });
        }
        let HeadersStart { stream: id, end_stream, dependency } = headers;
        if let Some(dependency) = dependency {
            Self::check_dependency(id, dependency)?;
        }
        match self.streams.peek(id).map(|stream| stream.receiving) {
            Some(Receiving::Head) => {}
            Some(Receiving::Body | Receiving::Discarded(_)) => return self.handle_trailers(id, end_stream),
            // RFC 9113 §5.1: half-closed (remote).
            Some(Receiving::Done) => return Err(closed(id)),
            None if self.opens(id, now)? => {}
            None => return Ok(None),
        }
        Ok(Some(ReceivedEvent::Fields { headers }))
    }

    /// HEADERS on a stream that is not alive: whether they open it.
    #[inline]
    fn opens(&mut self, id: StreamId, now: Duration) -> Result<bool, ProtocolError> {
        // RFC 9113 §5.1.1: clients open odd ones; servers none, since nobody takes pushes.
        match self.gone(id) {
            Gone::Idle if self.peer == Sender::Client && id.is_of_client() => {}
            Gone::CutOff => return self.calm(now).map(|()| false),
            Gone::Closed => return Err(CLOSED),
            Gone::Idle | Gone::PassedOver => return Err(wrong("HEADERS on a stream that cannot be opened")),
        }
        // RFC 9113 §6.8: such streams are as if they had never been.
        if matches!(self.shutdown, Shutdown::Last(_)) {
            self.calm(now)?;
            return Ok(false);
        }
        self.streams.note_opened(id);
        self.counters.opened += 1;
        // RFC 9113 §5.1.2.
        if self.streams.len() >= self.limits.streams as usize && !self.reset_unfinished() {
            self.counters.refused += 1;
            self.cut_off(id, ErrorCode::REFUSED_STREAM);
            self.note_reset(now)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// A second header block ends the message (RFC 9113 §8.1).
    fn handle_trailers(&mut self, id: StreamId, end_stream: bool) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let malformed = |reason| ProtocolError::Stream { stream: id, code: ErrorCode::PROTOCOL_ERROR, reason };
        if !end_stream {
            return Err(malformed("a second head within a message"));
        }
        let trailers = self.fields.take_trailers().map_err(|problem| match problem {
            Problem::Malformed(reason) => malformed(reason),
            Problem::TooLarge | Problem::TargetTooLong => {
                let code = ErrorCode::ENHANCE_YOUR_CALM;
                ProtocolError::Stream { stream: id, code, reason: "the trailers are too large" }
            }
        })?;
        let Some(ended) = self.end_receiving(id)? else { return Ok(None) };
        Ok(Some(match ended {
            _ if trailers.is_empty() => ReceivedEvent::End { stream: id },
            Ended => ReceivedEvent::Trailers { stream: id, trailers },
        }))
    }

    /// RFC 9113 §6.1.
    #[inline]
    pub(crate) fn handle_data(
        &mut self,
        id: StreamId,
        data: Bytes,
        padding: usize,
        end_stream: bool,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        // Padding counts (§6.9.1). A frame has less than 2^24 bytes.
        let counted = (data.len() + padding) as u32;
        let code = ErrorCode::FLOW_CONTROL_ERROR;
        self.receive_window = self
            .receive_window
            .received(counted)
            .ok_or(ProtocolError::Connection { code, reason: "more data than the connection's window" })?;
        if self.growth.note_received(counted) {
            frame::write_ping(*MEASURING, false, &mut self.control);
        }
        if data.is_empty() && !end_stream {
            // CVE-2019-9518.
            self.calm(now)?;
        }
        let Some(stream) = self.streams.find(id) else {
            self.release_connection(counted);
            return self.handle_late_data(id, now).map(|()| None);
        };
        match receive_data(stream, data.len(), counted) {
            Ok(Kept::All) if padding > 0 => self.note_consumed(id, padding),
            Ok(Kept::All) => {}
            Ok(Kept::Nothing) => {
                self.release_connection(counted);
                if !end_stream && let Some(place) = self.streams.place(id) {
                    self.conclude(place);
                }
            }
            Ok(Kept::TooLarge) => {
                self.release_connection(counted);
                if end_stream {
                    self.end_receiving(id)?;
                }
                return Ok(Some(ReceivedEvent::TooLarge { stream: id }));
            }
            Err(error) => {
                self.release_connection(counted);
                return Err(error);
            }
        }
        let wanted = self.streams.peek(id).is_some_and(|stream| stream.receiving == Receiving::Body);
        let ended = if end_stream { self.end_receiving(id)?.map(|Ended| id) } else { None };
        if data.is_empty() || !wanted {
            return Ok(ended.map(|stream| ReceivedEvent::End { stream }));
        }
        self.idle_frames.earn(1);
        self.ended = ended;
        Ok(Some(ReceivedEvent::Data { stream: id, data }))
    }

    /// Data on a stream that is not alive.
    fn handle_late_data(&mut self, id: StreamId, now: Duration) -> Result<(), ProtocolError> {
        match self.gone(id) {
            // RFC 9113 §6.8: streams that we said we would not look at.
            Gone::Idle if matches!(self.shutdown, Shutdown::Last(_)) && id.is_of_client() => self.calm(now),
            Gone::Idle | Gone::PassedOver => Err(wrong("DATA on an idle stream")),
            Gone::CutOff => self.calm(now),
            Gone::Closed => Err(CLOSED),
        }
    }

    /// RFC 9113 §6.4.
    pub(crate) fn handle_reset(
        &mut self,
        id: StreamId,
        code: ErrorCode,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        if self.streams.peek(id).is_none() {
            self.check_not_idle(id)?;
            return self.calm(now).map(|()| None);
        }
        self.forget(id);
        self.counters.reset_by_peer += 1;
        // CVE-2023-44487: each may have started work that is now for nothing.
        self.note_reset(now)?;
        Ok(Some(ReceivedEvent::Reset { stream: id, code }))
    }

    /// The peer made a mistake within a stream (RFC 9113 §5.4.2).
    #[cold]
    pub(crate) fn handle_stream_error(
        &mut self,
        id: StreamId,
        code: ErrorCode,
        reason: &'static str,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let alive = self.streams.peek(id).is_some();
        // RFC 9113 §5.1, §5.4.2: an idle stream is not reset; and nothing is looked at within a header block.
        if self.block.is_some() || !alive && matches!(self.gone(id), Gone::Idle | Gone::PassedOver) {
            return Err(ProtocolError::Connection { code, reason });
        }
        self.cut_off(id, code);
        self.note_reset(now)?;
        Ok(alive.then_some(ReceivedEvent::Reset { stream: id, code }))
    }

    /// A stream was cut off by the peer, or over its mistake: "rapid reset" (CVE-2023-44487), "MadeYouReset"
    /// (CVE-2025-8671).
    pub(crate) fn note_reset(&mut self, now: Duration) -> Result<(), ProtocolError> {
        if self.resets.spend(now) { self.check_control() } else { Err(too_much("too many streams were cut off")) }
    }

    /// The peer's message is whole. `None` where nobody wants to know.
    #[inline]
    fn end_receiving(&mut self, id: StreamId) -> Result<Option<Ended>, ProtocolError> {
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        if !stream.content.may_end() {
            let (code, reason) = (ErrorCode::PROTOCOL_ERROR, "the body is shorter than content-length says");
            return Err(ProtocolError::Stream { stream: id, code, reason });
        }
        let wanted = stream.receiving == Receiving::Body;
        stream.receiving = Receiving::Done;
        stream.exchange.awaits_continue = false;
        if stream.is_over() {
            self.forget(id);
        }
        Ok(wanted.then_some(Ended))
    }

    /// So many bytes of a stream were used.
    #[inline]
    pub(crate) fn note_consumed(&mut self, id: StreamId, bytes: usize) {
        let Some(stream) = self.streams.find(id) else { return };
        let released = stream.receive_window.release(u32::try_from(bytes).unwrap_or(u32::MAX));
        if stream.receiving == Receiving::Body
            && let Some(increment) = stream.receive_window.give_back(self.growth.stream())
        {
            frame::write_window_update(id, increment, &mut self.control);
            self.growth.note_used();
        }
        self.release_connection(released);
    }

    /// So many bytes are of no more interest.
    #[inline]
    pub(crate) fn release_connection(&mut self, bytes: u32) {
        self.receive_window.release(bytes);
        self.give_back();
    }

    /// Discards the rest of a body, which the driver will not read.
    pub(crate) fn abandon_body(&mut self, id: StreamId) {
        let Some(place) = self.streams.place(id) else { return };
        let Some(stream) = self.streams.at(place) else { return };
        let held = stream.receive_window.held();
        stream.receive_window.release(held);
        if stream.receiving == Receiving::Body {
            stream.receiving = Receiving::Discarded(MAX_DISCARDED);
        }
        self.release_connection(held);
        self.conclude(place);
    }
}

/// The end of a message was reached.
struct Ended;

/// The outcome of received data.
enum Kept {
    All,
    Nothing,
    TooLarge,
}

/// Takes data in on their stream.
#[inline]
fn receive_data(stream: &mut Stream, length: usize, counted: u32) -> Result<Kept, ProtocolError> {
    let id = stream.id;
    let error = |code, reason| Err(ProtocolError::Stream { stream: id, code, reason });
    match stream.receiving {
        Receiving::Body | Receiving::Discarded(_) => {}
        Receiving::Head => return error(ErrorCode::PROTOCOL_ERROR, "DATA before HEADERS"),
        Receiving::Done => return Err(closed(id)),
    }
    let Some(window) = stream.receive_window.received(counted) else {
        return error(ErrorCode::FLOW_CONTROL_ERROR, "more data than the stream's window");
    };
    // A sender that has begun the body does not wait for 100 Continue.
    stream.exchange.awaits_continue = false;
    let discarded = matches!(stream.receiving, Receiving::Discarded(_));
    match stream.content.received(length) {
        Ok(()) => {}
        Err(WrongLength::Announced) => {
            return error(ErrorCode::PROTOCOL_ERROR, "the body is longer than content-length says");
        }
        Err(WrongLength::Limit) if discarded => {}
        Err(WrongLength::Limit) => return Ok(Kept::TooLarge),
    }
    stream.receive_window = window;
    if let Receiving::Discarded(left) = &mut stream.receiving {
        *left = left.saturating_sub(counted);
        // The stream's own window stays shut: what comes is of no use.
        stream.receive_window.release(counted);
        return Ok(Kept::Nothing);
    }
    Ok(Kept::All)
}

/// Bytes of an unread body that are passed over before the stream is cut off: as over HTTP/1, where that saves the
/// connection.
const MAX_DISCARDED: u32 = 64 * 1024;

/// RFC 9113 §5.1: half-closed (remote).
fn closed(stream: StreamId) -> ProtocolError {
    ProtocolError::Stream { stream, code: ErrorCode::STREAM_CLOSED, reason: "a frame behind the end of its stream" }
}

/// RFC 9113 §5.1: closed.
const CLOSED: ProtocolError =
    ProtocolError::Connection { code: ErrorCode::STREAM_CLOSED, reason: "a frame on a closed stream" };
