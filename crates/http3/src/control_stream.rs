//! The peer's control stream (RFC 9114 §6.2.1): frames that concern all of the connection.

use alloc::vec::Vec;

use bytes::{Buf, Bytes};

use crate::{
    ErrorCode, ProtocolError, Settings, StreamId,
    connection::{Connection, Peer, too_much, unexpected},
    frame::{FrameHeader, HeaderReader, Kind},
    received_event::ReceivedEvent,
    varint,
};

/// Where in it we are.
#[derive(Debug, Default)]
pub(crate) struct ControlStream {
    reader: HeaderReader,
    /// The frame whose payload comes.
    frame: Option<Open>,
    /// The received part of a payload that must be seen whole.
    payload: Vec<u8>,
}

/// A frame that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    kind: Kind,
    /// Bytes that are still to come.
    left: u64,
    /// Whether they mean something here.
    is_known: bool,
}

impl Connection {
    /// Takes in what was received on it.
    pub(crate) fn receive_control(&mut self, mut data: Bytes) -> Result<(), ProtocolError> {
        loop {
            let Some(frame) = &mut self.control_stream.frame else {
                let Some(header) = self.control_stream.reader.take(&mut data) else { return Ok(()) };
                self.begin_control_frame(header)?;
                continue;
            };
            let taken = usize::try_from(frame.left).unwrap_or(usize::MAX).min(data.len());
            frame.left -= taken as u64;
            let Open { kind, left, is_known } = *frame;
            if is_known {
                self.control_stream.payload.extend_from_slice(&data[..taken]);
            }
            data.advance(taken);
            if left > 0 {
                return Ok(());
            }
            self.control_stream.frame = None;
            let payload = core::mem::take(&mut self.control_stream.payload);
            self.handle_control_frame(kind, &payload)?;
            // The room serves the next frame.
            if payload.capacity() <= KEPT {
                self.control_stream.payload = payload;
                self.control_stream.payload.clear();
            }
        }
    }

    /// Whether the frame may stand there.
    fn begin_control_frame(&mut self, header: FrameHeader) -> Result<(), ProtocolError> {
        let FrameHeader { kind, length } = header;
        // RFC 9114 §6.2.1.
        if self.allowed.is_none() && kind != Kind::SETTINGS {
            return Err(ProtocolError::new(ErrorCode::MISSING_SETTINGS, "the first frame is not SETTINGS"));
        }
        self.calm()?;
        let is_known = match (kind, self.peer) {
            // RFC 9114 §7.2.4.
            (Kind::SETTINGS, _) if self.allowed.is_some() => return Err(unexpected("SETTINGS come twice")),
            (Kind::SETTINGS | Kind::GOAWAY | Kind::CANCEL_PUSH, _)
            | (Kind::MAX_PUSH_ID | Kind::PRIORITY_UPDATE | Kind::PRIORITY_UPDATE_OF_PUSH, Peer::Client) => true,
            // RFC 9114 §7.2.1, §7.2.2, §7.2.5.
            (Kind::DATA | Kind::HEADERS | Kind::PUSH_PROMISE, _) => {
                return Err(unexpected("a frame of messages on the control stream"));
            }
            // RFC 9114 §7.2.7, RFC 9218 §7.2.
            (Kind::MAX_PUSH_ID | Kind::PRIORITY_UPDATE | Kind::PRIORITY_UPDATE_OF_PUSH, Peer::Server) => {
                return Err(unexpected("a frame that a server must not send"));
            }
            _ if kind.is_of_http2_only() => return Err(unexpected("a frame of HTTP/2")),
            _ => false,
        };
        // Those of one number have eight bytes at most; a priority some dozens.
        if is_known && length > MAX_PAYLOAD {
            return Err(too_much("a frame on the control stream is too large"));
        }
        self.control_stream.frame = Some(Open { kind, left: length, is_known });
        Ok(())
    }

    fn handle_control_frame(&mut self, kind: Kind, payload: &[u8]) -> Result<(), ProtocolError> {
        match kind {
            Kind::SETTINGS => {
                let settings = Settings::parse(payload)?;
                self.allowed = Some(settings);
                let number = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
                self.encoder
                    .set_limits(number(settings.qpack_max_table_capacity), number(settings.qpack_blocked_streams));
                Ok(())
            }
            Kind::GOAWAY => self.handle_go_away(one_number(payload)?),
            Kind::MAX_PUSH_ID => {
                // RFC 9114 §7.2.7.
                let most = one_number(payload)?;
                if self.max_push.is_some_and(|before| most < before) {
                    return Err(wrong_number("MAX_PUSH_ID became less"));
                }
                self.max_push = Some(most);
                Ok(())
            }
            // RFC 9114 §7.2.3: nobody has promised a push, or allowed one.
            Kind::CANCEL_PUSH => {
                one_number(payload)?;
                Err(wrong_number("CANCEL_PUSH of a push that was never promised"))
            }
            Kind::PRIORITY_UPDATE => {
                let (stream, length) = varint::read(payload).ok_or(LENGTH)?;
                let value = payload.get(length..).unwrap_or_default();
                self.handle_priority_update(StreamId::of_quic(stream), value)
            }
            // RFC 9218 §7.2.
            Kind::PRIORITY_UPDATE_OF_PUSH => {
                varint::read(payload).ok_or(LENGTH)?;
                Err(wrong_number("PRIORITY_UPDATE for a push that was never promised"))
            }
            _ => Ok(()),
        }
    }

    /// RFC 9114 §5.2, §7.2.6: a server's names a request, a client's a push.
    fn handle_go_away(&mut self, number: u64) -> Result<(), ProtocolError> {
        if self.peer == Peer::Server && number & 3 != 0 {
            return Err(wrong_number("GOAWAY with a stream that is none of requests"));
        }
        if self.peer_go_away.is_some_and(|before| number > before) {
            return Err(wrong_number("GOAWAY with a larger number than before"));
        }
        if self.peer_go_away.replace(number).is_none() {
            self.received_events.push(ReceivedEvent::GoAway);
        }
        if self.peer == Peer::Server {
            self.refuse_from(StreamId::of_quic(number));
        }
        Ok(())
    }
}

/// The number that is all of a payload (RFC 9114 §7.1).
fn one_number(payload: &[u8]) -> Result<u64, ProtocolError> {
    match varint::read(payload) {
        Some((number, length)) if length == payload.len() => Ok(number),
        _ => Err(LENGTH),
    }
}

pub(crate) const fn wrong_number(reason: &'static str) -> ProtocolError {
    ProtocolError::new(ErrorCode::ID_ERROR, reason)
}

const LENGTH: ProtocolError = ProtocolError::new(ErrorCode::FRAME_ERROR, "a frame is not as long as its content");

/// Bytes of a frame here: 200 settings at least.
const MAX_PAYLOAD: u64 = 4096;

/// Bytes whose room is kept.
const KEPT: usize = 64;
