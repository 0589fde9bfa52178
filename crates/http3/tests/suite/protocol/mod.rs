//! HTTP/3, as the tests that it shares with HTTP/2 see it.

use proptest::prelude::*;
use serow_message::Version;

use crate::machine::both_ends::{Connected as _, Pair, Side};

mod ends;

pub(crate) use self::ends::Ends;
pub(crate) use serow_http3::{ClientEvent, ErrorCode, Event, Follows, Limits, UsageError};

pub(crate) const VERSION: Version = Version::HTTP_3;
pub(crate) const NO_ERROR: ErrorCode = ErrorCode::NO_ERROR;
pub(crate) const CANCELLED: ErrorCode = ErrorCode::REQUEST_CANCELLED;
pub(crate) const REJECTED: ErrorCode = ErrorCode::REQUEST_REJECTED;

/// Limits of what only this version has.
pub(crate) fn limits() -> impl Strategy<Value = Limits> {
    (0u32..5000, 0u16..20).prop_map(|(qpack_table, qpack_blocked)| Limits {
        qpack_table,
        qpack_blocked,
        ..Limits::default()
    })
}

/// Whether a stream ends with what was written for it.
pub(crate) fn follows(written: Result<Follows, UsageError>, _output: &[u8]) -> Result<Follows, UsageError> {
    written
}

/// The server tells which stream is the last; all are over.
pub(crate) fn finish_leaving(pair: &mut Pair) {
    pair.ends.server.finish_shutdown();
    pair.ends.flush(Side::Server);
    pair.settle();
    let server = &pair.ends.server;
    assert!(server.has_named_last() && server.is_idle());
    assert!(!server.is_finished(), "the client closes, or is given time");
    assert!(pair.ends.client.is_finished());
    assert_eq!(pair.go_aways, 1, "told once");
}
