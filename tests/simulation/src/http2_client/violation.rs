//! Frames that no server may accept.

use crate::plan::Violation;

/// A frame that no server may accept (RFC 9113 §4.1, §6).
pub(super) fn frame(violation: Violation, opened: usize) -> Vec<u8> {
    let stream = u32::try_from(2 * opened + 101).unwrap_or(1);
    let (kind, flags, stream, payload): (u8, u8, u32, &[u8]) = match violation {
        Violation::DataOnConnection => (0, 0, 0, b"data"),
        Violation::EvenStream => (1, 5, 2, &[0x82, 0x86, 0x84]),
        Violation::ShortSettings => (4, 0, 0, b"short"),
        Violation::EmptyWindowUpdate => (8, 0, 0, &[0; 4]),
        Violation::LoneContinuation => (9, 4, stream, &[0x82]),
        Violation::LargeFrame => (0, 0, stream, &[0; 70_000]),
        Violation::BadHpack => (1, 5, stream, &[0xff; 8]),
    };
    let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
