//! Field blocks (RFC 9113 §4.3), written: HEADERS, and CONTINUATION for what the peer does not take in one frame.
//!
//! How long a block is, is known when it is encoded. It is encoded into the output, behind room for a header that is
//! filled in afterwards; only a block that must be split is moved.

use alloc::vec::Vec;

use super::{Dependency, FrameHeader, Kind, flags};
use crate::StreamId;

/// Where HEADERS begin in the output.
#[derive(Debug)]
#[must_use = "a frame that has begun must be finished"]
pub struct Start {
    place: usize,
    flags: u8,
}

/// Begins HEADERS: the caller appends the field block, and nothing else, and calls [`finish_headers`].
#[inline]
pub fn begin_headers(output: &mut Vec<u8>) -> Start {
    let start = Start { place: output.len(), flags: 0 };
    output.extend_from_slice(&[0; FrameHeader::LENGTH]);
    start
}

/// As [`begin_headers`], with the priority that servers knew before RFC 9218 (RFC 7540 §6.2). A weight out of range
/// counts as the nearest one.
pub fn begin_dependent_headers(dependency: Dependency, output: &mut Vec<u8>) -> Start {
    let start = Start { flags: flags::PRIORITY, ..begin_headers(output) };
    let exclusive = u32::from(dependency.exclusive) << 31;
    output.extend_from_slice(&(dependency.on.bits() | exclusive).to_be_bytes());
    output.push((dependency.weight.clamp(1, 256) - 1) as u8);
    start
}

/// Finishes HEADERS, whose block stands at the end of the output now. `largest` is the peer's SETTINGS_MAX_FRAME_SIZE.
///
/// ```
/// use serow_http2::{StreamId, frame};
///
/// let mut output = Vec::new();
/// let start = frame::begin_headers(&mut output);
/// output.push(0x88); // :status 200, in HPACK
/// frame::finish_headers(start, StreamId::new(1), true, 16_384, &mut output);
/// assert_eq!(output, b"\0\0\x01\x01\x05\0\0\0\x01\x88");
/// ```
#[inline]
pub fn finish_headers(start: Start, stream: StreamId, end_stream: bool, largest: usize, output: &mut Vec<u8>) {
    let Start { place: start, flags } = start;
    let length = output.len() - start - FrameHeader::LENGTH;
    let flags = if end_stream { flags | flags::END_STREAM } else { flags };
    let mut header = FrameHeader { length, kind: Kind::HEADERS, flags: flags | flags::END_HEADERS, stream };
    if length > largest {
        split(start + FrameHeader::LENGTH, stream, largest, output);
        header.length = largest;
        header.flags = flags;
    }
    output[start..start + FrameHeader::LENGTH].copy_from_slice(&header.bytes());
}

/// Makes CONTINUATION of all of the block but its first `largest` bytes.
#[cold]
fn split(block: usize, stream: StreamId, largest: usize, output: &mut Vec<u8>) {
    let length = output.len() - block;
    let last = (length - 1) / largest;
    output.resize(output.len() + last * FrameHeader::LENGTH, 0);
    // From the back, so that nothing is overwritten before it has moved.
    for number in (1..=last).rev() {
        let from = block + number * largest;
        let until = (from + largest).min(block + length);
        let to = from + number * FrameHeader::LENGTH;
        output.copy_within(from..until, to);
        let flags = if number == last { flags::END_HEADERS } else { 0 };
        let header = FrameHeader { length: until - from, kind: Kind::CONTINUATION, flags, stream };
        output[to - FrameHeader::LENGTH..to].copy_from_slice(&header.bytes());
    }
}
