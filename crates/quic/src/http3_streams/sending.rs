//! Sending: what the machine writes goes to QUIC's streams, as far as they have room.

use std::collections::VecDeque;

use bytes::{Buf, Bytes};
use quinn_proto::{Dir, StreamId as QuicStream, WriteError};
use serow_http3::{Endpoint, Follows, OwnStream, StreamId};

use super::{Http3Streams, of_quic, to_quic};

/// Bytes that the machine wrote at once: heads and the headers of frames, and the content behind them, which may be memory that
/// others share. QUIC keeps both as they are until the peer has received them.
#[derive(Clone, Debug, Default)]
pub struct Piece([Bytes; 2]);

/// Pieces that the machine wrote, and QUIC had no room for: at most a turn of each stream.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    pieces: Vec<(StreamId, Piece, Follows)>,
}

/// Which messages QUIC takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamAdmission {
    /// All.
    Open,
    /// It holds as much as it may. More urgent messages than this one are taken nevertheless, or they would wait until
    /// the peer has acknowledged what is less urgent.
    Full { urgency: u8 },
}

/// Streams whose end was written, and which the peer has not received to their end.
#[derive(Debug, Default)]
pub(super) struct Undelivered {
    /// In the order of their numbers, in which most of them come and go.
    streams: VecDeque<StreamId>,
}

impl Piece {
    /// This content, behind what begins with it.
    #[must_use]
    pub fn new(beginning: Bytes, content: Bytes) -> Self {
        Self([beginning, content])
    }

    fn len(&self) -> usize {
        self.0.iter().map(Bytes::len).sum()
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes.into(), Bytes::new())
    }
}

impl Undelivered {
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The peer has all of the stream, or will not get it.
    pub(super) fn forget(&mut self, stream: StreamId) {
        if let Ok(place) = self.streams.binary_search(&stream) {
            self.streams.remove(place);
        }
    }

    fn add(&mut self, stream: StreamId) {
        match self.streams.back() {
            Some(last) if *last >= stream => {
                if let Err(place) = self.streams.binary_search(&stream) {
                    self.streams.insert(place, stream);
                }
            }
            _ => self.streams.push_back(stream),
        }
    }
}

impl Unwritten {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The stream was cut off.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.pieces.retain(|(of, ..)| *of != stream);
    }
}

impl Http3Streams {
    /// Writes what waits on our unidirectional streams.
    pub fn write_own<Role>(&mut self, machine: &mut Endpoint<Role>) {
        if !machine.has_control() {
            return;
        }
        // They are short, and whatever waits of messages must not keep them waiting.
        self.quic.machine().set_send_window(u64::MAX);
        for (own, stream) in OwnStream::ALL.into_iter().zip(&mut self.own) {
            let waiting = machine.control(own);
            if waiting.is_empty() {
                continue;
            }
            let quic = self.quic.machine();
            let Some(id) = stream.or_else(|| quic.streams().open(Dir::Uni)) else { break };
            if stream.replace(id).is_none() {
                // They go before all messages: a peer waits for SETTINGS, and for entries of QPACK's table.
                let _ = quic.send_stream(id).set_priority(OWN_PRIORITY);
            }
            if let Ok(written) = quic.send_stream(id).write(waiting) {
                waiting.advance(written);
            }
        }
        self.limit_to_congestion_window();
    }

    /// Lets QUIC take no more than it may have in flight, and a little to begin packets with: what becomes more urgent
    /// meanwhile goes first.
    pub fn limit_to_congestion_window(&mut self) {
        let quic = self.quic.machine();
        let window = quic.congestion_state().window();
        quic.set_send_window(window + AHEAD);
    }

