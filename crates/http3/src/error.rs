//! Error codes, and the error of a peer that violates HTTP/3.

/// A client or a server violated HTTP/3.
pub type ProtocolError = serow_streams::ProtocolError<ErrorCode>;

/// RFC 9114 §8.1, RFC 9204 §6.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u64);

impl ErrorCode {
    /// Not an error.
    pub const NO_ERROR: Self = Self(0x100);
    /// A violation for which there is no other code.
    pub const GENERAL_PROTOCOL_ERROR: Self = Self(0x101);
    /// The sender of this code has an internal error.
    pub const INTERNAL_ERROR: Self = Self(0x102);
    /// A stream that the peer must not, or need not, open.
    pub const STREAM_CREATION_ERROR: Self = Self(0x103);
    /// A stream has ended that the connection needs.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame where it must not be.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame whose layout or size is wrong.
    pub const FRAME_ERROR: Self = Self(0x106);
    /// The peer causes excessive load.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// The number of a stream or push that is not allowed there.
    pub const ID_ERROR: Self = Self(0x108);
    /// A mistake in SETTINGS.
    pub const SETTINGS_ERROR: Self = Self(0x109);
    /// The control stream does not begin with SETTINGS.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// The request was not processed; it may be sent again.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// The request, or its response, is no longer needed.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// The client's stream ended before the request did.
    pub const REQUEST_INCOMPLETE: Self = Self(0x10d);
    /// A malformed message.
    pub const MESSAGE_ERROR: Self = Self(0x10e);
    /// The connection of a CONNECT request failed.
    pub const CONNECT_ERROR: Self = Self(0x10f);
    /// The request must be made over HTTP/1.1.
    pub const VERSION_FALLBACK: Self = Self(0x110);
    /// A field section could not be decoded.
    pub const QPACK_DECOMPRESSION_FAILED: Self = Self(0x200);
    /// An instruction of the encoder could not be understood.
    pub const QPACK_ENCODER_STREAM_ERROR: Self = Self(0x201);
    /// An instruction of the decoder could not be understood.
    pub const QPACK_DECODER_STREAM_ERROR: Self = Self(0x202);

    /// The name in the RFCs; `None` for an unknown code.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let (names, first) = if self.0 < QPACK { (&NAMES[..], HTTP) } else { (&QPACK_NAMES[..], QPACK) };
        let place = self.0.checked_sub(first)?;
        names.get(usize::try_from(place).ok()?).copied()
    }
}

const HTTP: u64 = 0x100;
const QPACK: u64 = 0x200;

/// In the order of the codes.
const NAMES: [&str; 17] = [
    "H3_NO_ERROR",
    "H3_GENERAL_PROTOCOL_ERROR",
    "H3_INTERNAL_ERROR",
    "H3_STREAM_CREATION_ERROR",
    "H3_CLOSED_CRITICAL_STREAM",
    "H3_FRAME_UNEXPECTED",
    "H3_FRAME_ERROR",
    "H3_EXCESSIVE_LOAD",
    "H3_ID_ERROR",
    "H3_SETTINGS_ERROR",
    "H3_MISSING_SETTINGS",
    "H3_REQUEST_REJECTED",
    "H3_REQUEST_CANCELLED",
    "H3_REQUEST_INCOMPLETE",
    "H3_MESSAGE_ERROR",
    "H3_CONNECT_ERROR",
    "H3_VERSION_FALLBACK",
];

const QPACK_NAMES: [&str; 3] =
    ["QPACK_DECOMPRESSION_FAILED", "QPACK_ENCODER_STREAM_ERROR", "QPACK_DECODER_STREAM_ERROR"];

serow_streams::show_by_name!(ErrorCode);
