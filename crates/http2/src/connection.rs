//! The part of a connection that both roles share: its state, and the frames that concern all of it.

use alloc::{boxed::Box, vec::Vec};
use core::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use serow_streams::{Budget, fields::Fields};

use crate::{
    Counters, ErrorCode, Limits, PREFACE, ProtocolError, Sender, Settings, SettingsUpdate, StreamId,
    dependency::Dependencies,
    frame::{self, Frame, FrameHeader, HeadersStart, Kind, flags},
    growth::Growth,
    hpack::{DEFAULT_CAPACITY, Decoder, Encoder},
    receiving::OpenBlock,
    scheduler::{EarlyPriorities, Scheduler},
    stream::{Receiving, Stream},
    streams::{Gone, Streams},
    window::{INITIAL, ReceiveWindow, SendWindow},
};

/// A connection of either role.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) limits: Limits,
    /// The role of the peer.
    pub(crate) peer: Sender,
    /// The settings of the peer, which limit us.
    pub(crate) allowed: Settings,
    pub(crate) opening: Opening,
    pub(crate) shutdown: Shutdown,
    /// Whether the peer opens no more streams, or takes none.
    pub(crate) peer_sent_goaway: bool,
    /// Until when our settings must be acknowledged.
    pub(crate) settings_due: Option<Duration>,
    /// Frames that go out before everything else.
    pub(crate) control: Vec<u8>,
    pub(crate) decoder: Decoder,
    pub(crate) encoder: Encoder,
    /// A header block whose end has not come.
    pub(crate) block: Option<Box<OpenBlock>>,
    /// The head that was decoded last.
    pub(crate) fields: Fields,
    pub(crate) streams: Streams,
    /// How many of them only the end of the request is missing of.
    pub(crate) unfinished: u32,
    pub(crate) scheduler: Scheduler,
    pub(crate) dependencies: Dependencies,
    pub(crate) early: EarlyPriorities,
    pub(crate) send_window: SendWindow,
    pub(crate) receive_window: ReceiveWindow,
    pub(crate) growth: Growth,
    pub(crate) resets: Budget,
    pub(crate) idle_frames: Budget,
    /// The stream whose body ended with the last data event.
    pub(crate) ended: Option<StreamId>,
    pub(crate) counters: Counters,
}

/// The part of the connection preface that must come next, before anything else (RFC 9113 §3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The client's 24 bytes; so many have come.
    Preface(u8),
    /// The first SETTINGS.
    Settings,
    /// Nothing any more.
    Done,
}

/// The state of a graceful shutdown (RFC 9113 §6.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shutdown {
    /// Not shutting down.
    Open,
    /// A GOAWAY announced the shutdown; new streams may be on their way until the peer has answered a PING.
    Announced,
    /// Streams above this one are ignored.
    Last(StreamId),
    /// The connection has failed.
    Failed(ProtocolError),
}

/// The result of received frames, where the roles handle it differently.
#[derive(Debug)]
pub(crate) enum ReceivedEvent {
    /// A request's or response's head, or an informational one: [`Connection::fields`].
    Fields { headers: HeadersStart },
    /// A piece of a body.
    Data { stream: StreamId, data: Bytes },
    /// A body has ended, without trailers.
    End { stream: StreamId },
    /// It has ended with some.
    Trailers { stream: StreamId, trailers: serow_message::Headers },
    /// A body has grown beyond [`Limits::body`].
    TooLarge { stream: StreamId },
    /// A stream is over before its end.
    Reset { stream: StreamId, code: ErrorCode },
    /// The peer sent GOAWAY.
    GoAway { last_stream: StreamId, code: ErrorCode },
}

impl Connection {
    pub(crate) fn new(peer: Sender, limits: Limits, now: Duration) -> Self {
        let growth = Growth::new(limits.stream_window, limits.largest_stream_window, limits.window);
        let opening = match peer {
            Sender::Client => Opening::Preface(0),
            Sender::Server => Opening::Settings,
        };
        let mut connection = Self {
            limits,
            peer,
            allowed: Settings::default(),
            opening,
            shutdown: Shutdown::Open,
            peer_sent_goaway: false,
            settings_due: Some(now + limits.settings_time),
            control: Vec::new(),
            decoder: Decoder::new(DEFAULT_CAPACITY),
            encoder: Encoder::new(),
            block: None,
            fields: Fields::default(),
            streams: Streams::default(),
            unfinished: 0,
            scheduler: Scheduler::new(),
            dependencies: Dependencies::new(),
            early: EarlyPriorities::new(),
            send_window: SendWindow::new(INITIAL),
            receive_window: ReceiveWindow::new(INITIAL),
            growth,
            resets: Budget::new(limits.resets, RESETS_EACH_SECOND, now),
            idle_frames: Budget::new(limits.idle_frames, IDLE_FRAMES_EACH_SECOND, now),
            ended: None,
            counters: Counters::default(),
        };
        connection.introduce();
        connection
    }

