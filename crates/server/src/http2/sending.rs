//! Sending, in the order of the scheduler.
//!
//! Nothing is scheduled before the kernel has taken everything scheduled earlier, so that what has become more urgent
//! meanwhile goes first.

use std::{
    future::Future,
    task::{Context, Poll, ready},
};

use serow_message::{Handler, Request, Response};
use serow_net::More;
use serow_pacing::Demand;

use super::connection::Http2;
use crate::{multiplexed::give_way, transport::TransportError};

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
            if self.requests.machine.has_control() {
                self.requests.machine.write_control(self.transport.output());
            }
            if let Some(demand) = self.demand() {
                let histogram = &self.requests.worker.counters.queue_delay;
                match self.pace.poll_room(demand, &mut self.transport.wire, context, histogram) {
                    Poll::Ready(Ok(room)) => self.take_turns(demand, room.min(SENT_AT_ONCE)),
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(TransportError::Lost(error))),
                    Poll::Pending if self.transport.output.is_empty() => return Poll::Pending,
                    // Control frames do not wait for their turn: they leave at once.
                    Poll::Pending => {}
                }
            }
            // A body that failed in its turn has left RST_STREAM behind, and no bytes.
            if self.transport.output.is_empty() && !self.requests.machine.has_control() {
                self.pace.watch_rest(&self.transport.wire, context, &self.requests.worker.counters.queue_delay);
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// The urgency of the next bytes to send, if there are any.
    fn demand(&mut self) -> Option<Demand> {
        let stream = self.requests.machine.next_turn(usize::MAX)?.stream;
        Some(self.requests.demand(stream))
    }

    /// Lets the exchanges fill the output in the order of the scheduler, as long as they are of this urgency.
    fn take_turns(&mut self, demand: Demand, room: usize) {
        while let Some(left) = room.checked_sub(self.transport.output.len()).filter(|left| *left > 0) {
            // With its header, a frame is not to go beyond the room: what does would be a record, and a call, of its
            // own.
            let Some(turn) = self.requests.machine.next_turn(left.saturating_sub(FRAME_HEADER).max(1)) else { break };
            if self.requests.demand(turn.stream) != demand {
                break;
            }
            if turn.bytes >= MUCH {
                self.transport.expect_much();
            }
            // The machine has written the end of the stream, too.
            let _ = self.requests.take_turn(turn, self.transport.output());
        }
    }
}

/// A turn of this many bytes is seldom the last of its stream.
const MUCH: usize = 8 * 1024;

/// RFC 9113 §4.1.
const FRAME_HEADER: usize = 9;

/// Bytes that are scheduled before they are sent: four frames, enough to be worth a system call.
const SENT_AT_ONCE: usize = 64 * 1024;
