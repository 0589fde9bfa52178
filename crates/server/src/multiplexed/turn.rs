//! One turn of a response: the part of it that is sent now.

use std::{future::Future, pin::pin, task::Context};

use bytes::{Buf, Bytes};
use serow_message::{FileRange, Handler, Request, Response, UsageError};
use serow_streams::{Follows, StreamId, Turn};
use tokio::task::yield_now;

use super::{
    Machine, Multiplexed,
    exchange::{Exchange, ResponseStage},
};

/// Where a turn is written to.
pub(crate) trait TurnOutput {
    /// For what has to be copied, such as heads: in front of what [`Self::add`] adds.
    fn buffer(&mut self) -> &mut Vec<u8>;

    /// Takes the first bytes of a body, as memory that is shared with it if they are more than `copied` bytes and that is
    /// possible. At most once in a turn; nothing is written to the buffer afterwards.
    fn add(&mut self, body: &mut Bytes, length: usize, copied: usize);
}

impl TurnOutput for Vec<u8> {
    #[inline]
    fn buffer(&mut self) -> &mut Vec<u8> {
        self
    }

    #[inline]
    fn add(&mut self, body: &mut Bytes, length: usize, _: usize) {
        self.extend_from_slice(&body[..length]);
        body.advance(length);
    }
}

