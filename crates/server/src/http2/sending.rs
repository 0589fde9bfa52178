//! Sending, in the order of the scheduler.
//!
//! Nothing is scheduled before the kernel has taken everything scheduled earlier, so that what has become more urgent
//! meanwhile goes first.

use std::{
    future::Future,
    pin::pin,
    task::{Context, Poll, ready},
};

use bytes::Buf;
use serow_http2::{ErrorCode, StreamId, Turn};
use serow_message::{FileRange, Handler, Priority, Request, Response, UsageError};
use serow_net::More;
use serow_pacing::Demand;
use tokio::task::yield_now;

use super::{connection::Http2, exchange::Stage};
use crate::transport::TransportError;

impl<H, C, F> Http2<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Sends until nothing is left that may be sent, or the kernel's buffer is full.
    pub(super) fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        loop {
            let flushed = self.transport.poll_flush(context, More::Nothing);
            self.pace.note_sent(&self.transport.wire, flushed.is_pending());
            ready!(flushed)?;
            if self.transport.has_had_its_turn() {
                give_way(context);
                return Poll::Pending;
            }
            if self.machine.has_control() {
                self.machine.write_control(self.transport.output());
            }
            if let Some(demand) = self.demand() {
                let histogram = &self.worker.counters.queue_delay;
                match self.pace.poll_room(demand, &mut self.transport.wire, context, histogram) {
                    Poll::Ready(Ok(room)) => self.take_turns(demand, room.min(SENT_AT_ONCE)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(TransportError::Lost(error))),
                    Poll::Pending if self.transport.output.is_empty() => return Poll::Pending,
                    // What wants no order leaves at once.
                    Poll::Pending => {}
                }
            }
            if self.transport.output.is_empty() {
                self.pace.watch_rest(&self.transport.wire, context, &self.worker.counters.queue_delay);
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// The urgency of the next bytes to send, if there are any.
    fn demand(&mut self) -> Option<Demand> {
        let stream = self.machine.next_turn(usize::MAX)?.stream;
        let Priority { urgency, incremental } = self.machine.priority(stream);
        // Browsers ask for pictures that can be seen like this, and for scripts of the same urgency without `i`.
        let is_less_urgent =
            self.machine.has_said_priority(stream) && (urgency >= PATIENT || urgency == 2 && incremental);
        Some(if is_less_urgent { Demand::LessUrgent } else { Demand::Urgent })
    }

    /// Lets the exchanges fill the output in the order of the scheduler, as long as they are of this urgency.
    fn take_turns(&mut self, demand: Demand, room: usize) {
        while let Some(left) = room.checked_sub(self.transport.output.len()).filter(|left| *left > 0) {
            if self.demand() != Some(demand) {
                break;
            }
            // With its header, a frame is not to go beyond the room: what does would be a record, and a call, of its
            // own.
            let Some(turn) = self.machine.next_turn(left.saturating_sub(FRAME_HEADER).max(1)) else { break };
            if turn.bytes >= MUCH {
                self.transport.expect_much();
            }
            self.take_turn(turn);
        }
    }

    fn take_turn(&mut self, turn: Turn) {
        let Turn { stream, head, bytes } = turn;
        let index = self.exchanges.find(stream);
        index.inspect(|index| self.note_priority(*index));
        let output = self.transport.output();
        let before = output.len();
        if head {
            let date = self.worker.clock.date_value();
            // The machine said that it is its turn.
            let _ = self.machine.write_head(stream, &date, output);
        }
        let Some(index) = index else { return };
        let Some(exchange) = self.exchanges.get(index) else { return };
        exchange.sent.head_bytes += (output.len() - before) as u64;
        match &mut exchange.stage {
            Stage::Bytes(rest) => {
                let length = rest.len().min(bytes);
                let end = length == rest.len();
                if let Err(misuse) = self.machine.write_data(stream, &rest[..length], end, output) {
                    return self.break_off(index, misuse);
                }
                rest.advance(length);
                exchange.note_sent(length, &self.worker);
                if end {
                    self.answered(index);
                }
            }
            Stage::File(_) => self.send_file(index, stream, bytes),
            Stage::Stream(_) => self.send_piece(index, stream, bytes),
            Stage::Tunnel(_) => self.send_tunnelled(index, stream, bytes),
            Stage::Head => self.answered(index),
            Stage::Handling | Stage::Answered => self.machine.set_ready(stream, false),
        }
    }

    /// Reads a piece of a file straight into the output.
    fn send_file(&mut self, index: usize, stream: StreamId, bytes: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let Stage::File(range) = &mut exchange.stage else { return };
        let output = self.transport.output();
        match read_frame(range, bytes, output) {
            Ok(length) => {
                let end = range.length == 0;
                let data = output.len() - length;
                let mut header = Vec::with_capacity(FRAME_HEADER);
                if let Err(misuse) = self.machine.begin_data(stream, length, end, &mut header) {
                    output.truncate(data - FRAME_HEADER);
                    return self.break_off(index, misuse);
                }
                // Nothing where the windows are shut; frames that go first, too, where some have come up meanwhile.
                output.splice(data - FRAME_HEADER..data, header);
                exchange.note_sent(length, &self.worker);
                if end {
                    self.answered(index);
                }
            }
            Err(error) => {
                tracing::warn!(peer = ?self.connection.peer(), %error, "a response could not be finished");
                self.give_up(index, ErrorCode::INTERNAL_ERROR);
            }
        }
    }

    /// Sends the next piece of a streamed body.
    fn send_piece(&mut self, index: usize, stream: StreamId, bytes: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let Stage::Stream(streaming) = &mut exchange.stage else { return };
        let length = streaming.piece.len().min(bytes);
        let is_last_piece = length == streaming.piece.len();
        let end = is_last_piece && streaming.is_whole();
        let output = self.transport.output();
        let written = match &streaming.end {
            Some(Some(trailers)) if is_last_piece => self
                .machine
                .write_data(stream, &streaming.piece[..length], false, output)
                .and_then(|()| self.machine.write_trailers(stream, trailers, output)),
            // More than was announced.
            _ if !is_last_piece && self.machine.has_sent_length(stream) => Err(UsageError::TooManyBytes),
            _ if length == 0 && !end => Ok(()),
            _ => self.machine.write_data(stream, &streaming.piece[..length], end, output),
        };
        if let Err(misuse) = written {
            return self.break_off(index, misuse);
        }
        streaming.piece.advance(length);
        exchange.note_sent(length, &self.worker);
        if end {
            self.answered(index);
        } else if is_last_piece {
            self.machine.set_ready(stream, false);
            self.poll_exchange(index);
        }
    }

    /// All of the response has been written.
    pub(super) fn answered(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        exchange.stage = Stage::Answered;
        if exchange.sender.as_ref().is_none_or(serow_message::BodySender::is_abandoned) {
            self.abandon_if_unread(index);
            self.conclude(index);
        }
    }

    /// Stops waiting for the rest of a body that the handler does not read.
    fn abandon_if_unread(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        if exchange.sender.take().is_some() {
            self.machine.abandon_body(exchange.stream);
        }
    }

    /// Both sides have finished the stream.
    pub(super) fn conclude(&mut self, index: usize) {
        if let Some(exchange) = self.exchanges.remove(index) {
            self.log(exchange, true);
        }
    }

    /// The handler's body is not as long as announced.
    fn break_off(&mut self, index: usize, misuse: UsageError) {
        tracing::warn!(peer = ?self.connection.peer(), error = %misuse, "a response could not be finished");
        self.give_up(index, ErrorCode::INTERNAL_ERROR);
    }
}

impl super::exchange::Streaming {
    /// Whether this is the last piece.
    fn is_whole(&self) -> bool {
        self.end.is_some() || self.body.is_end()
    }
}

/// Wakes the task after the others of the thread have had their turn and the event loop has looked at the sockets: a
/// task that only wakes itself is polled again before that, many times.
pub(super) fn give_way(context: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(context);
}

/// Reads the next piece of a file behind room for a frame's header; returns its length.
fn read_frame(range: &mut FileRange, most: usize, output: &mut Vec<u8>) -> std::io::Result<usize> {
    let before = output.len();
    output.extend_from_slice(&[0; FRAME_HEADER]);
    range.read_into(output, most).inspect_err(|_| output.truncate(before))
}

/// The default urgency (RFC 9218 §4.1): a client that states it explicitly wants others to go first.
const PATIENT: u8 = 3;

/// A turn of this many bytes is seldom the last of its stream.
const MUCH: usize = 8 * 1024;

/// RFC 9113 §4.1.
const FRAME_HEADER: usize = 9;

/// Bytes that are scheduled before they are sent: four frames, enough to be worth a system call.
const SENT_AT_ONCE: usize = 64 * 1024;
