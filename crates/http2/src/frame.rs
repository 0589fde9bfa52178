//! Frames (RFC 9113 §4, §6; RFC 9218 §7.1), read and written.
//!
//! This layer knows the format and what one frame alone can do wrong: lengths, stream 0, padding, values out of range.
//! The order of frames, the states of streams and the windows are the connection's.
//!
//! [`take`] gives whole frames only, DATA too. A piece of a frame would need a state here and a second kind of DATA
//! above, and gains little: a frame is at most 16,384 bytes as long as we do not allow more, so a buffer of that size
//! is all that a peer can make us hold, and a receiver waits no longer than one frame takes to arrive. Padding and the
//! end of the stream, which stand behind the data, are known when the data are given out.

mod field_block;
mod header;
mod payload;
mod write;

use bytes::{Buf, Bytes, BytesMut};

pub(crate) use self::payload::{HeadersStart, read_headers};
pub use self::{
    field_block::{Start, begin_dependent_headers, begin_headers, finish_headers},
    header::{FrameHeader, Kind, flags},
    write::{
        write_data_header, write_go_away, write_ping, write_priority_update, write_reset_stream, write_settings_ack,
        write_window_update,
    },
};
use crate::{ErrorCode, ProtocolError, SettingsUpdate, StreamId};

/// A frame that keeps the rules of its own kind. Whatever bytes it holds are a slice of the buffer they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// RFC 9113 §6.1.
    Data {
        /// Never the connection.
        stream: StreamId,
        /// Without padding.
        data: Bytes,
        /// Whether these are the stream's last.
        end_stream: bool,
        /// The bytes besides the data that count for flow control: the padding and its length byte.
        padding: usize,
    },
    /// RFC 9113 §6.2.
    Headers {
        /// Never the connection.
        stream: StreamId,
        /// The field block, or its beginning.
        block: Bytes,
        /// Whether no DATA follow.
        end_stream: bool,
        /// Whether no CONTINUATION follows.
        end_headers: bool,
        /// RFC 7540's priority of the stream, if the frame has one.
        priority: Option<Dependency>,
    },
    /// RFC 7540's priority, deprecated (RFC 9113 §6.3).
    Priority {
        /// Never the connection.
        stream: StreamId,
        /// The priority.
        dependency: Dependency,
    },
    /// RST_STREAM (RFC 9113 §6.4).
    ResetStream {
        /// Never the connection.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
    /// RFC 9113 §6.5. The values are not judged yet: [`Settings::apply`](crate::Settings::apply) does it.
    Settings {
        /// The values that the peer sets.
        settings: SettingsUpdate,
    },
    /// SETTINGS with the flag ACK (RFC 9113 §6.5.3).
    SettingsAck,
    /// RFC 9113 §6.6. An endpoint that disabled pushes refuses it.
    PushPromise {
        /// Never the connection.
        stream: StreamId,
        /// One that a server may open: even, not 0.
        promised: StreamId,
        /// The field block, or its beginning.
        block: Bytes,
        /// Whether no CONTINUATION follows.
        end_headers: bool,
    },
    /// RFC 9113 §6.7.
    Ping {
        /// Comes back as it was sent.
        payload: [u8; 8],
        /// Whether it is the answer.
        ack: bool,
    },
    /// RFC 9113 §6.8.
    GoAway {
        /// The last stream that the peer has acted on, or may.
        last_stream: StreamId,
        /// Why.
        code: ErrorCode,
        /// For people.
        debug: Bytes,
    },
    /// RFC 9113 §6.9.
    WindowUpdate {
        /// Or the connection.
        stream: StreamId,
        /// 1 to 2^31 - 1.
        increment: u32,
    },
    /// RFC 9113 §6.10.
    Continuation {
        /// Never the connection.
        stream: StreamId,
        /// More of the field block.
        block: Bytes,
        /// Whether this is the last.
        end_headers: bool,
    },
    /// RFC 9218 §7.1.
    PriorityUpdate {
        /// The stream that is given a priority; never the connection.
        stream: StreamId,
        /// A field value of `Priority`.
        value: Bytes,
    },
    /// A frame of a kind unknown here is ignored (RFC 9113 §4.1), but not inside a field block (§6.10).
    Unknown {
        /// Which.
        kind: Kind,
        /// As it came.
        stream: StreamId,
        /// As they came.
        flags: u8,
        /// Of the payload, which is gone.
        length: usize,
    },
}

/// The priority of a stream in RFC 7540 §5.3. RFC 9113 §5.3.2 keeps the format only; a stream that depends on itself is
/// not an error any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The stream that is served first.
    pub on: StreamId,
    /// 1 to 256: the byte that was sent, and one.
    pub weight: u16,
    /// Whether the other streams that depend on it depend on this one from now on.
    pub exclusive: bool,
}

/// Takes the next frame from the front of the input; `None` while it is not whole. `largest` is our
/// SETTINGS_MAX_FRAME_SIZE; a larger frame is refused by its header, without waiting for what follows.
///
/// After an error that reaches one stream only, its frame is gone and the next can be taken. If that stream is idle, it
/// cannot be reset, and the connection must end (RFC 9113 §5.1).
///
/// ```
/// use bytes::BytesMut;
/// use serow_http2::frame::{self, Frame};
///
/// let mut input = BytesMut::from(&b"\0\0\x08\x06\0\0\0\0\0ping .."[..]);
/// let ping = frame::take(&mut input, 16_384).unwrap();
/// assert_eq!(ping, None);
/// input.extend_from_slice(b".");
/// let ping = frame::take(&mut input, 16_384).unwrap();
/// assert_eq!(ping, Some(Frame::Ping { payload: *b"ping ...", ack: false }));
/// ```
#[inline]
pub fn take(input: &mut BytesMut, largest: usize) -> Result<Option<Frame>, ProtocolError> {
    match whole(input, largest)? {
        Some(header) => take_whole(header, input).map(Some),
        None => Ok(None),
    }
}

/// The header of the next frame, if that is whole.
#[inline]
pub(crate) fn whole(input: &[u8], largest: usize) -> Result<Option<FrameHeader>, ProtocolError> {
    let Some(header) = FrameHeader::read(input) else { return Ok(None) };
    // RFC 9113 §4.2. For frames of a stream an error of the stream would do, but what follows would have to be skipped.
    if header.length > largest {
        return Err(refused(ErrorCode::FRAME_SIZE_ERROR, "a frame is larger than SETTINGS_MAX_FRAME_SIZE"));
    }
    Ok((input.len() - FrameHeader::LENGTH >= header.length).then_some(header))
}

/// Takes the frame of this header, which is whole.
#[inline]
pub(crate) fn take_whole(header: FrameHeader, input: &mut BytesMut) -> Result<Frame, ProtocolError> {
    input.advance(FrameHeader::LENGTH);
    match header.kind {
        Kind::DATA => payload::take_data(header, input),
        Kind::HEADERS => payload::take_headers(header, input),
        _ => payload::take_other(header, input),
    }
}

/// An error that ends the connection.
const fn refused(code: ErrorCode, reason: &'static str) -> ProtocolError {
    ProtocolError::Connection { code, reason }
}
