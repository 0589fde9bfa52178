//! The part of a connection that both roles share: its state, and the receipt of bytes on any of its streams.

use alloc::{collections::VecDeque, vec::Vec};
use core::time::Duration;

use bytes::Bytes;
use serow_streams::{Budget, fields::Fields};

use crate::{
    Counters, ErrorCode, Limits, OwnStream, ProtocolError, Settings, StreamId, StreamOrder,
    control_stream::ControlStream,
    own_streams::{CLOSED, OwnStreams},
    qpack::{Decoder, Encoder},
    received_event::{ReceivedEvent, ReceivedEvents},
    scheduler::{EarlyPriorities, Scheduler},
    stream::{Reading, Stream},
    streams::Streams,
    unidirectional::Unidirectional,
};

/// A connection of either role.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) limits: Limits,
    /// The role of the peer.
    pub(crate) peer: Peer,
    /// The settings of the peer, which limit us; `None` until they have come.
    pub(crate) allowed: Option<Settings>,
    pub(crate) shutdown: Shutdown,
    /// The number in the peer's last GOAWAY.
    pub(crate) peer_go_away: Option<u64>,
    /// The largest number of a push that the client allows.
    pub(crate) max_push: Option<u64>,
    /// When the machine was called last.
    pub(crate) now: Duration,
    pub(crate) own: OwnStreams,
    pub(crate) unidirectional: Unidirectional,
    pub(crate) control_stream: ControlStream,
    pub(crate) decoder: Decoder,
    pub(crate) encoder: Encoder,
    /// The head that was decoded last.
    pub(crate) fields: Fields,
    pub(crate) streams: Streams,
    /// How many request streams QUIC lets the peer open, from the beginning of the connection.
    pub(crate) stream_credit: u64,
    /// Bytes of field sections that streams hold.
    pub(crate) held: usize,
    /// Streams whose field section waits for entries of QPACK's table, and until how many there are.
    pub(crate) blocked: Vec<(StreamId, u64)>,
    pub(crate) received_events: ReceivedEvents,
    pub(crate) orders: VecDeque<StreamOrder>,
    pub(crate) scheduler: Scheduler,
    pub(crate) early: EarlyPriorities,
    /// Whether QUIC's flow control has room for the connection.
    pub(crate) writable: bool,
    pub(crate) resets: Budget,
    pub(crate) idle_frames: Budget,
    pub(crate) counters: Counters,
}

/// The role of the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Client,
    Server,
}

/// The state of a graceful shutdown (RFC 9114 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shutdown {
    /// Not shutting down.
    Open,
    /// A GOAWAY announced the shutdown; new streams may be on their way.
    Announced,
    /// This stream and those above it are rejected.
    From(StreamId),
    /// The connection has failed.
    Failed(ProtocolError),
}

impl Connection {
    pub(crate) fn new(peer: Peer, limits: Limits, now: Duration) -> Self {
        let mut own = OwnStreams::new();
        let ours = Settings {
            qpack_max_table_capacity: limits.qpack_table.into(),
            qpack_blocked_streams: limits.qpack_blocked.into(),
            max_field_section_size: Some(limits.head as u64),
            enable_connect_protocol: peer == Peer::Client && limits.extended_connect,
        };
        ours.write(own.waiting(OwnStream::Control));
        Self {
            limits,
            peer,
            allowed: None,
            shutdown: Shutdown::Open,
            peer_go_away: None,
            max_push: None,
            now,
            own,
            unidirectional: Unidirectional::default(),
            control_stream: ControlStream::default(),
            decoder: Decoder::new(limits.qpack_table as usize, limits.qpack_blocked.into()),
            encoder: Encoder::new(),
            fields: Fields::default(),
            streams: Streams::default(),
            stream_credit: u64::MAX,
            held: 0,
            blocked: Vec::new(),
            received_events: ReceivedEvents::default(),
            orders: VecDeque::new(),
            scheduler: Scheduler::new(),
            early: EarlyPriorities::new(),
            writable: true,
            resets: Budget::new(limits.resets, RESETS_EACH_SECOND, now),
            idle_frames: Budget::new(limits.idle_frames, IDLE_FRAMES_EACH_SECOND, now),
            counters: Counters::default(),
        }
    }

    /// Takes in what was received on a stream.
    #[inline]
    pub(crate) fn receive(&mut self, id: StreamId, data: Bytes, fin: bool, now: Duration) -> Result<(), ProtocolError> {
        self.guarded(now, |connection| match connection.kind(id)? {
            StreamKind::Request => connection.receive_message(id, data, fin),
            StreamKind::Theirs => connection.receive_unidirectional(id, data, fin),
            StreamKind::Ours => Ok(()),
        })
    }

