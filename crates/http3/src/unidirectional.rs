//! The peer's unidirectional streams (RFC 9114 §6.2).

use alloc::{collections::VecDeque, vec::Vec};

use bytes::Bytes;

use crate::{
    ErrorCode, ProtocolError, StreamId, StreamOrder,
    connection::{Connection, Peer, too_much},
    own_streams::CLOSED,
    varint::PartialInteger,
};

/// Those that are open.
#[derive(Debug, Default)]
pub(crate) struct Unidirectional {
    /// Streams whose type has not come whole, and the three that are needed.
    open: Vec<(StreamId, Incoming)>,
    /// Those that we asked the peer to stop, the latest last: bytes that still come of them mean nothing.
    stopped: VecDeque<StreamId>,
}

/// The use of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Incoming {
    /// Its type has not come whole.
    Typeless(PartialInteger),
    /// RFC 9114 §6.2.1.
    Control,
    /// RFC 9204 §4.2: the instructions of the peer's encoder.
    QpackEncoder,
    /// RFC 9204 §4.2: the instructions of the peer's decoder.
    QpackDecoder,
}

impl Unidirectional {
    fn place(&self, id: StreamId) -> Option<usize> {
        self.open.iter().position(|(open, _)| *open == id)
    }

    /// The stream has ended, or was reset (RFC 9114 §6.2: one without a type may).
    pub(crate) fn end(&mut self, id: StreamId) -> Result<(), ProtocolError> {
        self.stopped.retain(|stopped| *stopped != id);
        let Some(place) = self.place(id) else { return Ok(()) };
        if !matches!(self.open[place].1, Incoming::Typeless(_)) {
            return Err(CLOSED);
        }
        self.open.swap_remove(place);
        Ok(())
    }

    /// Remembers that the peer was asked to stop.
    fn note_stopped(&mut self, id: StreamId) {
        if self.stopped.len() >= REMEMBERED {
            self.stopped.pop_front();
        }
        self.stopped.push_back(id);
    }
}

impl Connection {
    /// Takes in what was received on one of the peer's.
    pub(crate) fn receive_unidirectional(
        &mut self,
        id: StreamId,
        mut data: Bytes,
        fin: bool,
    ) -> Result<(), ProtocolError> {
        if self.unidirectional.stopped.contains(&id) {
            return if fin { self.unidirectional.end(id) } else { Ok(()) };
        }
        let place = match self.unidirectional.place(id) {
            Some(place) => place,
            None => self.open_unidirectional(id)?,
        };
        let Some((_, incoming)) = self.unidirectional.open.get_mut(place) else { return Ok(()) };
        if let Incoming::Typeless(partial) = incoming
            && let Some(kind) = partial.take(&mut data)
        {
            self.begin_unidirectional(place, id, kind)?;
        }
        match self.unidirectional.open.get(place).filter(|(open, _)| *open == id) {
            Some((_, Incoming::Control)) => self.receive_control(data)?,
            Some((_, Incoming::QpackEncoder)) => self.receive_entries(&data)?,
            Some((_, Incoming::QpackDecoder)) => self
                .encoder
                .receive(&data)
                .map_err(|error| ProtocolError::new(ErrorCode::QPACK_DECODER_STREAM_ERROR, error.reason()))?,
            Some((_, Incoming::Typeless(_))) | None => {}
        }
        if fin { self.unidirectional.end(id) } else { Ok(()) }
    }

    /// A new one; gives its place.
    fn open_unidirectional(&mut self, id: StreamId) -> Result<usize, ProtocolError> {
        self.calm()?;
        let open = &mut self.unidirectional.open;
        if open.len() >= MAX_OPEN {
            return Err(too_much("too many unidirectional streams without a type"));
        }
        open.push((id, Incoming::Typeless(PartialInteger::default())));
        Ok(open.len() - 1)
    }

    /// Its type has come.
    fn begin_unidirectional(&mut self, place: usize, id: StreamId, kind: u64) -> Result<(), ProtocolError> {
        let incoming = match (kind, self.peer) {
            (CONTROL, _) => Incoming::Control,
            (QPACK_ENCODER, _) => Incoming::QpackEncoder,
            (QPACK_DECODER, _) => Incoming::QpackDecoder,
            // RFC 9114 §6.2.2.
            (PUSH, Peer::Client) => return Err(refused("a push stream of a client")),
            // RFC 9114 §4.6: nobody allowed one.
            (PUSH, Peer::Server) => {
                return Err(ProtocolError::new(ErrorCode::ID_ERROR, "a push that was not allowed"));
            }
            // RFC 9114 §6.2.3, §9: unknown types, and reserved ones.
            _ => {
                self.unidirectional.open.swap_remove(place);
                self.unidirectional.note_stopped(id);
                self.orders.push_back(StreamOrder::Stop { stream: id, code: ErrorCode::STREAM_CREATION_ERROR });
                return Ok(());
            }
        };
        // RFC 9114 §6.2.1, RFC 9204 §4.2.
        if self.unidirectional.open.iter().any(|(_, open)| *open == incoming) {
            return Err(refused("a second control stream, or QPACK stream, of one kind"));
        }
        self.unidirectional.open[place].1 = incoming;
        Ok(())
    }

    /// Instructions of the peer's encoder: streams may wait for them.
    fn receive_entries(&mut self, data: &[u8]) -> Result<(), ProtocolError> {
        self.decoder
            .receive(data)
            .map_err(|error| ProtocolError::new(ErrorCode::QPACK_ENCODER_STREAM_ERROR, error.reason()))?;
        let count = self.decoder.insert_count();
        while let Some(place) = self.blocked.iter().position(|(_, required)| *required <= count) {
            let (id, _) = self.blocked.remove(place);
            self.unblock(id)?;
        }
        Ok(())
    }
}

const fn refused(reason: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorCode::STREAM_CREATION_ERROR, reason)
}

/// RFC 9114 §6.2.1.
pub(crate) const CONTROL: u64 = 0x0;
/// RFC 9114 §6.2.2.
const PUSH: u64 = 0x1;
/// RFC 9204 §4.2.
pub(crate) const QPACK_ENCODER: u64 = 0x2;
/// RFC 9204 §4.2.
pub(crate) const QPACK_DECODER: u64 = 0x3;

/// Streams whose type does not come. A peer needs three; those of unknown types go as soon as their type is known.
const MAX_OPEN: usize = 64;

/// Streams that we asked the peer to stop and that have not ended. The driver need not say what still comes of them.
const REMEMBERED: usize = 64;
