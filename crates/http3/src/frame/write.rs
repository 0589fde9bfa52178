//! Frames, written.

use alloc::vec::Vec;

use bytes::BytesMut;

use super::{FrameHeader, Kind};
use crate::{StreamId, varint};

/// Bytes that are left free before a field section, for the header of its frame: a section of less than 16 KiB is not moved
/// then.
pub const HEADERS_ROOM: usize = 3;

/// Makes HEADERS (RFC 9114 §7.2.2) of the field section that stands at the end of the output, behind
/// [`HEADERS_ROOM`] bytes that begin at `start`.
///
/// ```
/// use serow_http3::frame::{HEADERS_ROOM, finish_headers};
///
/// let mut output = vec![0; HEADERS_ROOM];
/// output.extend_from_slice(&[0, 0, 0xd9]); // :status 200, in QPACK
/// finish_headers(0, &mut output);
/// assert_eq!(output, [1, 0x40, 3, 0, 0, 0xd9]);
/// ```
pub fn finish_headers(start: usize, output: &mut Vec<u8>) {
    let section = start + HEADERS_ROOM;
    let length = output.len().saturating_sub(section);
    if let Ok(length) = u16::try_from(length)
        && length < TWO_BYTES
    {
        // RFC 9000 §16: a length may take more bytes than it needs.
        let [high, low] = (length | TWO_BYTES).to_be_bytes();
        output[start..section].copy_from_slice(&[Kind::HEADERS.0 as u8, high, low]);
        return;
    }
    let mut header = Vec::new();
    FrameHeader { kind: Kind::HEADERS, length: length as u64 }.write(&mut header);
    output.splice(start..section, header);
}

/// Appends GOAWAY (RFC 9114 §7.2.6).
pub fn write_go_away(number: u64, output: &mut BytesMut) {
    FrameHeader { kind: Kind::GOAWAY, length: varint::length(number) as u64 }.write(output);
    varint::write(number, output);
}

/// Appends PRIORITY_UPDATE for a request (RFC 9218 §7.2).
pub fn write_priority_update(stream: StreamId, value: &[u8], output: &mut BytesMut) {
    let length = varint::length(stream.get()) + value.len();
    FrameHeader { kind: Kind::PRIORITY_UPDATE, length: length as u64 }.write(output);
    varint::write(stream.get(), output);
    output.extend_from_slice(value);
}

/// Of the two bits that say that an integer has two bytes (RFC 9000 §16).
const TWO_BYTES: u16 = 0x4000;