    /// Queues what we begin with: the preface, our settings, and a larger window for the connection.
    fn introduce(&mut self) {
        let limits = &self.limits;
        if self.peer == Sender::Server {
            self.control.extend_from_slice(PREFACE);
        }
        let ours = Settings {
            // RFC 9113 §8.4: nobody pushes to us; a server does not say it.
            enable_push: self.peer == Sender::Client,
            max_concurrent_streams: (self.peer == Sender::Client).then_some(limits.streams),
            initial_window_size: limits.stream_window,
            max_header_list_size: u32::try_from(limits.head).ok(),
            enable_connect_protocol: self.peer == Sender::Client && limits.extended_connect,
            ..Settings::default()
        };
        ours.write(&mut self.control);
        self.give_back();
    }

    /// Takes frames from the front of the input until one says something; `None` where more input is needed.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        input: &mut BytesMut,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        let received = self.receive_event(input, now);
        if let Err(ProtocolError::Connection { code, reason }) = received {
            self.fail(code, reason);
        }
        received
    }

    #[inline]
    fn receive_event(&mut self, input: &mut BytesMut, now: Duration) -> Result<Option<ReceivedEvent>, ProtocolError> {
        if let Shutdown::Failed(error) = self.shutdown {
            return Err(error);
        }
        loop {
            if let Some(stream) = self.ended.take() {
                return Ok(Some(ReceivedEvent::End { stream }));
            }
            if matches!(self.opening, Opening::Preface(_)) && !self.take_preface(input)? {
                return Ok(None);
            }
            let received = match frame::whole(input, LARGEST_FRAME) {
                Ok(None) => return Ok(None),
                Ok(Some(header)) => self.handle_whole(header, input, now),
                Err(error) => Err(error),
            };
            let received = match received {
                Err(ProtocolError::Stream { stream, code, reason }) => {
                    self.handle_stream_error(stream, code, reason, now)?
                }
                received => received?,
            };
            if let Some(received) = received {
                return Ok(Some(received));
            }
        }
    }

    /// RFC 9113 §3.4. A client of another protocol gets an error at its first wrong byte.
    fn take_preface(&mut self, input: &mut BytesMut) -> Result<bool, ProtocolError> {
        let Opening::Preface(seen) = self.opening else { return Ok(true) };
        let rest = &PREFACE[usize::from(seen)..];
        let length = rest.len().min(input.len());
        if input[..length] != rest[..length] {
            return Err(wrong("the connection does not begin as HTTP/2 does"));
        }
        input.advance(length);
        let whole = length == rest.len();
        self.opening = if whole { Opening::Settings } else { Opening::Preface(seen + length as u8) };
        Ok(whole)
    }

    /// Takes the frame of this header from the front of the input.
    #[inline]
    fn handle_whole(
        &mut self,
        header: FrameHeader,
        input: &mut BytesMut,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        if header.kind != Kind::HEADERS {
            let frame = frame::take_whole(header, input)?;
            self.check_order(header.kind)?;
            return self.handle_frame(frame, now);
        }
        // Decoded where they stand: nobody needs the block afterwards.
        let end = FrameHeader::LENGTH + header.length;
        let received = frame::read_headers(header, &input[FrameHeader::LENGTH..end]).and_then(|(headers, block)| {
            self.check_order(header.kind)?;
            self.handle_headers(headers, block, header.has(flags::END_HEADERS), now)
        });
        input.advance(end);
        received
    }

    #[inline]
    fn check_order(&self, kind: Kind) -> Result<(), ProtocolError> {
        // RFC 9113 §4.3, §6.10: nothing stands between the frames of a header block.
        if self.block.is_some() && kind != Kind::CONTINUATION {
            return Err(wrong("a frame within a header block"));
        }
        // RFC 9113 §3.4.
        if self.opening == Opening::Settings && kind != Kind::SETTINGS {
            return Err(wrong("the first frame is not SETTINGS"));
        }
        Ok(())
    }

    fn handle_frame(&mut self, frame: Frame, now: Duration) -> Result<Option<ReceivedEvent>, ProtocolError> {
        match frame {
            Frame::Data { stream, data, end_stream, padding } => {
                self.handle_data(stream, data, padding, end_stream, now)
            }
            // They are never made into one.
            Frame::Headers { .. } => Ok(None),
            Frame::Continuation { stream, block, end_headers } => {
                self.handle_continuation(stream, &block, end_headers, now)
            }
            Frame::ResetStream { stream, code } => self.handle_reset(stream, code, now),
            Frame::WindowUpdate { stream, increment } => self.handle_window_update(stream, increment, now),
            Frame::GoAway { last_stream, code, .. } => {
                self.peer_sent_goaway = true;
                self.calm(now)?;
                Ok(Some(ReceivedEvent::GoAway { last_stream, code }))
            }
            // RFC 9113 §8.4: a client pushes nothing, and we told the server not to.
            Frame::PushPromise { .. } => Err(wrong("PUSH_PROMISE to somebody who takes none")),
            other => self.handle_idle_frame(other, now).map(|()| None),
        }
    }

    /// Frames that bring no message further: whoever sends nothing else is at play.
    fn handle_idle_frame(&mut self, frame: Frame, now: Duration) -> Result<(), ProtocolError> {
        self.calm(now)?;
        match frame {
            Frame::Settings { settings } => self.handle_settings(&settings),
            Frame::SettingsAck => {
                self.handle_settings_ack();
                Ok(())
            }
            Frame::Ping { payload, ack: false } => {
                frame::write_ping(payload, true, &mut self.control);
                self.check_control()
            }
            Frame::Ping { payload, ack: true } => {
                self.handle_answer(&payload, now);
                Ok(())
            }
            Frame::Priority { stream, dependency } => self.handle_priority(stream, dependency),
            Frame::PriorityUpdate { stream, value } => self.handle_priority_update(stream, &value),
            _ => Ok(()),
        }
    }

    /// The answer to a PING of ours, or to one that nobody sent.
    fn handle_answer(&mut self, payload: &[u8; 8], now: Duration) {
        if payload == SHUTDOWN_PING {
            self.finish_shutdown();
        } else if payload == MEASURING && self.growth.end(now) {
            self.give_back();
        }
    }

    /// RFC 9113 §6.5.3.
    fn handle_settings(&mut self, update: &SettingsUpdate) -> Result<(), ProtocolError> {
        let before = self.allowed.initial_window_size;
        let applied = self.allowed.apply(update, self.peer)?;
        self.opening = Opening::Done;
        if let Some(smallest) = applied.smallest_header_table {
            self.encoder.set_capacity(smallest as usize);
            self.encoder.set_capacity(self.allowed.header_table_size as usize);
        }
        if self.allowed.no_rfc7540_priorities == Some(true) {
            self.dependencies.ignore();
        }
        let after = self.allowed.initial_window_size;
        if before != after {
            for stream in self.streams.iter_mut() {
                stream.send_window = stream.send_window.shifted(before, after).ok_or(OVERFLOW)?;
                schedule(&mut self.scheduler, stream);
            }
        }
        frame::write_settings_ack(&mut self.control);
        self.check_control()
    }

    /// RFC 9113 §6.5.3: from now on the peer keeps to them. Streams that it opened before began with more than we want
    /// to give (§6.9.2).
    fn handle_settings_ack(&mut self) {
        let more = INITIAL.saturating_sub(self.limits.stream_window);
        if self.settings_due.take().is_none() || more == 0 {
            return;
        }
        for stream in self.streams.iter_mut() {
            stream.receive_window.shrink(more);
            if stream.receiving == Receiving::Body
                && let Some(increment) = stream.receive_window.give_back(self.growth.stream())
            {
                frame::write_window_update(stream.id, increment, &mut self.control);
            }
        }
    }

    /// RFC 9113 §6.9.
    fn handle_window_update(
        &mut self,
        id: StreamId,
        increment: u32,
        now: Duration,
    ) -> Result<Option<ReceivedEvent>, ProtocolError> {
        self.calm(now)?;
        if id.is_connection() {
            self.send_window = self.send_window.increased(increment).ok_or(OVERFLOW)?;
        } else if let Some(stream) = self.streams.find(id) {
            let code = ErrorCode::FLOW_CONTROL_ERROR;
            let Some(window) = stream.send_window.increased(increment) else {
                return Err(ProtocolError::Stream { stream: id, code, reason: "a window of more than 2^31-1" });
            };
            stream.send_window = window;
            schedule(&mut self.scheduler, stream);
        } else {
            self.check_not_idle(id)?;
        }
        Ok(None)
    }

    /// RFC 9113 §5.1: an idle stream takes HEADERS and PRIORITY only.
    pub(crate) fn check_not_idle(&self, id: StreamId) -> Result<(), ProtocolError> {
        match self.gone(id) {
            Gone::Idle | Gone::PassedOver => Err(wrong("a frame on an idle stream")),
            Gone::CutOff | Gone::Closed => Ok(()),
        }
    }

    /// The state of a stream that is not alive; one that the server would have to open is always idle.
    pub(crate) fn gone(&self, id: StreamId) -> Gone {
        if id.is_of_client() { self.streams.gone(id) } else { Gone::Idle }
    }

    /// Takes the frame that is looked at for one that brings nothing.
    pub(crate) fn calm(&mut self, now: Duration) -> Result<(), ProtocolError> {
        if self.idle_frames.spend(now) { Ok(()) } else { Err(too_much("too many frames that bring nothing")) }
    }

    /// CVE-2019-9512, CVE-2019-9515: a peer that makes us answer and does not read the answers.
    pub(crate) fn check_control(&self) -> Result<(), ProtocolError> {
        if self.control.len() > self.limits.control { Err(too_much("the answers are not read")) } else { Ok(()) }
    }

    /// A stream that is opened now.
    #[inline]
    pub(crate) fn new_stream(&self, id: StreamId) -> Stream {
        let ours = self.limits.stream_window;
        // RFC 9113 §6.9.3: the peer may not have heard yet that it is less than it thinks.
        let ours = if self.settings_due.is_some() { ours.max(INITIAL) } else { ours };
        Stream::new(id, self.allowed.initial_window_size, ours)
    }

    /// Gives the window of received data back to the connection, if it is worth a frame.
    pub(crate) fn give_back(&mut self) {
        if let Some(increment) = self.receive_window.give_back(self.growth.connection()) {
            frame::write_window_update(StreamId::CONNECTION, increment, &mut self.control);
        }
    }

    /// Appends the frames that go before everything else.
    #[inline]
    pub(crate) fn write_control(&mut self, output: &mut Vec<u8>) {
        if self.control.is_empty() {
            return;
        }
        output.extend_from_slice(&self.control);
        if self.control.capacity() > KEPT_CONTROL {
            self.control = Vec::new();
        } else {
            self.control.clear();
        }
    }

    /// When [`Self::handle_timeout`] is to be called, if ever.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.settings_due.filter(|_| !matches!(self.shutdown, Shutdown::Failed(_)))
    }

    /// RFC 9113 §6.5.3: SETTINGS that are not acknowledged.
    pub(crate) fn handle_timeout(&mut self, now: Duration) {
        if self.deadline().is_some_and(|due| due <= now) {
            self.fail(ErrorCode::SETTINGS_TIMEOUT, "the settings were not acknowledged in time");
        }
    }

    /// Gives back memory that only an active connection needs.
    pub(crate) fn release_memory(&mut self) {
        self.fields = Fields::default();
        self.decoder.release_memory();
        if self.control.is_empty() {
            self.control = Vec::new();
        }
    }
}

