//! Turns: what is sent on streams, in the order of the scheduler, as far as the windows allow.

use alloc::vec::Vec;

use serow_message::{Headers, KnownHeader, ResponseHead, StatusCode, UsageError, content::NO_TRAILERS, refusal_text};
use serow_streams::{QueuedHead, Sending, Turn, has_trailers, show_headers};

use crate::{
    Sender, StreamId,
    connection::{Connection, Shutdown, schedule},
    frame,
};

impl Connection {
    /// See [`Server::next_turn`](crate::Server::next_turn).
    #[inline]
    pub(crate) fn next_turn(&mut self, room: usize) -> Option<Turn> {
        if matches!(self.shutdown, Shutdown::Failed(_)) {
            return None;
        }
        let window = self.send_window.available();
        let id = match self.scheduler.next() {
            Some(_) if window == 0 => self.streams.iter().find(|stream| stream.needs_no_window())?.id,
            next => next?,
        };
        let stream = self.streams.peek(id)?;
        let most = stream.send_window.available().min(window).min(room).min(self.allowed.max_frame_size as usize);
        let bytes = match stream.sending {
            Sending::Length(left) => usize::try_from(left).unwrap_or(usize::MAX).min(most),
            Sending::UntilEnd => most,
            Sending::Head | Sending::Done => 0,
        };
        let bytes = if stream.ready { bytes } else { 0 };
        Some(Turn { stream: id, head: stream.head.is_some(), bytes })
    }

    /// Whether a stream has something to send.
    #[inline]
    pub(crate) fn set_ready(&mut self, id: StreamId, ready: bool) {
        if let Some(stream) = self.streams.find(id) {
            stream.ready = ready;
            schedule(&mut self.scheduler, stream);
        }
    }

    /// Writes a queued head.
    #[inline]
    pub(crate) fn write_head(
        &mut self,
        id: StreamId,
        date: &[u8],
        alternative_service: Option<&[u8]>,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        // Field blocks that were encoded before must be sent before: the peer decodes them as they arrive.
        self.write_control(output);
        let place = self.streams.place(id).ok_or(UsageError::OutOfTurn)?;
        let stream = self.streams.at(place).ok_or(UsageError::OutOfTurn)?;
        let head = stream.head.take().ok_or(UsageError::OutOfTurn)?;
        if head.is_refusal {
            return self.write_refusal(place, id, head.status, date, output);
        }
        let end = stream.sending == Sending::Done;
        let start = frame::begin_headers(output);
        self.encoder.encode_status(head.status, output);
        head.show_fields(date, |name, known, value| self.encoder.encode(name, known, value, output));
        if let Some(value) = alternative_service.filter(|_| !head.headers.contains(KnownHeader::AltSvc)) {
            self.encoder.encode(b"alt-svc", Some(KnownHeader::AltSvc), value, output);
        }
        frame::finish_headers(start, id, end, self.allowed.max_frame_size as usize, output);
        self.note_served(place, 0, end);
        Ok(())
    }

    /// Writes a whole response that no handler made: with the status in words, as over HTTP/1, where the windows allow.
    #[cold]
    fn write_refusal(
        &mut self,
        place: usize,
        id: StreamId,
        status: StatusCode,
        date: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        let stream = self.streams.at(place).ok_or(UsageError::OutOfTurn)?;
        let head_only = stream.exchange.head_only;
        let text = refusal_text(status, self.limits.body);
        let fits = text.len() <= stream.send_window.available().min(self.send_window.available());
        let has_body = fits && !head_only;
        let start = frame::begin_headers(output);
        self.encoder.encode_status(status, output);
        let length = if has_body || head_only { text.len() } else { 0 };
        QueuedHead::show_refusal(date, length, |name, known, value| self.encoder.encode(name, known, value, output));
        frame::finish_headers(start, id, !has_body, self.allowed.max_frame_size as usize, output);
        let bytes = if has_body { text.len() } else { 0 };
        if has_body {
            if let Some(stream) = self.streams.at(place) {
                stream.send_window.take(bytes);
            }
            self.send_window.take(bytes);
            frame::write_data_header(id, bytes, true, output);
            output.extend_from_slice(&text);
        }
        self.note_served(place, bytes, true);
        Ok(())
    }

