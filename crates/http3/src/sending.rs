//! Turns: what is sent on streams, in the order of the scheduler, as far as QUIC's flow control allows.

use alloc::vec::Vec;

use serow_message::{
    BodyLength, Headers, KnownHeader, PartialPriority, ResponseHead, StatusCode, UsageError, content::NO_TRAILERS,
    refusal_text,
};
use serow_streams::{Follows, QueuedHead, Sending, has_trailers, show_headers};

use crate::{
    StreamId, Turn,
    connection::{Connection, Shutdown},
    frame::{FrameHeader, HEADERS_ROOM, Kind, finish_headers},
    qpack::{Encoder, FieldSection},
};

impl Connection {
    /// See [`Endpoint::next_turn`](crate::Endpoint::next_turn).
    #[inline]
    pub(crate) fn next_turn(&self, room: usize) -> Option<Turn> {
        if !self.writable || matches!(self.shutdown, Shutdown::Failed(_)) {
            return None;
        }
        let id = self.scheduler.next()?;
        let stream = self.streams.peek(id)?;
        let bytes = match stream.sending {
            _ if !stream.ready => 0,
            Sending::Length(left) => usize::try_from(left).unwrap_or(usize::MAX).min(room),
            Sending::UntilEnd => room,
            Sending::Head | Sending::Done => 0,
        };
        Some(Turn { stream: id, head: stream.has_head(), bytes })
    }

    /// Whether a stream has something to send.
    #[inline]
    pub(crate) fn set_ready(&mut self, id: StreamId, ready: bool) {
        if let Some(stream) = self.streams.find(id) {
            stream.ready = ready;
            stream.schedule(&mut self.scheduler);
        }
    }

    /// Whether QUIC's flow control has room for it.
    #[inline]
    pub(crate) fn set_writable(&mut self, id: StreamId, writable: bool) {
        if let Some(stream) = self.streams.find(id) {
            stream.writable = writable;
            stream.schedule(&mut self.scheduler);
        }
    }

    /// The head of a response is there. Says what is to be sent behind it.
    #[inline]
    pub(crate) fn queue_head(
        &mut self,
        id: StreamId,
        status: StatusCode,
        headers: Headers,
        length: BodyLength,
    ) -> Result<Sending, UsageError> {
        let stream = self.streams.find(id).ok_or(UsageError::OutOfTurn)?;
        if stream.sending != Sending::Head || status.is_informational() {
            return Err(UsageError::OutOfTurn);
        }
        let (sending, content_length) = stream.exchange.begin_response(status, &headers, length);
        let before = stream.scheduled.then(|| stream.claim());
        // RFC 9218 §8.
        if headers.contains(KnownHeader::Priority)
            && let Some(said) = PartialPriority::of_fields(&headers)
        {
            stream.priority = stream.priority.merge(said);
        }
        // An informational response may wait; and the stream may have become a tunnel.
        if let Some(before) = before {
            self.scheduler.reprioritise(id, before, stream.claim());
        }
        stream.sending = sending;
        stream.head = Some(QueuedHead { status, headers, content_length, is_refusal: false });
        stream.schedule(&mut self.scheduler);
        Ok(sending)
    }

    /// An informational response waits for its turn.
    pub(crate) fn queue_informational(&mut self, id: StreamId, head: ResponseHead) -> Result<(), UsageError> {
        let stream = self.streams.find(id).filter(|stream| stream.sending == Sending::Head);
        let stream = stream.ok_or(UsageError::OutOfTurn)?;
        stream.informational.push(head);
        stream.schedule(&mut self.scheduler);
        Ok(())
    }

    /// Writes the heads that wait.
    #[inline]
    pub(crate) fn write_head(
        &mut self,
        id: StreamId,
        date: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        let stream = self.streams.find(id).filter(|stream| stream.has_head()).ok_or(UsageError::OutOfTurn)?;
        for head in core::mem::take(&mut stream.informational) {
            write_section(&mut self.encoder, id, output, |section| {
                section.encode_status(head.status);
                show_headers(&head.headers, &[KnownHeader::ContentLength], |name, known, value| {
                    section.encode(name, known, value);
                });
            });
        }
        let Some(head) = stream.head.take() else {
            self.note_served(id, 0);
            return Ok(Follows::More);
        };
        if head.is_refusal {
            return Ok(self.write_refusal(id, head.status, date, output));
        }
        let follows = Follows::of(stream.sending);
        write_section(&mut self.encoder, id, output, |section| {
            section.encode_status(head.status);
            head.show_fields(date, |name, known, value| section.encode(name, known, value));
        });
        self.note_served(id, 0);
        Ok(follows)
    }

    /// Writes a whole response that no handler made: with the status in words, as over HTTP/1.
    #[cold]
    fn write_refusal(&mut self, id: StreamId, status: StatusCode, date: &[u8], output: &mut Vec<u8>) -> Follows {
        let head_only = self.streams.peek(id).is_some_and(|stream| stream.exchange.head_only);
        let text = refusal_text(status, self.limits.body);
        write_section(&mut self.encoder, id, output, |section| {
            section.encode_status(status);
            QueuedHead::show_refusal(date, text.len(), |name, known, value| section.encode(name, known, value));
        });
        let bytes = if head_only { 0 } else { text.len() };
        if !head_only {
            FrameHeader { kind: Kind::DATA, length: bytes as u64 }.write(output);
            output.extend_from_slice(&text);
        }
        self.note_served(id, bytes);
        Follows::Fin
    }

    /// Writes the header of a DATA frame; its `length` bytes are appended by the caller.
    #[inline]
    pub(crate) fn begin_data(
        &mut self,
        id: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        let stream = self.streams.find(id).filter(|stream| !stream.has_head()).ok_or(UsageError::OutOfTurn)?;
        let sending = stream.sending.after(length, end)?;
        stream.sending = sending;
        if length > 0 {
            FrameHeader { kind: Kind::DATA, length: length as u64 }.write(output);
        }
        if length > 0 || end {
            self.note_served(id, length);
        }
        Ok(Follows::of(sending))
    }

    /// Ends a message with trailers.
    pub(crate) fn write_trailers(
        &mut self,
        id: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<Follows, UsageError> {
        let stream = self.streams.find(id).filter(|stream| !stream.has_head()).ok_or(UsageError::OutOfTurn)?;
        stream.sending = stream.sending.after(0, true)?;
        if stream.exchange.takes_trailers && !stream.exchange.tunnel && has_trailers(trailers) {
            write_section(&mut self.encoder, id, output, |section| {
                show_headers(trailers, &NO_TRAILERS, |name, known, value| section.encode(name, known, value));
            });
        }
        self.note_served(id, 0);
        Ok(Follows::Fin)
    }

    /// The stream had its turn, and is done, or may want another.
    #[inline]
    fn note_served(&mut self, id: StreamId, bytes: usize) {
        let Some(stream) = self.streams.find(id) else { return };
        if stream.scheduled {
            self.scheduler.note_served(id, stream.claim(), bytes);
        }
        stream.schedule(&mut self.scheduler);
        if stream.has_sent_all() {
            self.conclude(id);
        }
    }
}

/// Writes HEADERS (RFC 9114 §7.2.2).
#[inline]
pub(crate) fn write_section(
    encoder: &mut Encoder,
    stream: StreamId,
    output: &mut Vec<u8>,
    encode: impl FnOnce(&mut FieldSection<'_>),
) {
    let start = output.len();
    output.extend_from_slice(&[0; HEADERS_ROOM]);
    let mut section = encoder.begin(stream, output);
    encode(&mut section);
    section.finish();
    finish_headers(start, output);
}