    /// RESET_STREAM.
    pub(crate) fn receive_reset(&mut self, id: StreamId, code: ErrorCode, now: Duration) -> Result<(), ProtocolError> {
        self.guarded(now, |connection| match connection.kind(id)? {
            StreamKind::Request => connection.handle_reset(id, code),
            StreamKind::Theirs => connection.unidirectional.end(id),
            StreamKind::Ours => Ok(()),
        })
    }

    /// STOP_SENDING.
    pub(crate) fn receive_stop(&mut self, id: StreamId, code: ErrorCode, now: Duration) -> Result<(), ProtocolError> {
        self.guarded(now, |connection| match connection.kind(id)? {
            StreamKind::Request => connection.handle_stop(id, code),
            StreamKind::Theirs => Ok(()),
            // We have no other unidirectional streams.
            StreamKind::Ours => Err(CLOSED),
        })
    }

    /// Does something that fails the connection where it goes wrong.
    #[inline]
    fn guarded(
        &mut self,
        now: Duration,
        receive: impl FnOnce(&mut Self) -> Result<(), ProtocolError>,
    ) -> Result<(), ProtocolError> {
        if let Shutdown::Failed(error) = self.shutdown {
            return Err(error);
        }
        self.now = now;
        receive(self).and_then(|()| self.check_control()).inspect_err(|error| {
            if let ProtocolError::Connection { code, reason } = *error {
                self.fail(code, reason);
            }
        })
    }

    /// Whose stream it is, and of which kind (RFC 9000 §2.1).
    #[inline]
    fn kind(&self, id: StreamId) -> Result<StreamKind, ProtocolError> {
        // The scheduler knows no larger numbers, and no connection comes so far.
        if id.get() > LAST_STREAM {
            return Err(ProtocolError::new(ErrorCode::ID_ERROR, "a stream whose number is too large"));
        }
        match (id.get() & 3, self.peer) {
            (0, _) => Ok(StreamKind::Request),
            (2, Peer::Client) | (3, Peer::Server) => Ok(StreamKind::Theirs),
            (2, Peer::Server) | (3, Peer::Client) => Ok(StreamKind::Ours),
            // RFC 9114 §6.1.
            _ => {
                let reason = "a bidirectional stream of the server";
                Err(ProtocolError::new(ErrorCode::STREAM_CREATION_ERROR, reason))
            }
        }
    }

    /// Takes the next event, if there is one.
    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<ReceivedEvent> {
        if let Some(id) = self.received_events.taken.take() {
            self.advance_or_fail(id);
        }
        let event = self.received_events.pop()?;
        if let Some(stream) = event.stream().and_then(|id| self.streams.find(id)) {
            stream.has_event = false;
            stream.is_known = true;
        }
        Some(event)
    }

    /// Whether more of a stream can be used now.
    #[inline]
    pub(crate) fn wants_data(&self, id: StreamId) -> bool {
        self.streams.peek(id).is_none_or(|stream| {
            !stream.has_event && stream.input.is_empty() && !matches!(stream.reading, Reading::Blocked(_))
        })
    }

    /// Adds a stream.
    pub(crate) fn add(&mut self, stream: Stream) {
        self.counters.opened += 1;
        self.streams.insert(stream);
    }

    /// Takes what is looked at for something that brings nothing.
    #[inline]
    pub(crate) fn calm(&mut self) -> Result<(), ProtocolError> {
        if self.idle_frames.spend(self.now) { Ok(()) } else { Err(too_much("too many frames that bring nothing")) }
    }

    /// A stream was cut off by the peer, or over its mistake: "rapid reset" (CVE-2023-44487), "MadeYouReset"
    /// (CVE-2025-8671).
    pub(crate) fn note_reset(&mut self) -> Result<(), ProtocolError> {
        if self.resets.spend(self.now) { Ok(()) } else { Err(too_much("too many streams were cut off")) }
    }

    /// Gives back memory that only an active connection needs.
    pub(crate) fn release_memory(&mut self) {
        self.fields = Fields::default();
        self.decoder.release_memory();
        self.own.release_memory();
        self.blocked.shrink_to_fit();
    }
}

/// The use of a stream.
enum StreamKind {
    /// For a request and its response.
    Request,
    /// An unidirectional one of the peer's.
    Theirs,
    /// An unidirectional one of ours.
    Ours,
}

/// RFC 9114 §10.5.
pub(crate) const fn too_much(reason: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorCode::EXCESSIVE_LOAD, reason)
}

/// RFC 9114 §7: a frame where it must not be.
pub(crate) const fn unexpected(reason: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorCode::FRAME_UNEXPECTED, reason)
}

/// Bits of a number that the scheduler keeps: 2^54 requests.
const LAST_STREAM: u64 = (1 << 56) - 1;

/// nghttp2's rates, as over HTTP/2.
const RESETS_EACH_SECOND: u32 = 33;
const IDLE_FRAMES_EACH_SECOND: u32 = 330;

// Ten thousand idle connections cost some megabytes by this.
const _: () = assert!(size_of::<Connection>() <= 1536);
