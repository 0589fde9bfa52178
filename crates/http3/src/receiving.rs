//! Request streams, received: frames in any pieces, data and ends.

use bytes::{Buf, Bytes};
use serow_message::Priority;
use serow_streams::WrongLength;

use crate::{
    ErrorCode, ProtocolError, StreamId,
    connection::{Connection, Peer, Shutdown, too_much, unexpected},
    frame::{FrameHeader, Kind},
    received_event::ReceivedEvent,
    stream::{Reading, Receiving, Stream},
};

impl Connection {
    /// Takes in what was received on a request stream.
    pub(crate) fn receive_message(&mut self, id: StreamId, data: Bytes, fin: bool) -> Result<(), ProtocolError> {
        if self.streams.peek(id).is_none() && !self.opens(id)? {
            return Ok(());
        }
        let Some(stream) = self.streams.find(id) else { return Ok(()) };
        stream.fin |= fin;
        if stream.input.is_empty() {
            stream.input = data;
        } else if !data.is_empty() {
            // The driver does not wait for `wants_data`.
            stream.input = [&stream.input[..], &data].concat().into();
        }
        self.advance(id)
    }

    /// A stream that is not alive: whether it is opened now.
    fn opens(&mut self, id: StreamId) -> Result<bool, ProtocolError> {
        // Frames of a stream that is over mean nothing, and a server opens no streams.
        if self.peer == Peer::Server || !self.streams.is_idle(id) {
            return Ok(false);
        }
        let priority = self.note_opened(id)?;
        let is_late = matches!(self.shutdown, Shutdown::From(first) if id >= first);
        if is_late {
            // RFC 9114 §5.2.
            self.calm()?;
        } else if self.streams.len() < self.limits.streams as usize {
            let mut stream = Stream::new(id);
            stream.said_priority = priority.is_some();
            stream.priority = priority.unwrap_or_default();
            self.add(stream);
            return Ok(true);
        } else {
            self.counters.refused += 1;
            self.note_reset()?;
        }
        self.counters.opened += 1;
        self.counters.reset_by_us += 1;
        self.order_both(id, ErrorCode::REQUEST_REJECTED);
        Ok(false)
    }

    /// Notes that this stream is opened; gives the priority that came ahead of it (RFC 9218 §7).
    pub(crate) fn note_opened(&mut self, id: StreamId) -> Result<Option<Priority>, ProtocolError> {
        self.streams.note_opened(id).map_err(|_| too_much("too many streams were passed over"))?;
        Ok(self.early.take_only(id))
    }

    /// Looks at what was received on a stream until something has happened; no further while that was not taken.
    pub(crate) fn advance(&mut self, id: StreamId) -> Result<(), ProtocolError> {
        if self.streams.peek(id).is_none_or(|stream| stream.has_event) {
            return Ok(());
        }
        match self.read(id) {
            Ok(None) => {}
            Ok(Some(event)) => self.push(event),
            Err(ProtocolError::Stream { stream, code, .. }) => self.handle_stream_error(stream, code)?,
            Err(error) => return Err(error),
        }
        // Many streams, each of which begins with a large head and does not end it.
        if self.held > self.limits.sections { Err(too_much("too many heads have begun")) } else { Ok(()) }
    }

    /// The same, where the peer is not waited for.
    pub(crate) fn advance_or_fail(&mut self, id: StreamId) {
        if matches!(self.shutdown, Shutdown::Failed(_)) {
            return;
        }
        if let Err(ProtocolError::Connection { code, reason }) = self.advance(id) {
            self.fail(code, reason);
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, event: ReceivedEvent) {
        if let Some(stream) = event.stream().and_then(|id| self.streams.find(id)) {
            stream.has_event = true;
        }
        self.received_events.push(event);
    }

    /// Takes frames, or pieces of them, from what was received on a stream.
    fn read(&mut self, id: StreamId) -> Result<Option<ReceivedEvent>, ProtocolError> {
        loop {
            let Some(stream) = self.streams.find(id) else { return Ok(None) };
            if stream.receiving == Receiving::Done {
                stream.input = Bytes::new();
                return Ok(None);
            }
            match &mut stream.reading {
                Reading::Header(reader) => match reader.take(&mut stream.input) {
                    Some(header) => {
                        if let Some(event) = self.begin_frame(id, header)? {
                            return Ok(Some(event));
                        }
                    }
                    None => return self.handle_end(id),
                },
                Reading::Data(left) | Reading::Skipped(left) if *left == 0 => stream.reading = Reading::between(),
                Reading::Section(section, 0) => {
                    let section = Bytes::from(core::mem::take(section));
                    self.held -= section.len();
                    stream.reading = Reading::between();
                    if let Some(event) = self.handle_section(id, section)? {
                        return Ok(Some(event));
                    }
                }
                Reading::Blocked(_) => return Ok(None),
                _ if stream.input.is_empty() => return self.handle_end(id),
                Reading::Data(left) => {
                    let data = take(&mut stream.input, left);
                    if let Some(event) = self.handle_data(id, data)? {
                        return Ok(Some(event));
                    }
                }
                Reading::Skipped(left) => drop(take(&mut stream.input, left)),
                Reading::Section(section, left) => {
                    let more = take(&mut stream.input, left);
                    self.held += more.len();
                    section.extend_from_slice(&more);
                }
            }
        }
    }

    /// RFC 9114 §7: whether the frame may stand there, and what is done with its payload.
    #[inline]
    fn begin_frame(&mut self, id: StreamId, header: FrameHeader) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let FrameHeader { kind, length } = header;
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        match kind {
            Kind::DATA => self.begin_data_frame(id, length),
            Kind::HEADERS => self.begin_section(id, length),
            // RFC 9114 §7.2.5: nobody allowed a push.
            Kind::PUSH_PROMISE if self.peer == Peer::Server => {
                Err(ProtocolError::new(ErrorCode::ID_ERROR, "a push that was not allowed"))
            }
            Kind::PUSH_PROMISE => Err(unexpected("PUSH_PROMISE of a client")),
            // RFC 9114 §7.2.3, §7.2.4, §7.2.6, §7.2.7, RFC 9218 §7.2.
            Kind::CANCEL_PUSH
            | Kind::SETTINGS
            | Kind::GOAWAY
            | Kind::MAX_PUSH_ID
            | Kind::PRIORITY_UPDATE
            | Kind::PRIORITY_UPDATE_OF_PUSH => Err(unexpected("a frame of the control stream on another")),
            _ if kind.is_of_http2_only() => Err(unexpected("a frame of HTTP/2")),
            // RFC 9114 §9.
            _ => {
                stream.reading = Reading::Skipped(length);
                self.calm().map(|()| None)
            }
        }
    }

