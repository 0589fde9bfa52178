//! The payloads of the kinds of frames (RFC 9113 §6), received. Each function takes the payload of a whole frame from
//! the front of the input.

use bytes::{Buf, Bytes, BytesMut};

use super::{Dependency, Frame, FrameHeader, Kind, flags, refused};
use crate::{ErrorCode, ProtocolError, SettingsUpdate, StreamId};

/// RFC 9113 §6.1.
#[inline]
pub(super) fn take_data(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_stream(header)?;
    let mut data = take_bytes(header, input);
    let length = data.len();
    if header.has(flags::PADDED) {
        data = data.slice_ref(without_padding(&data)?);
    }
    let padding = length - data.len();
    Ok(Frame::Data { stream: header.stream, data, end_stream: header.has(flags::END_STREAM), padding })
}

/// The contents of HEADERS beside the field block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadersStart {
    pub(crate) stream: StreamId,
    pub(crate) end_stream: bool,
    pub(crate) dependency: Option<Dependency>,
}

/// RFC 9113 §6.2.
pub(super) fn take_headers(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    let payload = take_bytes(header, input);
    let (HeadersStart { stream, end_stream, dependency }, block) = read_headers(header, &payload)?;
    Ok(Frame::Headers {
        stream,
        block: payload.slice_ref(block),
        end_stream,
        end_headers: header.has(flags::END_HEADERS),
        priority: dependency,
    })
}

/// The same, with the field block as it stands in the payload.
#[inline]
pub(crate) fn read_headers(header: FrameHeader, payload: &[u8]) -> Result<(HeadersStart, &[u8]), ProtocolError> {
    needs_stream(header)?;
    let mut block = payload;
    if header.has(flags::PADDED) {
        block = without_padding(block)?;
    }
    let dependency = if header.has(flags::PRIORITY) { Some(split_dependency(&mut block)?) } else { None };
    Ok((HeadersStart { stream: header.stream, end_stream: header.has(flags::END_STREAM), dependency }, block))
}

/// Any other kind.
pub(super) fn take_other(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    match header.kind {
        Kind::PRIORITY => take_priority(header, input),
        Kind::RST_STREAM => take_reset_stream(header, input),
        Kind::SETTINGS => take_settings(header, input),
        Kind::PUSH_PROMISE => take_push_promise(header, input),
        Kind::PING => take_ping(header, input),
        Kind::GOAWAY => take_go_away(header, input),
        Kind::WINDOW_UPDATE => take_window_update(header, input),
        Kind::CONTINUATION => take_continuation(header, input),
        Kind::PRIORITY_UPDATE => take_priority_update(header, input),
        kind => {
            input.advance(header.length);
            Ok(Frame::Unknown { kind, stream: header.stream, flags: header.flags, length: header.length })
        }
    }
}

/// RFC 9113 §6.3: a wrong length reaches the stream only.
fn take_priority(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_stream(header)?;
    let mut payload = take_bytes(header, input);
    if payload.len() != DEPENDENCY_LENGTH {
        return Err(ProtocolError::Stream {
            stream: header.stream,
            code: ErrorCode::FRAME_SIZE_ERROR,
            reason: "PRIORITY of a wrong length",
        });
    }
    Ok(Frame::Priority { stream: header.stream, dependency: split_dependency(&mut payload)? })
}

/// RFC 9113 §6.4.
fn take_reset_stream(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_stream(header)?;
    let code = u32::from_be_bytes(take_array(header, input)?);
    Ok(Frame::ResetStream { stream: header.stream, code: ErrorCode(code) })
}

/// RFC 9113 §6.5.
fn take_settings(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_connection(header)?;
    if header.has(flags::ACK) {
        let [] = take_array(header, input)?;
        return Ok(Frame::SettingsAck);
    }
    match SettingsUpdate::new(take_bytes(header, input)) {
        Some(settings) => Ok(Frame::Settings { settings }),
        None => Err(refused(ErrorCode::FRAME_SIZE_ERROR, "SETTINGS of a wrong length")),
    }
}

/// RFC 9113 §6.6.
fn take_push_promise(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_stream(header)?;
    let mut block = take_bytes(header, input);
    if header.has(flags::PADDED) {
        block = block.slice_ref(without_padding(&block)?);
    }
    let promised = StreamId::new(split_number(&mut block)?);
    // RFC 9113 §5.1.1, §6.6: a number that a server cannot open is illegal.
    if promised.is_connection() || promised.is_of_client() {
        return Err(refused(ErrorCode::PROTOCOL_ERROR, "PUSH_PROMISE of a stream that is not a server's"));
    }
    Ok(Frame::PushPromise { stream: header.stream, promised, block, end_headers: header.has(flags::END_HEADERS) })
}

