//! Sending, in the order of the scheduler.
//!
//! QUIC gets no more than a congestion window, so that what has become more urgent meanwhile goes first; and what it has
//! not sent yet it sends by urgency, too.

use std::{future::Future, task::Context};

use bytes::{Buf, Bytes};
use serow_message::{Handler, Request, Response};
use serow_net::{LENT_LENGTH, lend_buffer, return_lent_buffer, take_lent_buffer};
use serow_pacing::{Demand, Pacing};
use serow_quic::{Piece, Sent};

use super::connection::Http3;
use crate::multiplexed::{TurnOutput, give_way};

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

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Sends until nothing is left that may be sent, or others are to have their turn.
    pub(super) fn send(&mut self, context: &mut Context<'_>) -> Progress {
        for batch in 0..BATCHES_IN_TURN {
            self.streams.write_own(&mut self.requests.machine);
            self.write_responses();
            match self.streams.quic().send(context) {
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
        self.streams.limit_to_congestion_window();
        let (mut written, mut demand) = (0, Demand::LessUrgent);
        let mut output = Output { copied: take_lent_buffer(), shared: Bytes::new() };
        while written < WRITTEN_AT_ONCE
            && let Some(turn) = self.requests.machine.next_turn(TURN)
            && self.streams.admits(&self.requests.machine, turn.stream)
        {
            let stream = turn.stream;
            // It may have changed since the last turn.
            let priority = self.requests.machine.priority(stream);
            self.streams.set_priority(stream, priority.urgency, priority.incremental);
            if self.requests.demand(stream) == Demand::Urgent {
                demand = Demand::Urgent;
            }
            let follows = self.requests.take_turn(turn, &mut output);
            self.streams.obey(&mut self.requests.machine);
            // The head may refer to entries of QPACK's table that are to be told first: behind the body, they would keep
            // the client waiting for the whole response.
            self.streams.write_own(&mut self.requests.machine);
            written += output.copied.len() + output.shared.len();
            self.streams.write(&mut self.requests.machine, stream, output.take(), follows);
        }
        return_lent_buffer(output.copied);
        if written > 0 && self.requests.worker.settings.pacing == Pacing::Adaptive {
            self.streams.quic().set_less_urgent(demand == Demand::LessUrgent);
        }
    }
}

/// The bytes that one turn writes.
struct Output {
    copied: Vec<u8>,
    /// Memory of a body behind it.
    shared: Bytes,
}

impl TurnOutput for Output {
    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.copied
    }

    #[inline]
    fn add(&mut self, body: &mut Bytes, length: usize, copied: usize) {
        if length > copied {
            self.shared = body.split_to(length);
        } else {
            self.copied.extend_from_slice(&body[..length]);
            body.advance(length);
        }
    }
}

impl Output {
    /// The bytes that were written. QUIC keeps them until the client has received them: the buffer goes along where it is
    /// not mostly room.
    fn take(&mut self) -> Piece {
        let shared = std::mem::take(&mut self.shared);
        if self.copied.len() > LENT_LENGTH / 2 {
            return Piece::new(lend_buffer(std::mem::replace(&mut self.copied, take_lent_buffer())), shared);
        }
        let beginning = Bytes::copy_from_slice(&self.copied);
        self.copied.clear();
        Piece::new(beginning, shared)
    }
}

/// Bytes of a turn: one less than the scheduler's, so that the length of the frame takes two bytes.
const TURN: usize = serow_streams::scheduler::TURN as usize - 1;

/// Bytes that are written before packets are sent: as many as fit into one call.
const WRITTEN_AT_ONCE: usize = 64 * 1024;

/// Batches of packets of one connection after which others have their turn.
const BATCHES_IN_TURN: usize = 8;