    /// DATA begin (RFC 9114 §7.2.1). A frame that is too long is refused before any of its payload has come.
    #[inline]
    fn begin_data_frame(&mut self, id: StreamId, length: u64) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        // RFC 9114 §4.1.
        let discarded = match stream.receiving {
            Receiving::Head => return Err(unexpected("DATA before HEADERS")),
            Receiving::Trailers => return Err(unexpected("DATA behind the trailers")),
            Receiving::Body => false,
            Receiving::Discarded(_) | Receiving::Done => true,
        };
        stream.reading = Reading::Data(length);
        // A sender that has begun the body does not wait for 100 Continue.
        stream.exchange.awaits_continue = false;
        match stream.content.may_receive(length) {
            Ok(()) => {}
            Err(WrongLength::Announced) => {
                let (code, reason) = (ErrorCode::MESSAGE_ERROR, "the body is longer than content-length says");
                return Err(ProtocolError::Stream { stream: id, code, reason });
            }
            Err(WrongLength::Limit) if discarded => {}
            Err(WrongLength::Limit) => return self.refuse_body(id).map(Some),
        }
        if length == 0 {
            // As CVE-2019-9518.
            self.calm()?;
        }
        Ok(None)
    }

    /// RFC 9114 §7.2.1.
    #[inline]
    fn handle_data(&mut self, id: StreamId, data: Bytes) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let Some(stream) = self.streams.find(id) else { return Ok(None) };
        // There is room for all of the frame, or nobody counts.
        let _ = stream.content.received(data.len());
        if let Receiving::Discarded(left) = &mut stream.receiving {
            *left = left.saturating_sub(u32::try_from(data.len()).unwrap_or(u32::MAX));
            if *left == 0 {
                self.stop(id, ErrorCode::NO_ERROR);
            }
            return Ok(None);
        }
        self.idle_frames.earn(1);
        Ok(Some(ReceivedEvent::Data { stream: id, data }))
    }

    /// Nothing is left of what was received: whether the message has ended.
    #[inline]
    fn handle_end(&mut self, id: StreamId) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let Some(stream) = self.streams.find(id).filter(|stream| stream.fin) else { return Ok(None) };
        // RFC 9114 §7.1.
        if !stream.reading.may_end() {
            return Err(ProtocolError::new(ErrorCode::FRAME_ERROR, "a stream ends within a frame"));
        }
        let error = |code, reason| Err(ProtocolError::Stream { stream: id, code, reason });
        match stream.receiving {
            // RFC 9114 §4.1.
            Receiving::Head if self.peer == Peer::Client => {
                return error(ErrorCode::REQUEST_INCOMPLETE, "a stream without a request");
            }
            Receiving::Head => return error(ErrorCode::MESSAGE_ERROR, "a stream without a response"),
            // RFC 9114 §4.1.2.
            Receiving::Body | Receiving::Trailers | Receiving::Discarded(_) if !stream.content.may_end() => {
                return error(ErrorCode::MESSAGE_ERROR, "the body is shorter than content-length says");
            }
            Receiving::Body | Receiving::Trailers => {}
            Receiving::Discarded(_) | Receiving::Done => {
                stream.receiving = Receiving::Done;
                self.conclude(id);
                return Ok(None);
            }
        }
        stream.receiving = Receiving::Done;
        stream.exchange.awaits_continue = false;
        let trailers = stream.trailers.take().map(|trailers| *trailers);
        self.conclude(id);
        Ok(Some(ReceivedEvent::End { stream: id, trailers }))
    }

    /// Discards the rest of a body, which the driver will not read.
    pub(crate) fn abandon_body(&mut self, id: StreamId) {
        let Some(stream) = self.streams.find(id) else { return };
        if self.received_events.drop_body(id) {
            stream.has_event = false;
        }
        match stream.receiving {
            Receiving::Body => stream.receiving = Receiving::Discarded(MAX_DISCARDED),
            Receiving::Trailers => stream.receiving = Receiving::Discarded(0),
            Receiving::Head | Receiving::Discarded(_) | Receiving::Done => {}
        }
        // The end may be here already.
        self.advance_or_fail(id);
        self.conclude(id);
    }
}

/// Takes as much as there is of what is left.
#[inline]
fn take(input: &mut Bytes, left: &mut u64) -> Bytes {
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    *left -= length as u64;
    if length == input.len() {
        return core::mem::take(input);
    }
    let taken = input.slice(..length);
    input.advance(length);
    taken
}

/// Bytes of an unread body that are passed over before the client receives STOP_SENDING: as over HTTP/1 and HTTP/2.
pub(crate) const MAX_DISCARDED: u32 = 64 * 1024;
