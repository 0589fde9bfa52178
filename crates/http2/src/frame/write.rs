//! Frames of one piece, written: each function appends to the output. Field blocks are in `field_block`.

use alloc::vec::Vec;

use super::{FrameHeader, Kind, flags};
use crate::{ErrorCode, StreamId};

/// The header of DATA; the data themselves may go another way.
#[inline]
pub fn write_data_header(stream: StreamId, length: usize, end_stream: bool, output: &mut Vec<u8>) {
    let flags = if end_stream { flags::END_STREAM } else { 0 };
    FrameHeader { length, kind: Kind::DATA, flags, stream }.write(output);
}

/// RST_STREAM (RFC 9113 §6.4).
pub fn write_reset_stream(stream: StreamId, code: ErrorCode, output: &mut Vec<u8>) {
    FrameHeader { length: 4, kind: Kind::RST_STREAM, flags: 0, stream }.write(output);
    output.extend_from_slice(&code.0.to_be_bytes());
}

/// The answer to SETTINGS (RFC 9113 §6.5.3). SETTINGS themselves: [`Settings::write`](crate::Settings::write).
pub fn write_settings_ack(output: &mut Vec<u8>) {
    FrameHeader { length: 0, kind: Kind::SETTINGS, flags: flags::ACK, stream: StreamId::CONNECTION }.write(output);
}

/// PING, or the answer to one (RFC 9113 §6.7).
pub fn write_ping(payload: [u8; 8], ack: bool, output: &mut Vec<u8>) {
    let flags = if ack { flags::ACK } else { 0 };
    FrameHeader { length: payload.len(), kind: Kind::PING, flags, stream: StreamId::CONNECTION }.write(output);
    output.extend_from_slice(&payload);
}

/// GOAWAY (RFC 9113 §6.8). Debug data must fit a frame of 16,384 bytes with eight others.
pub fn write_go_away(last_stream: StreamId, code: ErrorCode, debug: &[u8], output: &mut Vec<u8>) {
    let length = 8 + debug.len();
    FrameHeader { length, kind: Kind::GOAWAY, flags: 0, stream: StreamId::CONNECTION }.write(output);
    output.extend_from_slice(&last_stream.bits().to_be_bytes());
    output.extend_from_slice(&code.0.to_be_bytes());
    output.extend_from_slice(debug);
}

/// WINDOW_UPDATE (RFC 9113 §6.9); the increment is 1 to 2^31 - 1.
pub fn write_window_update(stream: StreamId, increment: u32, output: &mut Vec<u8>) {
    debug_assert!(increment != 0 && increment >> 31 == 0, "an increment of {increment}");
    FrameHeader { length: 4, kind: Kind::WINDOW_UPDATE, flags: 0, stream }.write(output);
    output.extend_from_slice(&increment.to_be_bytes());
}

/// PRIORITY_UPDATE (RFC 9218 §7.1), which clients send: the priority of a stream, as a value of the field `Priority`.
pub fn write_priority_update(stream: StreamId, value: &[u8], output: &mut Vec<u8>) {
    let length = 4 + value.len();
    FrameHeader { length, kind: Kind::PRIORITY_UPDATE, flags: 0, stream: StreamId::CONNECTION }.write(output);
    output.extend_from_slice(&stream.bits().to_be_bytes());
    output.extend_from_slice(value);
}
