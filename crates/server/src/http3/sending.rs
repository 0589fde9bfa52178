//! Sending, in the order of the scheduler.
//!
//! QUIC gets no more than a congestion window, so that what has become more urgent meanwhile goes first; and what it has
//! not sent yet it sends by urgency, too.

use std::{collections::HashSet, future::Future, task::Context};

use bytes::Bytes;
use serow_http3::Follows;
use serow_message::{Handler, Request, Response};
use serow_quic::{Sent, StreamId as QuicStream, WriteError};
use serow_streams::StreamId;

use super::{
    connection::Http3,
    receiving::{of_quic, to_quic},
};
use crate::multiplexed::give_way;

/// The result of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Nothing was sent.
    None,
    /// Everything that may be sent now.
    Some,
    /// As much as in one turn; the task is woken for the next.
    TurnOver,
}

/// What was taken from exchanges, and QUIC had no room for: at most a turn of each stream.
#[derive(Default)]
pub(super) struct Unwritten {
    pieces: Vec<(StreamId, Bytes, Follows)>,
}

/// Streams whose end was written, and which the client has not received to their end.
#[derive(Default)]
pub(super) struct Undelivered {
    streams: HashSet<StreamId>,
}

impl Undelivered {
    pub(super) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The client has all of the stream, or will not get it.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
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

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Sends until nothing is left that may be sent, or others are to have their turn.
    pub(super) fn send(&mut self, context: &mut Context<'_>) -> Progress {
        for batch in 0..BATCHES_IN_TURN {
            self.write_own_streams();
            self.write_responses();
            match self.quic.send(context) {
                Sent::Datagrams => {}
                Sent::Nothing | Sent::Blocked if batch == 0 => return Progress::None,
                Sent::Nothing | Sent::Blocked => return Progress::Some,
            }
        }
        give_way(context);
        Progress::TurnOver
    }

    /// Lets the exchanges write in the order of the scheduler, as long as QUIC takes it.
    fn write_responses(&mut self) {
        self.limit_to_congestion_window();
        let mut written = 0;
        while written < WRITTEN_AT_ONCE
            && let Some(turn) = self.requests.machine.next_turn(TURN)
        {
            let stream = turn.stream;
            if turn.head {
                let urgency = self.requests.machine.priority(stream).urgency;
                // What the client has stopped gets no priority any more.
                let _ = self.quic.machine().send_stream(to_quic(stream)).set_priority(-i32::from(urgency));
            }
            let mut output = Vec::with_capacity(turn.bytes + HEAD);
            let follows = self.requests.take_turn(turn, &mut output);
            self.obey();
            // The head may refer to entries of QPACK's table that are to be told first: behind the body, they would keep
            // the client waiting for the whole response.
            self.write_own_streams();
            written += output.len();
            self.write(stream, output.into(), follows);
        }
    }

    /// Lets QUIC take no more than it may have in flight, and a little to begin packets with.
    pub(super) fn limit_to_congestion_window(&mut self) {
        let quic = self.quic.machine();
        let window = quic.congestion_state().window();
        quic.set_send_window(window + AHEAD);
    }

    /// Writes to a stream. Where QUIC does not take all of it, the stream has no more turns until it does, and nobody has
    /// if it takes nothing of any.
    fn write(&mut self, stream: StreamId, mut piece: Bytes, follows: Follows) {
        let mut sender = self.quic.machine().send_stream(to_quic(stream));
        while !piece.is_empty() {
            match sender.write_chunks(std::slice::from_mut(&mut piece)) {
                Ok(_) => {}
                Err(WriteError::Blocked) => {
                    self.unwritten.pieces.push((stream, piece, follows));
                    self.requests.machine.set_writable(stream, false);
                    let is_full = self.is_full();
                    self.requests.machine.set_connection_writable(!is_full);
                    return;
                }
                // The client does not want it: an event says so.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => return,
            }
        }
        if follows == Follows::Fin && sender.finish().is_ok() {
            self.undelivered.streams.insert(stream);
        }
    }

    /// QUIC has room for a stream again.
    pub(super) fn note_writable(&mut self, id: QuicStream) {
        let stream = of_quic(id);
        self.requests.machine.set_connection_writable(true);
        let Some(place) = self.unwritten.pieces.iter().position(|(of, ..)| *of == stream) else { return };
        let (stream, piece, follows) = self.unwritten.pieces.remove(place);
        self.requests.machine.set_writable(stream, true);
        self.write(stream, piece, follows);
    }
}

/// Bytes that QUIC may hold beyond its congestion window, so that it has a packet's content as soon as it may send one.
const AHEAD: u64 = 16 * 1024;

/// Bytes of a turn: one less than the scheduler's, so that the length of the frame takes two bytes.
const TURN: usize = serow_streams::scheduler::TURN as usize - 1;

/// Room for a head, so that most need no second allocation.
const HEAD: usize = 256;

/// Bytes that are written before packets are sent: as many as fit into one call.
const WRITTEN_AT_ONCE: usize = 64 * 1024;

/// Batches of packets of one connection after which others have their turn.
const BATCHES_IN_TURN: usize = 8;
