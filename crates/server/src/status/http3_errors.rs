//! The errors of HTTP/3 connections, by their codes.

use serow_http3::ErrorCode;

use super::Counters;

impl Counters {
    /// Counts an HTTP/3 connection that the server closed with this error code.
    #[cold]
    pub(crate) fn note_http3_error(&self, code: ErrorCode) {
        if code != ErrorCode::NO_ERROR {
            let place = HTTP3_ERRORS.iter().position(|known| *known == code).map_or(0, |place| place + 1);
            self.streams_http3.note_connection_error(place);
        }
    }
}

/// The name of the code that is counted at this place.
pub(super) fn name(place: u32) -> Option<&'static str> {
    HTTP3_ERRORS.get(place.checked_sub(1)? as usize)?.name()
}

/// The codes of HTTP/3 that are errors, in the order of their counters.
const HTTP3_ERRORS: [ErrorCode; 19] = [
    ErrorCode::GENERAL_PROTOCOL_ERROR,
    ErrorCode::INTERNAL_ERROR,
    ErrorCode::STREAM_CREATION_ERROR,
    ErrorCode::CLOSED_CRITICAL_STREAM,
    ErrorCode::FRAME_UNEXPECTED,
    ErrorCode::FRAME_ERROR,
    ErrorCode::EXCESSIVE_LOAD,
    ErrorCode::ID_ERROR,
    ErrorCode::SETTINGS_ERROR,
    ErrorCode::MISSING_SETTINGS,
    ErrorCode::REQUEST_REJECTED,
    ErrorCode::REQUEST_CANCELLED,
    ErrorCode::REQUEST_INCOMPLETE,
    ErrorCode::MESSAGE_ERROR,
    ErrorCode::CONNECT_ERROR,
    ErrorCode::VERSION_FALLBACK,
    ErrorCode::QPACK_DECOMPRESSION_FAILED,
    ErrorCode::QPACK_ENCODER_STREAM_ERROR,
    ErrorCode::QPACK_DECODER_STREAM_ERROR,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_their_code() {
        let counters = Counters::default();
        for code in [0x100, 0x101, 0x101, 0x202, 0x203, u64::MAX] {
            counters.note_http3_error(ErrorCode(code));
        }
        let errors = counters.streams_http3.connection_errors();
        assert_eq!((errors[0], errors[1], errors[13], errors[19]), (2, 2, 0, 1));
    }
}
