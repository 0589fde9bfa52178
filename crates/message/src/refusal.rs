//! The body of the server's own error responses, the same over every version of HTTP.

use alloc::vec::Vec;

use http::StatusCode;

use crate::content::write_decimal;

/// The text of an error response: the status and its reason phrase, and for a 413 the limit of `body_limit` bytes.
#[must_use]
pub fn refusal_text(status: StatusCode, body_limit: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for part in [status.as_str(), " ", status.canonical_reason().unwrap_or_default()] {
        text.extend_from_slice(part.as_bytes());
    }
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        text.extend_from_slice(b": the body of a request may have at most ");
        write_decimal(body_limit, &mut text);
        text.extend_from_slice(b" bytes here");
    }
    text.push(b'\n');
    text
}