    /// Writes the header of a DATA frame; its `length` bytes are appended by the caller.
    #[inline]
    pub(crate) fn begin_data(
        &mut self,
        id: StreamId,
        length: usize,
        end: bool,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        let place = self.streams.place(id).ok_or(UsageError::OutOfTurn)?;
        let stream = self.streams.at(place).ok_or(UsageError::OutOfTurn)?;
        if stream.head.is_some() {
            return Err(UsageError::OutOfTurn);
        }
        let sending = stream.sending.after(length, end)?;
        let most = stream.send_window.available().min(self.send_window.available());
        // RFC 9113 §6.9: an empty frame needs no window.
        if length > most.min(self.allowed.max_frame_size as usize) {
            return Err(UsageError::TooManyBytes);
        }
        if length == 0 && !end {
            return Ok(());
        }
        stream.sending = sending;
        stream.send_window.take(length);
        self.send_window.take(length);
        self.write_control(output);
        frame::write_data_header(id, length, end, output);
        // A peer that reads a page of data answers with two WINDOW_UPDATE at most. Servers measure the link by a PING
        // for each piece of a body, however small; they cannot answer more than we send.
        let least = usize::from(self.peer == Sender::Server);
        self.idle_frames.earn((length / EARNS).clamp(least, 4) as u32);
        self.note_served(place, length, end);
        Ok(())
    }

    /// Ends a message with trailers.
    pub(crate) fn write_trailers(
        &mut self,
        id: StreamId,
        trailers: &Headers,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        let place = self.streams.place(id).ok_or(UsageError::OutOfTurn)?;
        let stream = self.streams.at(place).ok_or(UsageError::OutOfTurn)?;
        if stream.head.is_some() {
            return Err(UsageError::OutOfTurn);
        }
        if !has_trailers(trailers) || !stream.exchange.takes_trailers {
            return self.begin_data(id, 0, true, output);
        }
        stream.sending = stream.sending.after(0, true)?;
        self.write_control(output);
        let start = frame::begin_headers(output);
        self.encode_headers(trailers, &NO_TRAILERS, output);
        frame::finish_headers(start, id, true, self.allowed.max_frame_size as usize, output);
        self.note_served(place, 0, true);
        Ok(())
    }

    /// Writes an informational response, ahead of everything else.
    pub(crate) fn write_informational(&mut self, id: StreamId, head: &ResponseHead) {
        let start = frame::begin_headers(&mut self.control);
        self.encoder.encode_status(head.status, &mut self.control);
        let mut control = core::mem::take(&mut self.control);
        self.encode_headers(&head.headers, &[KnownHeader::ContentLength], &mut control);
        self.control = control;
        frame::finish_headers(start, id, false, self.allowed.max_frame_size as usize, &mut self.control);
    }

    /// Encodes fields, without those named in `except` and those of a connection (RFC 9113 §8.2.2).
    #[inline]
    pub(crate) fn encode_headers(&mut self, headers: &Headers, except: &[KnownHeader], output: &mut Vec<u8>) {
        show_headers(headers, except, |name, known, value| self.encoder.encode(name, known, value, output));
    }

    /// The stream of this place had its turn, and is done, or may want another.
    #[inline]
    fn note_served(&mut self, place: usize, bytes: usize, done: bool) {
        let Some(stream) = self.streams.at(place) else { return };
        if stream.scheduled {
            self.scheduler.note_served(stream.id, stream.claim(), bytes);
        }
        schedule(&mut self.scheduler, stream);
        if done {
            self.conclude(place);
        }
    }
}

/// Bytes of data for which the peer may well send a WINDOW_UPDATE.
const EARNS: usize = 4 * 1024;