impl<M, H, C, F> Multiplexed<M, H, C, F>
where
    M: Machine,
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Writes the part of a response whose turn it is to the output; returns what follows on its stream.
    pub(crate) fn take_turn(&mut self, turn: Turn, output: &mut impl TurnOutput) -> Follows {
        self.follows = Follows::More;
        self.write_turn(turn, output);
        self.follows
    }

    fn write_turn(&mut self, turn: Turn, output: &mut impl TurnOutput) {
        let Turn { stream, head, bytes } = turn;
        let index = self.exchanges.find(stream);
        index.inspect(|index| self.note_priority(*index));
        let before = output.buffer().len();
        if head {
            let date = self.worker.clock.date_value();
            // The machine said that it is its turn.
            self.follows = self.machine.write_head(stream, &date, output.buffer()).unwrap_or(Follows::More);
        }
        let Some(index) = index else { return };
        let Some(exchange) = self.exchanges.get(index) else { return };
        exchange.sent.head_bytes += (output.buffer().len() - before) as u64;
        match &mut exchange.stage {
            ResponseStage::Bytes(rest) => {
                let length = rest.len().min(bytes);
                let end = length == rest.len();
                match self.machine.begin_data(stream, length, end, output.buffer()) {
                    Ok(follows) => self.follows = follows,
                    Err(misuse) => return self.break_off(index, misuse),
                }
                output.add(rest, length, COPIED);
                exchange.note_sent(length, &self.worker);
                if end {
                    self.answered(index);
                }
            }
            ResponseStage::File(_) => self.send_file(index, stream, bytes, output.buffer()),
            ResponseStage::Stream(_) => self.send_piece(index, stream, bytes, output),
            ResponseStage::Tunnel(_) => self.send_tunnelled(index, stream, bytes, output.buffer()),
            ResponseStage::Head => self.answered(index),
            ResponseStage::Handling | ResponseStage::Answered => self.machine.set_ready(stream, false),
        }
    }

    /// Reads a piece of a file straight into the output.
    fn send_file(&mut self, index: usize, stream: StreamId, bytes: usize, output: &mut Vec<u8>) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        let ResponseStage::File(range) = &mut exchange.stage else { return };
        match read_frame(range, bytes, M::DATA_HEADER, output) {
            Ok(length) => {
                let end = range.length == 0;
                let data = output.len() - length;
                let mut header = Vec::with_capacity(M::DATA_HEADER);
                match self.machine.begin_data(stream, length, end, &mut header) {
                    Ok(follows) => self.follows = follows,
                    Err(misuse) => {
                        output.truncate(data - M::DATA_HEADER);
                        return self.break_off(index, misuse);
                    }
                }
                // Nothing where the windows are shut; frames that go first, too, where some have come up meanwhile.
                output.splice(data - M::DATA_HEADER..data, header);
                exchange.note_sent(length, &self.worker);
                if end {
                    self.answered(index);
                }
            }
            Err(error) => {
                tracing::warn!(peer = %self.connection.peer(), %error, "a response could not be finished");
                self.give_up(index, M::INTERNAL_ERROR);
            }
        }
    }

    /// Sends the next piece of a streamed body.
    fn send_piece(&mut self, index: usize, stream: StreamId, bytes: usize, output: &mut impl TurnOutput) {
        if bytes > 0 && !self.take_piece(index) {
            return;
        }
        let Some(exchange) = self.exchanges.get(index) else { return };
        let ResponseStage::Stream(streaming) = &mut exchange.stage else { return };
        let length = streaming.piece.len().min(bytes);
        let is_last_piece = length == streaming.piece.len();
        let end = is_last_piece && streaming.is_whole();
        let written = match &streaming.end {
            Some(Some(trailers)) if is_last_piece => {
                let data = streaming.piece.split_to(length);
                self.machine
                    .write_data(stream, &data, false, output.buffer())
                    .and_then(|_| self.machine.write_trailers(stream, trailers, output.buffer()))
            }
            // More than was announced.
            _ if !is_last_piece && self.machine.has_sent_length(stream) => Err(UsageError::TooManyBytes),
            _ if length == 0 && !end => Ok(Follows::More),
            _ => self
                .machine
                .begin_data(stream, length, end, output.buffer())
                .inspect(|_| output.add(&mut streaming.piece, length, PIECE_COPIED)),
        };
        match written {
            Ok(follows) => self.follows = follows,
            Err(misuse) => return self.break_off(index, misuse),
        }
        exchange.note_sent(length, &self.worker);
        if end {
            self.answered(index);
        } else if is_last_piece {
            self.machine.set_ready(stream, false);
            self.poll_exchange(index);
        }
    }

    /// Polls a streamed body whose last piece was sent; returns whether there is something to send now.
    fn take_piece(&mut self, index: usize) -> bool {
        let lacks_piece =
            |exchange: &Exchange| matches!(&exchange.stage, ResponseStage::Stream(body) if body.lacks_piece());
        loop {
            let Some(place) = self.exchanges.place(index) else { return false };
            if !place.exchange.as_ref().is_some_and(lacks_piece) {
                return true;
            }
            let waker = place.waker.clone();
            let mut context = Context::from_waker(&waker);
            self.poll_piece(index, &mut context);
            // It may be made of the request's body, which is then to be handed over in this task.
            if self.exchanges.get(index).is_some_and(|exchange| lacks_piece(exchange))
                && !self.forward_body(index, &mut context)
            {
                return false;
            }
        }
    }

    /// All of the response has been written.
    pub(super) fn answered(&mut self, index: usize) {
        let Some(exchange) = self.exchanges.get(index) else { return };
        exchange.stage = ResponseStage::Answered;
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
        if let Some(mut exchange) = self.exchanges.remove(index) {
            self.log(&mut exchange, true);
        }
    }

    /// The handler's body is not as long as announced.
    fn break_off(&mut self, index: usize, misuse: UsageError) {
        tracing::warn!(peer = %self.connection.peer(), error = %misuse, "a response could not be finished");
        self.give_up(index, M::INTERNAL_ERROR);
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
pub(crate) fn give_way(context: &mut Context<'_>) {
    let _ = pin!(yield_now()).poll(context);
}

/// Reads the next piece of a file behind room for a frame's header; returns its length.
fn read_frame(range: &mut FileRange, most: usize, header: usize, output: &mut Vec<u8>) -> std::io::Result<usize> {
    let before = output.len();
    output.resize(before + header, 0);
    range.read_into(output, most).inspect_err(|_| output.truncate(before))
}

/// Bytes of a whole body whose copy costs less than to keep track of another piece of memory.
const COPIED: usize = 2048;

/// The same for pieces of streams. They may be slices of buffers of 16 KiB, which a client that receives nothing must not
/// make us keep for a few bytes each.
const PIECE_COPIED: usize = 8 * 1024;