    /// Among what QUIC holds, more urgent streams go first, then those of lower numbers; incremental ones share what is left
    /// of their urgency (RFC 9218 §10).
    pub fn set_priority(&mut self, stream: StreamId, urgency: u8, incremental: bool) {
        let number = i32::try_from(stream.get() / 4).unwrap_or(i32::MAX);
        let place = if incremental { URGENCY_DISTANCE - 1 } else { number.min(URGENCY_DISTANCE - 2) };
        let priority = -i32::from(urgency) * URGENCY_DISTANCE - place;
        // A stream that the peer has stopped gets no priority any more.
        let _ = self.quic.machine().send_stream(to_quic(stream)).set_priority(priority);
    }

    /// Whether QUIC takes something of a stream. Ask before each turn.
    pub fn admits<Role>(&self, machine: &Endpoint<Role>, stream: StreamId) -> bool {
        match self.admission {
            StreamAdmission::Open => true,
            StreamAdmission::Full { urgency } => self.beyond < MAX_BEYOND && machine.priority(stream).urgency < urgency,
        }
    }

    /// Writes to a stream. Where QUIC does not take all of it, the stream has no more turns until it does.
    pub fn write<Role>(&mut self, machine: &mut Endpoint<Role>, stream: StreamId, mut piece: Piece, follows: Follows) {
        let written = match self.admission {
            StreamAdmission::Open => self.write_piece(stream, &mut piece),
            StreamAdmission::Full { .. } => {
                self.beyond += piece.len() as u64;
                self.quic.machine().set_send_window(u64::MAX);
                let written = self.write_piece(stream, &mut piece);
                self.limit_to_congestion_window();
                written
            }
        };
        match written {
            Ok(()) if follows == Follows::Fin => {
                if self.quic.machine().send_stream(to_quic(stream)).finish().is_ok() {
                    self.undelivered.add(stream);
                }
            }
            Err(WriteError::Blocked) => {
                self.unwritten.pieces.push((stream, piece, follows));
                machine.set_writable(stream, false);
                if self.is_full() {
                    self.admission = StreamAdmission::Full { urgency: machine.priority(stream).urgency };
                }
            }
            // Or the peer does not want it: an event says so.
            Ok(()) | Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {}
        }
    }

    fn write_piece(&mut self, stream: StreamId, piece: &mut Piece) -> Result<(), WriteError> {
        let mut sender = self.quic.machine().send_stream(to_quic(stream));
        while piece.len() > 0 {
            self.written += sender.write_chunks(&mut piece.0)?.bytes as u64;
        }
        Ok(())
    }

    /// QUIC has room for a stream again.
    pub(super) fn note_writable<Role>(&mut self, machine: &mut Endpoint<Role>, id: QuicStream) {
        let stream = of_quic(id);
        self.admission = StreamAdmission::Open;
        self.beyond = 0;
        let Some(place) = self.unwritten.pieces.iter().position(|(of, ..)| *of == stream) else { return };
        let (stream, piece, follows) = self.unwritten.pieces.remove(place);
        machine.set_writable(stream, true);
        self.write(machine, stream, piece, follows);
    }

    /// Whether QUIC takes no more data of any stream for now.
    fn is_full(&mut self) -> bool {
        let Some(control) = self.own.first().copied().flatten() else { return false };
        // A write without content fails only where no stream may send.
        matches!(self.quic.machine().send_stream(control).write(&[]), Err(WriteError::Blocked))
    }
}

/// Between two urgencies among QUIC's priorities: room for as many streams.
const URGENCY_DISTANCE: i32 = 1 << 24;

/// Bytes of more urgent messages that QUIC takes though it is full, until the peer has acknowledged all beyond the
/// congestion window: the first flight of a response, and more. Without this limit, a peer that acknowledges nothing could
/// make us keep whole responses.
const MAX_BEYOND: u64 = 64 * 1024;

/// Above that of every message.
const OWN_PRIORITY: i32 = 100;

/// Bytes that QUIC may hold beyond its congestion window, so that it has a packet's content as soon as it may send one.
const AHEAD: u64 = 16 * 1024;