/// RFC 9113 §6.7.
fn take_ping(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_connection(header)?;
    Ok(Frame::Ping { payload: take_array(header, input)?, ack: header.has(flags::ACK) })
}

/// RFC 9113 §6.8.
fn take_go_away(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_connection(header)?;
    let mut debug = take_bytes(header, input);
    let last_stream = StreamId::new(split_number(&mut debug)?);
    let code = ErrorCode(split_number(&mut debug)?);
    Ok(Frame::GoAway { last_stream, code, debug })
}

/// RFC 9113 §6.9.
fn take_window_update(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    // The first bit is reserved, as in the number of a stream.
    let increment = StreamId::new(u32::from_be_bytes(take_array(header, input)?)).bits();
    let (code, reason) = (ErrorCode::PROTOCOL_ERROR, "WINDOW_UPDATE by nothing");
    match header.stream {
        stream if increment != 0 => Ok(Frame::WindowUpdate { stream, increment }),
        StreamId::CONNECTION => Err(refused(code, reason)),
        stream => Err(ProtocolError::Stream { stream, code, reason }),
    }
}

/// RFC 9113 §6.10.
fn take_continuation(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_stream(header)?;
    let block = take_bytes(header, input);
    Ok(Frame::Continuation { stream: header.stream, block, end_headers: header.has(flags::END_HEADERS) })
}

/// RFC 9218 §7.1.
fn take_priority_update(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    needs_connection(header)?;
    let mut value = take_bytes(header, input);
    let stream = StreamId::new(split_number(&mut value)?);
    if stream.is_connection() {
        return Err(refused(ErrorCode::PROTOCOL_ERROR, "PRIORITY_UPDATE for stream 0"));
    }
    Ok(Frame::PriorityUpdate { stream, value })
}

#[inline]
fn needs_stream(header: FrameHeader) -> Result<(), ProtocolError> {
    if header.stream.is_connection() {
        return Err(refused(ErrorCode::PROTOCOL_ERROR, "a stream's frame on stream 0"));
    }
    Ok(())
}

fn needs_connection(header: FrameHeader) -> Result<(), ProtocolError> {
    if !header.stream.is_connection() {
        return Err(refused(ErrorCode::PROTOCOL_ERROR, "a connection's frame on a stream"));
    }
    Ok(())
}

/// Takes a payload as a slice of the input.
#[inline]
fn take_bytes(header: FrameHeader, input: &mut BytesMut) -> Bytes {
    // An empty slice would keep the buffer.
    if header.length == 0 { Bytes::new() } else { input.split_to(header.length).freeze() }
}

/// Takes a payload that has one length only.
fn take_array<const N: usize>(header: FrameHeader, input: &mut BytesMut) -> Result<[u8; N], ProtocolError> {
    match input[..header.length].try_into() {
        Ok(payload) => {
            input.advance(N);
            Ok(payload)
        }
        Err(_) => Err(refused(ErrorCode::FRAME_SIZE_ERROR, "a frame whose length is not its kind's")),
    }
}

/// The bytes between the field Pad Length and the padding (RFC 9113 §6.1).
#[inline]
fn without_padding(payload: &[u8]) -> Result<&[u8], ProtocolError> {
    let (&padding, rest) = payload.split_first().ok_or(TOO_SHORT)?;
    let length = rest.len().checked_sub(usize::from(padding));
    length
        .and_then(|length| rest.get(..length))
        .ok_or(refused(ErrorCode::PROTOCOL_ERROR, "padding longer than its frame"))
}

/// Takes RFC 7540's priority from the front (RFC 9113 §6.3).
fn split_dependency(payload: &mut impl Buf) -> Result<Dependency, ProtocolError> {
    let bits = split_number(payload)?;
    let weight = payload.try_get_u8().map_err(|_| TOO_SHORT)?;
    Ok(Dependency { on: StreamId::new(bits), weight: u16::from(weight) + 1, exclusive: bits >> 31 == 1 })
}

/// Takes 32 bits from the front.
fn split_number(payload: &mut impl Buf) -> Result<u32, ProtocolError> {
    payload.try_get_u32().map_err(|_| TOO_SHORT)
}

/// RFC 9113 §4.2. In all frames of a stream except DATA this error must end the connection, as they carry field blocks;
/// in DATA it may.
const TOO_SHORT: ProtocolError = refused(ErrorCode::FRAME_SIZE_ERROR, "a frame too short for what it must hold");

/// A stream and a weight (RFC 9113 §6.3).
const DEPENDENCY_LENGTH: usize = 5;
