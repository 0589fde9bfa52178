//! HTTP/2, as the tests that it shares with HTTP/3 see it.

use proptest::prelude::*;
use serow_http2::frame::{FrameHeader, Kind, flags};
use serow_message::Version;
use serow_streams::Follows;

use crate::machine::both_ends::Pair;

mod ends;

pub(crate) use self::ends::Ends;
pub(crate) use serow_http2::{ClientEvent, ErrorCode, Event, Limits, UsageError};

pub(crate) const VERSION: Version = Version::HTTP_2;
pub(crate) const NO_ERROR: ErrorCode = ErrorCode::NO_ERROR;
pub(crate) const CANCELLED: ErrorCode = ErrorCode::CANCEL;
pub(crate) const REJECTED: ErrorCode = ErrorCode::REFUSED_STREAM;

/// Limits of what only this version has.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (1_000u32..100_000).prop_map(|stream_window| Limits { stream_window, ..Limits::default() })
}

/// Whether a stream ends with what was written for it: the last frame says so.
pub(crate) fn follows(written: Result<(), UsageError>, output: &[u8]) -> Result<Follows, UsageError> {
    let (mut rest, mut ends) = (output, false);
    while let Some(header) = FrameHeader::read(rest) {
        rest = &rest[FrameHeader::LENGTH + header.length..];
        ends = [Kind::DATA, Kind::HEADERS].contains(&header.kind) && header.flags & flags::END_STREAM != 0;
    }
    written.map(|()| if ends { Follows::Fin } else { Follows::More })
}

/// The server has told which stream is the last, and all are over.
pub(crate) fn finish_leaving(pair: &mut Pair) {
    assert_eq!(pair.go_aways, 2, "with the answer to its PING");
    assert!(pair.ends.server.is_finished() && pair.ends.client.is_finished());
}
