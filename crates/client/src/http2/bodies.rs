//! The bodies of requests on their way out, as far as they have been made.

use bytes::Bytes;
use serow_http2::{Client, ErrorCode, StreamId, Turn};
use serow_message::{BodyLength, Headers, UsageError};

/// The unsent parts of the bodies of requests: at most one piece of each.
#[derive(Default)]
pub(super) struct Bodies {
    /// In the order of their streams.
    list: Vec<OutgoingBody>,
    /// Streams whose last piece has been written.
    wanting: Vec<StreamId>,
}

struct OutgoingBody {
    stream: StreamId,
    piece: Bytes,
    /// Bytes that are to come behind the piece, where the length was announced.
    left: Option<u64>,
    ending: Ending,
}

/// The continuation of a body after a piece.
enum Ending {
    /// Another one.
    Piece,
    /// The end.
    End,
    /// The end, with these.
    Trailers(Headers),
}

impl Bodies {
    /// The body of a new stream: all of it.
    pub(super) fn push_whole(&mut self, stream: StreamId, piece: Bytes) {
        self.list.push(OutgoingBody { stream, piece, left: Some(0), ending: Ending::End });
    }

    /// The body of a new stream: all comes later.
    pub(super) fn push(&mut self, stream: StreamId, length: BodyLength) {
        let left = match length {
            BodyLength::Known(length) => Some(length),
            BodyLength::Unknown => None,
        };
        self.list.push(OutgoingBody { stream, piece: Bytes::new(), left, ending: Ending::Piece });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the next piece of this one can be taken.
    pub(super) fn wants(&self, stream: StreamId) -> bool {
        self.find(stream)
            .and_then(|place| self.list.get(place))
            .is_some_and(|body| body.piece.is_empty() && matches!(body.ending, Ending::Piece))
    }

    /// The next stream whose piece has been written since it was given.
    pub(super) fn next_wanting(&mut self) -> Option<StreamId> {
        while let Some(stream) = self.wanting.pop() {
            if self.wants(stream) {
                return Some(stream);
            }
        }
        None
    }

    /// Takes a piece.
    pub(super) fn give(&mut self, stream: StreamId, piece: Bytes) -> Result<(), UsageError> {
        let Some(body) = self.at(stream) else { return Ok(()) };
        if !body.piece.is_empty() || !matches!(body.ending, Ending::Piece) {
            return Err(UsageError::OutOfTurn);
        }
        if let Some(left) = &mut body.left {
            *left = left.checked_sub(piece.len() as u64).ok_or(UsageError::TooManyBytes)?;
        }
        body.piece = piece;
        Ok(())
    }

    /// Nothing comes behind what was given. An end that need not wait for its turn is written at once.
    pub(super) fn end(
        &mut self,
        stream: StreamId,
        trailers: Option<Headers>,
        machine: &mut Client,
        output: &mut Vec<u8>,
    ) -> Result<(), UsageError> {
        let Some(body) = self.at(stream) else { return Ok(()) };
        if !matches!(body.ending, Ending::Piece) {
            return Err(UsageError::OutOfTurn);
        }
        if body.left.is_some_and(|left| left > 0) {
            return Err(UsageError::TooFewBytes);
        }
        body.ending = trailers.map_or(Ending::End, Ending::Trailers);
        if body.piece.is_empty() {
            let turn = Turn { stream, head: false, bytes: 0 };
            self.write(turn, machine, output);
        }
        Ok(())
    }

    /// Writes what the turn allows; says how many bytes of the body that was.
    pub(super) fn write(&mut self, turn: Turn, machine: &mut Client, output: &mut Vec<u8>) -> usize {
        let Turn { stream, bytes, .. } = turn;
        let Some(place) = self.find(stream) else {
            machine.set_ready(stream, false);
            return 0;
        };
        let body = &mut self.list[place];
        let piece = body.piece.split_to(bytes.min(body.piece.len()));
        let written = match &body.ending {
            Ending::End if body.piece.is_empty() => machine.write_data(stream, &piece, true, output),
            Ending::Trailers(trailers) if body.piece.is_empty() => machine
                .write_data(stream, &piece, false, output)
                .and_then(|()| machine.write_trailers(stream, trailers, output)),
            _ => machine.write_data(stream, &piece, false, output),
        };
        let is_out = body.piece.is_empty();
        match body.ending {
            // A stream that is over takes nothing more, and needs nothing.
            _ if written == Err(UsageError::OutOfTurn) => self.remove(stream),
            _ if written.is_err() => {
                machine.reset(stream, ErrorCode::INTERNAL_ERROR);
                self.remove(stream);
            }
            Ending::Piece if is_out => {
                machine.set_ready(stream, false);
                self.wanting.push(stream);
            }
            Ending::End | Ending::Trailers(_) if is_out => self.remove(stream),
            _ => {}
        }
        piece.len()
    }

    /// The stream is over.
    pub(super) fn remove(&mut self, stream: StreamId) {
        if let Some(place) = self.find(stream) {
            self.list.remove(place);
        }
    }

    fn at(&mut self, stream: StreamId) -> Option<&mut OutgoingBody> {
        let place = self.find(stream)?;
        self.list.get_mut(place)
    }

    fn find(&self, stream: StreamId) -> Option<usize> {
        self.list.binary_search_by_key(&stream, |body| body.stream).ok()
    }
}