/// Brings the scheduler up to date with what the stream wants.
#[inline]
pub(crate) fn schedule(scheduler: &mut Scheduler, stream: &mut Stream) {
    let wants = stream.wants_turn();
    if wants != stream.scheduled {
        stream.scheduled = wants;
        if wants {
            scheduler.insert(stream.id, stream.claim());
        } else {
            scheduler.remove(stream.id, stream.claim());
        }
    }
}

/// An error of the connection, with the code of most.
pub(crate) const fn wrong(reason: &'static str) -> ProtocolError {
    ProtocolError::Connection { code: ErrorCode::PROTOCOL_ERROR, reason }
}

/// RFC 9113 §10.5.
pub(crate) const fn too_much(reason: &'static str) -> ProtocolError {
    ProtocolError::Connection { code: ErrorCode::ENHANCE_YOUR_CALM, reason }
}

const OVERFLOW: ProtocolError =
    ProtocolError::Connection { code: ErrorCode::FLOW_CONTROL_ERROR, reason: "a window of more than 2^31-1" };

/// The PING whose round trip is measured.
pub(crate) const MEASURING: &[u8; 8] = b"measure.";

/// The PING behind the first GOAWAY.
pub(crate) const SHUTDOWN_PING: &[u8; 8] = b"shutdown";

/// The PING whose answer says that the peer is there.
pub(crate) const LIFE_SIGN: &[u8; 8] = b"alive?..";

/// RFC 9113 §6.5.2: the initial value, which we do not change.
const LARGEST_FRAME: usize = 16_384;

/// nghttp2's rates.
const RESETS_EACH_SECOND: u32 = 33;
const IDLE_FRAMES_EACH_SECOND: u32 = 330;

/// Room for a few frames is kept for the next ones.
const KEPT_CONTROL: usize = 128;

// Ten thousand idle connections cost ten megabytes by this.
const _: () = assert!(size_of::<Connection>() <= 1024);
