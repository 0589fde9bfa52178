//! The errors of HTTP/2 connections, by their codes.

use serow_http2::ErrorCode;

use super::Counters;

impl Counters {
    /// Counts an HTTP/2 connection that the server closed with this error code.
    #[cold]
    pub(crate) fn note_http2_error(&self, code: ErrorCode) {
        if code != ErrorCode::NO_ERROR {
            let known = code.name().is_some();
            self.streams_http2.note_connection_error(if known { code.0 as usize } else { 0 });
        }
    }
}

/// The name of the code that is counted at this place.
pub(super) fn name(place: u32) -> Option<&'static str> {
    ErrorCode(place).name()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_their_code() {
        let counters = Counters::default();
        for code in [0, 1, 1, 13, 14, u32::MAX] {
            counters.note_http2_error(ErrorCode(code));
        }
        let errors = counters.streams_http2.connection_errors();
        assert_eq!((errors[0], errors[1], errors[13], errors[19]), (2, 2, 1, 0));
    }
}
